// The quantizing kernels on matrices of all shapes, against the library on the
// host; that of rows on every pair of a BF16 amax and a BF16 element, against
// the core on the device: SPEC clauses Q2 to Q8.
//
//   given   rows: amaxes, columns: every code; amaxes are given
//   online  the same in tiles of 1x128, elements of at most the row's amax, the
//           first of each tile being it
//   both    online by the kernel of both orientations; columns are held, too,
//           though not every pair is in them

#include "conformance/device/drawn_memory.hpp"
#include "conformance/device/same_bits.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/cuda.hpp"
#include "zeroulp/names.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {
namespace {

constexpr int tile = 128;
constexpr int fresh = tile - 1;  ///< elements of a tile besides its amax
constexpr int tiles = (65536 + fresh - 1) / fresh;
constexpr int columns = tiles * tile;
constexpr int chunk = 512;  ///< rows

enum class way : std::uint8_t { given, online, both };
constexpr const char* way_names[] = {"given", "online", "both orientations"};

/// Rows of one chunk. Row i has the BF16 amax first + i * step.
struct pairs {
  quantizer q;
  bool is_online;
  std::uint32_t first, step;

  ZEROULP_HD std::uint32_t amax(std::uint32_t row) const {
    return first + row * step;
  }
  ZEROULP_HD std::uint32_t element(std::uint32_t row, std::uint32_t col) const {
    const std::uint32_t most = amax(row);
    // Else neighbours in a column would be one number.
    const std::uint32_t turn = row * 40503;
    const std::uint32_t at =
        col / tile * fresh + (col % tile + fresh) % tile + turn;
    if (!is_online) return at & 0xffff;
    if (col % tile == 0) return most | (col / tile & 1) << 15;
    const std::uint32_t m = at & 0x7fff;
    return (m < most ? m : most) | (at & 0x8000);
  }
};

__global__ void fill_pairs(pairs p, std::uint16_t* x, std::uint32_t* amax) {
  const std::uint32_t row = blockIdx.x;
  for (std::uint32_t col = threadIdx.x; col < columns; col += blockDim.x) {
    x[std::size_t{row} * columns + col] =
        static_cast<std::uint16_t>(p.element(row, col));
  }
  for (std::uint32_t g = threadIdx.x; g < tiles; g += blockDim.x) {
    amax[std::size_t{row} * tiles + g] = p.amax(row) << 16;
  }
}

struct pair_difference {
  unsigned long long count;
  std::uint32_t amax, x, got, right;
};

template <class Code>
__global__ void compare_pairs(const __grid_constant__ pairs p,
                              const Code* codes, const std::uint32_t* scales,
                              pair_difference* found) {
  const std::uint32_t row = blockIdx.x;
  const std::uint32_t amax = p.amax(row) << 16;
  const group_scale s = make_scale(p.q.how, p.q.scale, p.q.to, amax);
  const auto differs = [&](std::uint32_t x, std::uint32_t got,
                           std::uint32_t right) {
    if (got == right) return;
    if (atomicAdd(&found->count, 1) != 0) return;
    found->amax = amax, found->x = x, found->got = got, found->right = right;
  };
  for (std::uint32_t col = threadIdx.x; col < columns; col += blockDim.x) {
    const std::uint32_t x = as_fp32(bf16, p.element(row, col));
    differs(x, codes[std::size_t{row} * columns + col],
            static_cast<std::uint32_t>(quantize_element(p.q, s, x)));
  }
  for (std::uint32_t g = threadIdx.x; g < tiles; g += blockDim.x) {
    differs(0, scales[std::size_t{row} * tiles + g], s.scale);
  }
}

/// Codes of the transpose, whose groups are 128 rows of one column: a block a
/// column, a thread a row.
template <class Code>
__global__ void compare_turned(const __grid_constant__ pairs p,
                               const Code* codes, const std::uint32_t* scales,
                               pair_difference* found) {
  constexpr int groups = chunk / tile;
  __shared__ std::uint32_t amax[groups];
  const std::uint32_t col = blockIdx.x, row = threadIdx.x, group = row / tile;
  if (row < groups) amax[row] = 0;
  __syncthreads();
  const std::uint32_t x = as_fp32(bf16, p.element(row, col));
  atomicMax(&amax[group], x & 0x7fffffff);
  __syncthreads();
  const group_scale s = make_scale(p.q.how, p.q.scale, p.q.to, amax[group]);
  const auto differs = [&](std::uint32_t got, std::uint32_t right) {
    if (got == right || atomicAdd(&found->count, 1) != 0) return;
    found->amax = amax[group], found->x = x;
    found->got = got, found->right = right;
  };
  differs(codes[std::size_t{col} * chunk + row],
          static_cast<std::uint32_t>(quantize_element(p.q, s, x)));
  if (row % tile == 0) {
    differs(scales[std::size_t{col} * groups + group], s.scale);
  }
}

template <class Code>
verdict check_pairs(const quantizer& q, way how, std::uint32_t step) {
  const bool is_online = how != way::given;
  const std::size_t size = std::size_t{chunk} * columns;
  const device_buffer<std::uint16_t> x(size);
  const device_buffer<Code> codes(size), turned(size);
  const device_buffer<std::uint32_t> amax(std::size_t{chunk} * tiles);
  const device_buffer<std::uint32_t> scales(std::size_t{chunk} * tiles);
  const device_buffer<pair_difference> found(1);
  const cuda::const_matrix in(x.data(), chunk, columns);
  const device_buffer<std::uint32_t> scales_of_columns(size / tile);
  const cuda::quantized out{{codes.data(), chunk, columns},
                            {scales.data(), tiles}};
  const cuda::quantized out_t{{turned.data(), columns, chunk},
                              {scales_of_columns.data(), chunk / tile}};
  verdict v;
  const std::uint32_t end = is_online ? 0x7f80 : 0x8000;  // finite, or any
  const std::uint32_t last = end - 1 - (chunk - 1) * step;
  for (std::uint32_t at = 0; at < last + chunk * step; at += chunk * step) {
    const pairs p{q, is_online, at < last ? at : last, step};
    fill_pairs<<<chunk, 256>>>(p, x.data(), amax.data());
    if (how == way::given) {
      cuda::quantize(
          q, in, matrix_view<const std::uint32_t>(amax.data(), chunk, tiles),
          out);
    } else {
      cuda::quantize(q, in, out, how == way::both ? out_t : cuda::quantized{});
    }
    compare_pairs<<<chunk, 256>>>(p, codes.data(), scales.data(), found.data());
    if (how == way::both) {
      compare_turned<<<columns, chunk>>>(
          p, turned.data(), scales_of_columns.data(), found.data());
    }
    finish_kernel();
    v.cases += size;
  }
  pair_difference d{};
  found.copy_to(&d, 1);
  v.failures = d.count;
  if (d.count != 0) {
    v.first_failure = name_of(q.to) + ", " + std::string(name_of(q.scale)) +
                      ", " + way_names[static_cast<int>(how)] +
                      in_hex("amax", d.amax) + in_hex("x", d.x) +
                      in_hex("code or scale", d.got) + in_hex("not", d.right);
  }
  v.exhaustive = step == 1;
  return v;
}

verdict check_convention(const convention& how, const effort& e) {
  // The last chunk ends with the range.
  const std::uint32_t step = e.level == 0 ? 63 : e.level == 1 ? 13 : 1;
  verdict total;
  for (const auto kind : {scale_kind::float32, scale_kind::pow2}) {
    for (const format to : {e4m3, e5m2, e5m6}) {
      const quantizer q{bf16, to, how, kind, {1, tile}};
      for (const way by : {way::given, way::online, way::both}) {
        total += to == e5m6 ? check_pairs<std::uint16_t>(q, by, step)
                            : check_pairs<std::uint8_t>(q, by, step);
      }
    }
  }
  return total;
}

/// Any numbers by any amaxes, so that octets hold elements far beyond the
/// largest, on midpoints and tiny ones; both outputs. Rows alone every third
/// time.
verdict check_given(const effort& e) {
  verdict v;
  constexpr std::ptrdiff_t m = 40, n = 300;
  const std::uint64_t count = cases(e, 100, 4000);
  for (std::uint64_t c = 0; c < count; ++c) {
    counter_rng rng(e.seed, c);
    constexpr format sources[] = {fp32, bf16, fp16},
                     codes[] = {e4m3, e5m2, e5m6};
    const auto& how =
        named_conventions[rng.below(std::size(named_conventions))];
    const auto kind = rng.one_in(3) ? scale_kind::pow2 : scale_kind::float32;
    const bool down = rng.one_in(2);
    const quantizer q{sources[rng.below(3)], codes[rng.below(3)], how.value,
                      kind, down ? group_shape{tile, 1} : group_shape{1, tile}};
    word_matrix x(m, n),
        amax(ceil_div(m, q.group.rows), ceil_div(n, q.group.cols));
    const int around = rng.between(-70, 70);
    for (auto& word : amax.words) {
      const auto exponent =
          static_cast<std::uint32_t>(127 + around + rng.between(-3, 3));
      word = exponent << 23 | (rng.next32() & 0x7f0000);
    }
    for (auto& word : x.words) {
      const std::uint32_t fraction = rng.next32() & 0x807f0000;
      const int wide =
          rng.one_in(8) ? rng.between(-120, 120) : around - rng.between(0, 16);
      const int exponent = wide < -126 ? -126 : wide > 127 ? 127 : wide;
      word = static_cast<std::uint32_t>(recode(
          fp32, fraction | static_cast<std::uint32_t>(exponent + 127) << 23,
          q.from, {}, ocp_saturate));
    }
    guarded_matrix in(m, n, bytes_of(q.from), {0, 4});
    guarded_matrix given(amax.rows, amax.cols, 4);
    guarded_matrix y(m, n, bytes_of(q.to), {0, 4});
    guarded_matrix yt(n, m, bytes_of(q.to), {0, 8});
    guarded_matrix s(amax.rows, amax.cols, 4), st(amax.cols, amax.rows, 4);
    in.upload(x.view());
    given.upload(amax.view());
    cuda::quantize(q, in.view(), given.word_view(),
                   {y.view(), {s.words(), s.stride()}},
                   {yt.view(), {st.words(), st.stride()}});
    if (c % 3 == 0) {
      cuda::quantize(q, in.view(), given.word_view(),
                     {y.view(), {s.words(), s.stride()}});
    }
    finish_kernel();
    word_matrix got(m, n), turned(n, m), right(m, n);
    y.download(got.view());
    yt.download(turned.view());
    word_matrix got_scales(amax.rows, amax.cols),
        turned_scales(amax.cols, amax.rows), scales(amax.rows, amax.cols);
    s.download(got_scales.view());
    st.download(turned_scales.view());
    engine::quantize(q, x.view(), amax.view(), right.view(), scales.view());
    const std::string what =
        std::string(how.name) + " " + name_of(q.from) + ", scales";
    compare_codes(what, got_scales.view(), scales.view(), v);
    compare_codes(what + " transposed", turned_scales.view(),
                  scales.view().transposed(), v);
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      for (std::ptrdiff_t j = 0; j < n; ++j) {
        const std::uint32_t want = right.view()(i, j);
        for (const std::uint32_t code :
             {got.view()(i, j), turned.view()(j, i)}) {
          v.count(code == want, [&] {
            return std::string(how.name) + " " + name_of(q.from) + " " +
                   name_of(q.to) + in_hex("x", x.view()(i, j)) +
                   in_hex("code", code) + in_hex("not", want);
          });
        }
      }
    }
  }
  return v;
}

