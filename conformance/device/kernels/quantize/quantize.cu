// The quantizing kernels on matrices of all shapes, against the library on the
// host: SPEC clauses Q2 to Q13, Q10 and Q11.

#include "conformance/device/support/drawn_memory.hpp"
#include "conformance/device/support/same_bits.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/cuda.hpp"
#include "zeroulp/names.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {
namespace {

constexpr int tile = 128;

/// Quantizes any numbers by any given amaxes: vec8s (vectors of 8) then mix
/// elements far beyond the largest number, midpoints and tiny elements. Writes
/// both orientations, and every third time the rows once more alone.
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
    guarded_matrix in(m, n, storage_bytes(q.from), {0, 4});
    guarded_matrix given(amax.rows, amax.cols, 4);
    guarded_matrix y(m, n, storage_bytes(q.to), {0, 4});
    guarded_matrix yt(n, m, storage_bytes(q.to), {0, 8});
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
          v.compare(code, want, [&] {
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

/// Numbers whose amax differs for each 128 x 128 tile, with any significand at
/// any place. Some matrices have tiles and rows that are all zeros.
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

std::string name_of_case(const quantizer& q, const placed_shape& s) {
  return name_of(q.from) + " to " + name_of(q.to) + ", " +
         std::string(name_of(q.scale)) + ", " + name_of(q.group) + ", " +
         s.name();
}

/// Quantizes x, its transpose, or both in one pass. Checks two runs.
void hold_matrix(const quantizer& q, const placed_shape& s, bool straight,
                 bool turned, counter_rng& rng, verdict& v) {
  word_matrix x = numbers_for(q, s, rng.one_in(8), rng);
  guarded_matrix in(s.rows, s.cols, storage_bytes(q.from), s.in);
  in.upload(x.view());
  struct output {
    word_matrix right, right_scales;
    guarded_matrix codes;
    guarded_scales scales;

    output(const quantizer& by, codes_in of, margins at, scale_layout layout)
        : right(of.rows, of.cols),
          right_scales(ceil_div(of.rows, by.group.height(of.rows)),
                       ceil_div(of.cols, by.group.width(of.cols))),
          codes(of.rows, of.cols, storage_bytes(by.to), at),
          scales(layout, right_scales.rows, right_scales.cols, {0, 3}) {
      engine::quantize(by, of, right.view(), right_scales.view());
    }
    cuda::quantized view() const { return {codes.view(), scales.view()}; }
    held_output held(const char* suffix) {
      return {codes, right.view(), &scales, right_scales.view(), suffix};
    }
  };
  output y(q, x.view(), s.out, draw_layout(q.scale, rng));
  const margins aligned = {0, static_cast<int>(-s.rows & 15)};
  output yt(q, x.view().transposed(), s.out.between % 8 == 0 ? aligned : s.out,
            draw_layout(q.scale, rng));
  const std::string name = name_of_case(q, s);
  std::vector<held_output> held;
  if (straight) held.push_back(y.held(""));
  if (turned) held.push_back(yt.held(", transposed"));
  hold_twice(
      name, held,
      [&] {
        cuda::quantize(q, in.view(), straight ? y.view() : cuda::quantized{},
                       turned ? yt.view() : cuda::quantized{});
      },
      v);
}

/// Calls use(s, from, group, straight, turned) for the shapes of `e`, in
/// rounds: all sources and `groups`, with x, its transpose, or both to write.
template <class Use>
void for_each_case(const effort& e, std::initializer_list<group_shape> groups,
                   Use use) {
  for (int round = 0; round < (e.level == 0 ? 1 : 4); ++round) {
    for (const auto& s : placed_shapes(e)) {
      for (const format from : {bf16, fp32, fp16}) {
        for (const group_shape group : groups) {
          use(s, from, group, true, false);
          use(s, from, group, false, true);
          use(s, from, group, true, true);
        }
      }
    }
  }
}
constexpr format case_codes[] = {e4m3, e5m2, e5m6};

verdict check_matrices(const effort& e) {
  verdict v;
  counter_rng rng(e.seed, 9);
  std::size_t turn = 0;
  for_each_case(e, {group_shape{1, tile}, {tile, 1}, {tile, tile}},
                [&](const auto& s, format from, group_shape group,
                    bool straight, bool turned) {
                  // For BF16, more than half use zeroulp_convention, for which
                  // the kernels have specialized code.
                  const auto& how =
                      named_conventions[turn++ % std::size(named_conventions)];
                  const bool is_own = from == bf16 && rng.one_in(2);
                  const quantizer q{
                      from, case_codes[rng.below(3)],
                      is_own ? zeroulp_convention : how.value,
                      rng.one_in(3) ? scale_kind::pow2 : scale_kind::float32,
                      group};
                  hold_matrix(q, s, straight, turned, rng, v);
                });
  return v;
}

/// An amax for numbers whose own is `own`: that one; a BF16 or any number a few
/// binades from it, as under delayed scaling; or one that needs the core.
std::uint32_t drawn_amax(std::uint32_t own, counter_rng& rng) {
  constexpr std::uint32_t rare[] = {0,          1,          0x00800000,
                                    0x1b7fffff, 0x6c800000, 0x7f7fffff,
                                    0x7f800000, 0x7fc00000};
  if (rng.one_in(2)) return own;
  if (rng.one_in(8)) return rare[rng.below(std::size(rare))];
  const auto exponent = static_cast<std::uint32_t>(rng.between(118, 136));
  const std::uint32_t fraction = rng.one_in(2) ? 0x7f0000 : 0x7fffff;
  return exponent << 23 | (rng.next32() & fraction);
}

/// Finds the amaxes of a matrix's groups, and quantizes by these or by others:
/// x, its transpose, or both in one pass. Checks two runs.
void hold_by_amax(const quantizer& q, const placed_shape& s, bool straight,
                  bool turned, counter_rng& rng, verdict& v) {
  word_matrix x = numbers_for(q, s, rng.one_in(3), rng);
  guarded_matrix in(s.rows, s.cols, storage_bytes(q.from), s.in);
  in.upload(x.view());
  const std::string name = name_of_case(q, s);
  word_matrix amax(ceil_div(s.rows, q.group.height(s.rows)),
                   ceil_div(s.cols, q.group.width(s.cols)));
  guarded_matrix on_gpu(amax.rows, amax.cols, 4, {1, 2});
  engine::group_amaxes(q, x.view(), amax.view());
  hold_twice(
      "amaxes, " + name, {{on_gpu, amax.view()}},
      [&] { cuda::group_amaxes(q, in.view(), on_gpu.word_view()); }, v);
  for (auto& word : amax.words) word = drawn_amax(word, rng);
  on_gpu.upload(amax.view());
  word_matrix right(s.rows, s.cols), scales(amax.rows, amax.cols);
  engine::quantize(q, x.view(), amax.view(), right.view(), scales.view());
  guarded_matrix y(s.rows, s.cols, storage_bytes(q.to), s.out);
  const margins aligned = {0, static_cast<int>(-s.rows & 15)};
  guarded_matrix yt(s.cols, s.rows, storage_bytes(q.to),
                    s.out.between % 8 == 0 ? aligned : s.out);
  guarded_scales of_y(draw_layout(q.scale, rng), scales.rows, scales.cols,
                      {0, 3});
  guarded_scales of_yt(draw_layout(q.scale, rng), scales.cols, scales.rows,
                       {0, 3});
  std::vector<held_output> held;
  cuda::quantized to_y, to_yt;
  if (straight) {
    held.push_back({y, right.view(), &of_y, scales.view(), ""});
    to_y = {y.view(), of_y.view()};
  }
  if (turned) {
    held.push_back({yt, right.view().transposed(), &of_yt,
                    scales.view().transposed(), ", transposed"});
    to_yt = {yt.view(), of_yt.view()};
  }
  hold_twice(
      "by amax, " + name, held,
      [&] { cuda::quantize(q, in.view(), on_gpu.word_view(), to_y, to_yt); },
      v);
}

/// One amax a tile or a matrix, of every shape and format.
verdict check_by_amax(const effort& e) {
  verdict v;
  counter_rng rng(e.seed, 11);
  std::size_t turn = 0;
  for_each_case(e, {group_shape{0, 0}, {tile, tile}},
                [&](const auto& s, format from, group_shape group,
                    bool straight, bool turned) {
                  const auto& how =
                      named_conventions[turn++ % std::size(named_conventions)];
                  const quantizer q{
                      from, case_codes[rng.below(3)],
                      rng.one_in(2) ? zeroulp_convention : how.value,
                      rng.one_in(4) ? scale_kind::pow2 : scale_kind::float32,
                      group};
                  hold_by_amax(q, s, straight, turned, rng, v);
                });
  return v;
}

/// A large matrix that repeats the tiles of a small one.
struct repeated {
  std::ptrdiff_t rows, cols, small_rows, small_cols;

  ZEROULP_HD std::ptrdiff_t source(std::ptrdiff_t at) const {
    return at / cols % small_rows * small_cols + at % cols % small_cols;
  }
};

struct repeated_difference {
  unsigned long long count, at;
  std::uint32_t got, right;
  output_sums sums;
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
  thread_sums sums;
  for_each_repeated(r, [&](std::ptrdiff_t i) {
    const std::uint32_t got = large[i], right = small[r.source(i)];
    sums.add(got, right);
    if (got == right || atomicAdd(&found->count, 1) != 0) return;
    found->at = static_cast<unsigned long long>(i);
    found->got = got, found->right = right;
  });
  sums.add_to(found->sums);
}

/// The output for a large matrix, and the right output for the small one.
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
  v.add(d.sums);
  if (d.count != 0) {
    v.first_failure = name_of(q.to) + ", " + std::string(name_of(q.scale)) +
                      in_hex("code or scale", d.got) + in_hex("not", d.right) +
                      " at " + std::to_string(d.at);
  }
  return v;
}

/// Both orientations with several blocks on every SM, so that the warps of a
/// block drift apart: 1536 tiles, three rounds of four blocks per SM. Then the
/// same with a NaN in one of every 15 tiles. These tiles fall back to the
/// core's arithmetic, which is different code and takes a different time.
verdict check_crowded(const effort& e) {
  constexpr repeated r{32 * tile, 48 * tile, 5 * tile, 3 * tile};
  constexpr quantizer ways[] = {
      {bf16, e4m3, zeroulp_convention, scale_kind::float32, {1, tile}},
      {bf16, e4m3, zeroulp_convention, scale_kind::pow2, {1, tile}},
      {bf16, e4m3, vllm_convention, scale_kind::float32, {1, tile}}};
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

/// The amax of a matrix of more tiles than blocks are resident, with its
/// largest magnitude now here, now there: each place of a tile, each tile some
/// time.
verdict check_amax_places(const effort& e) {
  constexpr repeated r{35 * tile - 3, 47 * tile + 8, 3 * tile, 2 * tile};
  const quantizer q{
      bf16, e4m3, zeroulp_convention, scale_kind::float32, {0, 0}};
  verdict v;
  counter_rng rng(e.seed, 12);
  word_matrix small =
      numbers_for(q, {r.small_rows, r.small_cols, {}, {}}, false, rng);
  small.words[5] = 0x7fc0;  // NaN, which counts for nothing
  guarded_matrix there(small.rows, small.cols, 4);
  there.upload(small.view());
  const device_buffer<std::uint16_t> x(
      static_cast<std::size_t>(r.rows * r.cols));
  repeat<<<132 * 8, 256>>>(r, there.words(), x.data());
  const device_buffer<std::uint32_t> amax(1);
  for (std::uint64_t n = 0; n < cases(e, 300, 5000); ++n) {
    const auto at = static_cast<std::ptrdiff_t>(
        rng.below(static_cast<std::uint64_t>(r.rows * r.cols)));
    const auto code = static_cast<std::uint16_t>(0x4480 + rng.below(0x3000) +
                                                 (rng.one_in(2) ? 0x8000 : 0));
    const auto old = static_cast<std::uint16_t>(
        small.words[static_cast<std::size_t>(r.source(at))]);
    const auto put = [&](std::uint16_t element) {
      require(cudaMemcpy(x.data() + at, &element, 2, cudaMemcpyHostToDevice));
    };
    put(code);
    cuda::group_amaxes(q, {x.data(), r.rows, r.cols},
                       matrix_view<std::uint32_t>(amax.data(), 1, 1));
    finish_kernel();
    put(old);
    std::uint32_t got = 0;
    amax.copy_to(&got, 1);
    v.compare(got, static_cast<std::uint32_t>(code & 0x7fff) << 16, [&] {
      return "amax of element " + std::to_string(at) + in_hex("is", got) +
             in_hex("not", code);
    });
  }
  return v;
}

}  // namespace

check_list kernel_quantize_checks() {
  return {
      device_check("kernel.quantize.given", "Q2 Q3 Q4 Q5 Q6 Q12 Q13 Q8", "host",
                   check_given),
      device_check("kernel.quantize.matrices",
                   "Q2 Q3 Q4 Q5 Q6 Q12 Q13 Q8 Q10 Q11", "host", check_matrices),
      device_check("kernel.quantize.by_amax", "Q2 Q3 Q4 Q5 Q6 Q12 Q13 Q8 Q11",
                   "host", check_by_amax),
      device_check("kernel.quantize.amax_places", "Q2", "host",
                   check_amax_places),
      device_check("kernel.quantize.crowded", "Q2 Q3 Q4 Q5 Q6 Q12 Q13 Q8 Q11",
                   "host", check_crowded)};
}

}  // namespace zeroulp::conformance::device