/// Numbers whose amax is another in each 128 x 128: any significand, anywhere.
/// In some matrices there are zeros in place of some of these, and of rows.
word_matrix numbers_for(const quantizer& q, const placed_shape& s,
                        bool has_specials, counter_rng& rng) {
  word_matrix x(s.rows, s.cols);
  const std::uint32_t fraction = rng.one_in(2) ? 0x7fffff : 0x7f0000;
  const bool has_zeros = rng.one_in(2);
  for (std::ptrdiff_t i0 = 0; i0 < s.rows; i0 += tile) {
    for (std::ptrdiff_t j0 = 0; j0 < s.cols; j0 += tile) {
      const int top = 127 + rng.between(-6, 6);
      const std::uint32_t amax =
          static_cast<std::uint32_t>(top) << 23 | (rng.next32() & fraction);
      const std::ptrdiff_t rows = std::min<std::ptrdiff_t>(tile, s.rows - i0),
                           cols = std::min<std::ptrdiff_t>(tile, s.cols - j0);
      const auto at = static_cast<std::ptrdiff_t>(
          rng.below(static_cast<std::uint64_t>(rows * cols)));
      const bool is_zero = has_zeros && rng.one_in(8);
      bool row_is_zero = false;
      for (std::ptrdiff_t k = 0; k < rows * cols; ++k) {
        if (k % cols == 0) {
          row_is_zero = is_zero || (has_zeros && rng.one_in(8));
        }
        const auto e = static_cast<std::uint32_t>(top - rng.between(0, 12));
        std::uint32_t word = e << 23 | (rng.next32() & fraction);
        if (word > amax) word -= 1 << 23;
        if (k == at) word = amax;
        if (has_specials && rng.one_in(5000)) word = 0x7f800000 | k % 2;
        if (row_is_zero) word = 0;
        word |= rng.next32() & 0x80000000;
        x.view()(i0 + k / cols, j0 + k % cols) = static_cast<std::uint32_t>(
            recode(fp32, word, q.from, {}, ocp_saturate));
      }
    }
  }
  return x;
}

/// Quantizes x, its transpose, or both in one pass; twice.
void hold_matrix(const quantizer& q, const placed_shape& s, bool straight,
                 bool turned, counter_rng& rng, verdict& v) {
  word_matrix x = numbers_for(q, s, rng.one_in(8), rng);
  guarded_matrix in(s.rows, s.cols, bytes_of(q.from), s.in);
  in.upload(x.view());
  struct output {
    word_matrix right, right_scales;
    guarded_matrix codes;
    guarded_scales scales;

    output(const quantizer& by, codes_in of, margins at, scale_layout layout)
        : right(of.rows, of.cols),
          right_scales(ceil_div(of.rows, by.group.height(of.rows)),
                       ceil_div(of.cols, by.group.width(of.cols))),
          codes(of.rows, of.cols, bytes_of(by.to), at),
          scales(layout, right_scales.rows, right_scales.cols, {0, 3}) {
      engine::quantize(by, of, right.view(), right_scales.view());
    }
    cuda::quantized view() const { return {codes.view(), scales.view()}; }
  };
  output y(q, x.view(), s.out, draw_layout(q.scale, rng));
  const margins aligned = {0, static_cast<int>(-s.rows & 15)};
  output yt(q, x.view().transposed(), s.out.between % 8 == 0 ? aligned : s.out,
            draw_layout(q.scale, rng));
  const std::string name = name_of(q.from) + " to " + name_of(q.to) + ", " +
                           std::string(name_of(q.scale)) + ", " +
                           name_of(q.group) + ", " + s.name();
  for (int run = 0; run < 2; ++run) {
    cuda::quantize(q, in.view(), straight ? y.view() : cuda::quantized{},
                   turned ? yt.view() : cuda::quantized{});
    finish_kernel();
    for (output* out : {&y, &yt}) {
      if (out == &y ? !straight : !turned) continue;
      word_matrix got(out->right.rows, out->right.cols);
      out->codes.download(got.view());
      const std::string what = name + (out == &y ? "" : ", transposed");
      compare_codes(what, got.view(), out->right.view(), v);
      v.count(out->scales.differences(out->right_scales.view()) == 0,
              [&] { return what + ": scales"; });
    }
  }
}

verdict check_matrices(const effort& e) {
  verdict v;
  counter_rng rng(e.seed, 9);
  std::size_t turn = 0;
  for (int round = 0; round < (e.level == 0 ? 1 : 4); ++round) {
    for (const auto& s : placed_shapes(e)) {
      for (const format from : {bf16, fp32, fp16}) {
        for (const group_shape group :
             {group_shape{1, tile}, {tile, 1}, {tile, tile}}) {
          for (const int outputs : {1, 2, 3}) {
            constexpr format codes[] = {e4m3, e5m2, e5m6};
            // Half of BF16's and more by that which has kernels' own ways.
            const auto& how =
                named_conventions[turn++ % std::size(named_conventions)];
            const bool is_own = from == bf16 && rng.one_in(2);
            const quantizer q{
                from, codes[rng.below(3)],
                is_own ? zeroulp_convention : how.value,
                rng.one_in(3) ? scale_kind::pow2 : scale_kind::float32, group};
            hold_matrix(q, s, outputs != 2, outputs != 1, rng, v);
          }
        }
      }
    }
  }
  return v;
}

/// A large matrix whose tiles are those of a small one, again and again.
struct repeated {
  std::ptrdiff_t rows, cols, small_rows, small_cols;

  ZEROULP_HD std::ptrdiff_t source(std::ptrdiff_t at) const {
    return at / cols % small_rows * small_cols + at % cols % small_cols;
  }
};

struct repeated_difference {
  unsigned long long count, at;
  std::uint32_t got, right;
};

/// Calls use(i) for each element of the large matrix.
template <class Use>
__device__ void for_each_repeated(const repeated& r, Use use) {
  const std::ptrdiff_t stride = std::ptrdiff_t{gridDim.x} * blockDim.x;
  std::ptrdiff_t i = std::ptrdiff_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i < r.rows * r.cols; i += stride) use(i);
}

__global__ void repeat(repeated r, const std::uint32_t* small,
                       std::uint16_t* large) {
  for_each_repeated(r, [&](std::ptrdiff_t i) {
    large[i] = static_cast<std::uint16_t>(small[r.source(i)]);
  });
}

template <class Code>
__global__ void compare_repeated(repeated r, const std::uint32_t* small,
                                 const Code* large,
                                 repeated_difference* found) {
  for_each_repeated(r, [&](std::ptrdiff_t i) {
    const std::uint32_t got = large[i], right = small[r.source(i)];
    if (got == right || atomicAdd(&found->count, 1) != 0) return;
    found->at = static_cast<unsigned long long>(i);
    found->got = got, found->right = right;
  });
}

/// The output of a large matrix, and what is right in the small one.
template <class Code>
class repeated_output {
 public:
  repeated_output(const quantizer& q, codes_in small, std::ptrdiff_t rows,
                  std::ptrdiff_t cols)
      : codes_at_{rows, cols, small.rows, small.cols},
        scales_at_{rows, cols / tile, small.rows, small.cols / tile},
        right_(small.rows, small.cols, 4),
        right_scales_(small.rows, small.cols / tile, 4),
        codes_(static_cast<std::size_t>(rows * cols)),
        scales_(static_cast<std::size_t>(rows * cols / tile)) {
    word_matrix codes(small.rows, small.cols);
    word_matrix scales(small.rows, small.cols / tile);
    engine::quantize(q, small, codes.view(), scales.view());
    right_.upload(codes.view());
    right_scales_.upload(scales.view());
  }
  cuda::quantized view() const {
    return {{codes_.data(), codes_at_.rows, codes_at_.cols},
            {scales_.data(), scales_at_.cols}};
  }
  void compare(repeated_difference* found) const {
    compare_repeated<<<132 * 8, 256>>>(codes_at_, right_.words(), codes_.data(),
                                       found);
    compare_repeated<<<132 * 8, 256>>>(scales_at_, right_scales_.words(),
                                       scales_.data(), found);
  }

 private:
  repeated codes_at_, scales_at_;
  guarded_matrix right_, right_scales_;
  device_buffer<Code> codes_;
  device_buffer<std::uint32_t> scales_;
};

template <class Code>
verdict hold_repeated(const quantizer& q, const word_matrix& small,
                      const repeated& r, const std::uint16_t* x, int runs) {
  const repeated_output<Code> y(q, small.view(), r.rows, r.cols);
  const repeated_output<Code> yt(q, small.view().transposed(), r.cols, r.rows);
  const device_buffer<repeated_difference> found(1);
  for (int run = 0; run < runs; ++run) {
    const bool straight = run % 2 == 0;
    cuda::quantize(q, {x, r.rows, r.cols},
                   straight ? y.view() : cuda::quantized{}, yt.view());
    if (straight) y.compare(found.data());
    yt.compare(found.data());
  }
  finish_kernel();
  repeated_difference d{};
  found.copy_to(&d, 1);
  verdict v;
  v.cases = static_cast<std::uint64_t>(runs * r.rows * r.cols);
  v.failures = d.count;
  if (d.count != 0) {
    v.first_failure = name_of(q.to) + ", " + std::string(name_of(q.scale)) +
                      in_hex("code or scale", d.got) + in_hex("not", d.right) +
                      " at " + std::to_string(d.at);
  }
  return v;
}

/// Both orientations with several blocks on every multiprocessor, so that warps
/// of one get apart: 1536 tiles, three rounds of four blocks each. Then one of
/// 15 tiles is the core's, whose code and time are others'.
verdict check_crowded(const effort& e) {
  constexpr repeated r{32 * tile, 48 * tile, 5 * tile, 3 * tile};
  constexpr quantizer ways[] = {
      {bf16, e4m3, zeroulp_convention, scale_kind::float32, {1, tile}},
      {bf16, e4m3, zeroulp_convention, scale_kind::pow2, {1, tile}},
      {bf16, e4m3, named_conventions[3].value, scale_kind::float32, {1, tile}}};
  verdict v;
  counter_rng rng(e.seed, 10);
  const auto runs = static_cast<int>(cases(e, 2, 20));
  const device_buffer<std::uint16_t> x(
      static_cast<std::size_t>(r.rows * r.cols));
  for (const bool has_slow : {false, true}) {
    word_matrix small =
        numbers_for(ways[0], {r.small_rows, r.small_cols, {}, {}}, false, rng);
    if (has_slow) small.words[0] = 0x7fc0;  // NaN
    guarded_matrix there(small.rows, small.cols, 4);
    there.upload(small.view());
    repeat<<<132 * 8, 256>>>(r, there.words(), x.data());
    for (quantizer q : ways) {
      for (const format to : {e4m3, e5m2, e5m6}) {
        q.to = to;
        v += to == e5m6
                 ? hold_repeated<std::uint16_t>(q, small, r, x.data(), runs)
                 : hold_repeated<std::uint8_t>(q, small, r, x.data(), runs);
      }
    }
  }
  return v;
}

}  // namespace

check_list kernel_quantize_checks() {
  check_list all;
  all.push_back(device_check("kernel.quantize.given", "Q2 Q3 Q4 Q5 Q6 Q7 Q8",
                             "host", check_given));
  all.push_back(device_check("kernel.quantize.matrices",
                             "Q2 Q3 Q4 Q5 Q6 Q7 Q8 Q10 Q11", "host",
                             check_matrices));
  all.push_back(device_check("kernel.quantize.crowded",
                             "Q2 Q3 Q4 Q5 Q6 Q7 Q8 Q11", "host",
                             check_crowded));
  for (const auto& how : named_conventions) {
    all.push_back(device_check(
        std::string("kernel.quantize.pairs.") + how.name,
        "Q2 Q3 Q4 Q5 Q6 Q7 Q8", "the core on the device",
        [&how](const effort& e) { return check_convention(how.value, e); }));
  }
  return all;
}

}  // namespace zeroulp::conformance::device
