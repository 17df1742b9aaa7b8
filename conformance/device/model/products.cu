// Products of a training step on the GPU against the engine: BF16 operands in
// every layout and span, in batches, and the router's sequential ones; what
// moves or assembles rows.

#include <utility>

#include "conformance/checks/model/model_parts.hpp"
#include "conformance/device/model/mirror.hpp"
#include "conformance/device/model/model.hpp"
#include "zeroulp/cuda_model.hpp"
#include "zeroulp/engine.hpp"

namespace zeroulp::conformance::device {
namespace {

using half_view = matrix_view<const std::uint16_t>;

struct halves {
  std::ptrdiff_t rows, cols;
  std::vector<std::uint16_t> codes;

  halves(std::ptrdiff_t m, std::ptrdiff_t n)
      : rows(m), cols(n), codes(static_cast<std::size_t>(m * n)) {
    codes.reserve(1);  // data() is no null pointer
  }
  matrix_view<std::uint16_t> view() { return {codes.data(), rows, cols}; }
  half_view view() const { return {codes.data(), rows, cols}; }
};

halves drawn(std::ptrdiff_t m, std::ptrdiff_t n, counter_rng& rng) {
  halves x(m, n);
  const grid g = any_numbers(bf16, m, n, rng);
  for (std::size_t i = 0; i < x.codes.size(); ++i) {
    x.codes[i] = static_cast<std::uint16_t>(g.words[i]);
  }
  return x;
}

std::uint32_t by_factor(std::uint32_t sum, std::uint32_t factor) {
  return factor == fp32_one
             ? sum
             : static_cast<std::uint32_t>(multiply(fp32, sum, factor));
}

std::string text_of(std::initializer_list<std::ptrdiff_t> numbers) {
  std::string all;
  for (const auto n : numbers) all += " " + std::to_string(n);
  return all;
}

/// A case of cuda::gemm_bf16.
struct product_case {
  std::ptrdiff_t batch;  ///< matrices, an even number
  std::ptrdiff_t m, n, k, splits;
  bool a_along_k, b_along_k;
  cuda::gemm_span span;
  format output;
  std::uint32_t factor;
  /// Of so many rows of all matrices one is held, from row `first` on.
  std::ptrdiff_t every = 1, first = 0;

  std::string text() const {
    return text_of({batch, m, n, k, splits, static_cast<std::ptrdiff_t>(span),
                    a_along_k, b_along_k, output == bf16}) +
           " (batch, m, n, k, splits, span, A and B along K, BF16)";
  }
};

product_case any_product(const effort& e, counter_rng& rng) {
  const int most = e.level > 0 ? 400 : 200;
  product_case c{};
  c.batch = 2;
  c.m = rng.between(1, most), c.n = rng.between(1, most);
  // Rows of D on 16 bytes, or not: the kernel has two ways to write.
  if (rng.one_in(2)) c.n = ceil_div(c.n, 8) * 8;
  c.k = rng.one_in(8) ? 0 : rng.between(1, rng.one_in(4) ? 1500 : most);
  c.span = static_cast<cuda::gemm_span>(rng.below(4));
  if (c.span != cuda::gemm_span::all) c.m = rng.between(1, most);
  if (c.span == cuda::gemm_span::to_diagonal ||
      c.span == cuda::gemm_span::from_diagonal) {
    c.k = c.m;
  }
  // Enough tiles for each multiprocessor: then wide tiles pay.
  if (rng.one_in(3)) {
    c.batch = 2 * rng.between(10, 40);
    c.k = rng.between(1, 100);
    if (c.span == cuda::gemm_span::to_diagonal ||
        c.span == cuda::gemm_span::from_diagonal) {
      c.m = c.k;
    }
  }
  c.splits = c.span == cuda::gemm_span::all ? rng.between(1, 4) : 1;
  c.a_along_k = rng.one_in(2), c.b_along_k = rng.one_in(2);
  c.output = rng.one_in(2) ? bf16 : fp32;
  c.factor = rng.one_in(2) ? fp32_one : any_factor(rng);
  // All rows at level 0. The engine takes long for many; an odd step comes to
  // each place in a tile.
  if (e.level > 0) c.every = c.batch * c.m * c.n >> 17 | 1;
  c.first = rng.between(0, static_cast<int>(c.every) - 1);
  return c;
}

int multiprocessors() {
  int device = 0, count = 0;
  require(cudaGetDevice(&device));
  require(
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

/// A case that gets the wide tile number `tile`, 128 x 256, 128 x 192 or 256 x
/// 128: with any other the multiprocessors take a second round, or a dearer
/// one. K of the first is longer than any pipeline.
product_case product_of_wide_tiles(std::uint64_t tile, counter_rng& rng) {
  const std::ptrdiff_t all = multiprocessors();
  static constexpr std::ptrdiff_t widths[] = {8 * 256, 8 * 192, 3 * 128};
  product_case c = any_product(effort{}, rng);
  c.batch = 2;
  c.m = tile == 2 ? all / 6 * 256 : all / 16 * 128;
  c.n = widths[tile];
  // The last tiles are not full.
  c.m = std::max<std::ptrdiff_t>(c.m, 128) - rng.between(0, 60);
  c.n -= rng.one_in(2) ? 8 * rng.between(0, 7) : rng.between(0, 60);
  c.k = tile == 0 ? rng.between(6 * 64 + 1, 500) : rng.between(1, 130);
  c.span = rng.one_in(2) ? cuda::gemm_span::all : cuda::gemm_span::lower;
  c.splits = 1;
  c.every = 127;
  c.first = rng.between(0, 126);
  return c;
}

/// Elements [begin, end) of K that row i sums.
std::pair<std::ptrdiff_t, std::ptrdiff_t> range_of(const product_case& c,
                                                   std::ptrdiff_t i) {
  const std::ptrdiff_t at = i / 64 * 64;
  if (c.span == cuda::gemm_span::to_diagonal) {
    return {0, std::min(c.k, at + 64)};
  }
  if (c.span == cuda::gemm_span::from_diagonal) return {std::min(at, c.k), c.k};
  return {0, c.k};
}

/// The product of matrix s of the batch by the engine: rows of 64, each over
/// its elements of K, or all at once. `b` may be ones.
template <class Use>
void for_sums(const product_case& c, std::ptrdiff_t s, half_view a, half_view b,
              Use use) {
  const recipe r{hopper_half_f32, 0,
                 promotion::add,  per_tensor,
                 per_tensor,      static_cast<std::int32_t>(c.splits),
                 epilogue::store, fp32};
  const bool is_causal = c.span == cuda::gemm_span::to_diagonal ||
                         c.span == cuda::gemm_span::from_diagonal;
  const std::ptrdiff_t together = is_causal ? 64 : c.m;
  for (std::ptrdiff_t i = 0; i < c.m; i += together) {
    // The rows that are held: from the first one at or below row i on.
    const std::ptrdiff_t before = s * c.m + i + c.every - 1 - c.first;
    const std::ptrdiff_t top = before / c.every * c.every + c.first - s * c.m;
    const std::ptrdiff_t below = std::min(i + together, c.m);
    if (top >= below) continue;
    const std::ptrdiff_t rows = ceil_div(below - top, c.every);
    const auto [begin, end] = range_of(c, i);
    grid sums(rows, b.rows);
    if (end > begin) {
      const half_view held{&a(top, begin), rows, end - begin,
                           c.every * a.row_stride, a.col_stride};
      engine::gemm(r, {bf16, held}, {},
                   {bf16, b.block(0, begin, b.rows, end - begin)}, {}, {},
                   {sums.words.data(), rows, b.rows});
    }
    for (std::ptrdiff_t x = 0; x < rows; ++x) {
      const std::ptrdiff_t row = top + x * c.every;
      for (std::ptrdiff_t j = 0; j < b.rows; ++j) use(row, j, sums(x, j));
    }
  }
}

void hold_product(verdict& v, const product_case& c, counter_rng& rng) {
  const std::ptrdiff_t batch = c.batch;
  const auto drawn_operand = [&](bool along_k, std::ptrdiff_t mn) {
    return along_k ? drawn(batch * mn, c.k, rng) : drawn(batch * c.k, mn, rng);
  };
  const halves a = drawn_operand(c.a_along_k, c.m);
  const halves b = drawn_operand(c.b_along_k, c.n);
  // Matrix s of a batch, m x k whatever its layout.
  const auto one_of = [&](half_view x, std::ptrdiff_t s, bool along_k) {
    const std::ptrdiff_t rows = x.rows / batch;
    const half_view one{x.data + s * rows * x.row_stride, rows, x.cols,
                        x.row_stride, 1};
    return along_k ? one : one.transposed();
  };
  const bool narrow = c.output == bf16;
  const bool with_sums = c.span == cuda::gemm_span::to_diagonal;
  const std::ptrdiff_t sums = with_sums ? c.m : 0;
  std::vector<std::uint32_t> got(static_cast<std::size_t>(batch * c.m * c.n));
  std::vector<std::uint16_t> codes(got.size());
  std::vector<std::uint32_t> got_sums(static_cast<std::size_t>(batch * sums));
  const mirror on_a(a.view()), on_b(b.view());
  mirror words(matrix_view<std::uint32_t>(narrow ? nullptr : got.data(),
                                          batch * c.m, c.n));
  mirror halves_of(matrix_view<std::uint16_t>(narrow ? codes.data() : nullptr,
                                              batch * c.m, c.n));
  mirror row_sums(matrix_view<std::uint32_t>(
      with_sums ? got_sums.data() : nullptr, batch, sums));
  const auto stride_of = [batch](auto x) {
    return x.rows / batch * x.row_stride;
  };
  cuda::bf16_gemm g;
  g.a = one_of(on_a.view(), 0, c.a_along_k);
  g.b = one_of(on_b.view(), 0, c.b_along_k);
  const auto of_batch = [batch](std::ptrdiff_t stride) {
    return cuda::batch_strides{batch / 2 * stride, stride};
  };
  g.a_batch = of_batch(stride_of(on_a.view()));
  g.b_batch = of_batch(stride_of(on_b.view()));
  g.outer = 2;
  g.inner = batch / 2;
  g.output = c.output;
  const auto set_output = [&](auto d) {
    g.d = {d.data, c.m, c.n, d.row_stride};
    g.d_batch = of_batch(stride_of(d));
  };
  if (narrow) {
    set_output(halves_of.view());
  } else {
    set_output(words.view());
  }
  g.splits = c.splits;
  g.span = c.span;
  g.factor = c.factor;
  g.row_sums = row_sums.view().data;
  g.row_sums_batch = of_batch(row_sums.view().row_stride);
  cuda::gemm_bf16(g);
  finish_kernel();
  words.download();
  halves_of.download();
  row_sums.download();

  halves ones(1, c.k);
  for (auto& code : ones.codes) code = 0x3f80;
  for (std::ptrdiff_t s = 0; s < batch; ++s) {
    const half_view one_a = one_of(a.view(), s, c.a_along_k);
    for_sums(c, s, one_a, one_of(b.view(), s, c.b_along_k),
             [&](std::ptrdiff_t i, std::ptrdiff_t j, std::uint32_t sum) {
               // Tiles above the diagonal are left out.
               const bool out = c.span == cuda::gemm_span::lower;
               if (out && j / 128 > i / 128) return;
               const auto at =
                   static_cast<std::size_t>((s * c.m + i) * c.n + j);
               sum = by_factor(sum, c.factor);
               const bool same =
                   narrow ? codes[at] == recode(fp32, sum, bf16, {}, cuda_nosat)
                          : got[at] == sum;
               v.count(same, [&] {
                 return c.text() + ": row and column" + text_of({i, j});
               });
             });
    if (!with_sums) continue;
    for_sums(c, s, one_a, ones.view(),
             [&](std::ptrdiff_t i, std::ptrdiff_t, std::uint32_t sum) {
               v.count(
                   got_sums[static_cast<std::size_t>(s * c.m + i)] == sum,
                   [&] { return c.text() + ": sum of row" + text_of({i}); });
             });
  }
}

verdict bf16_products(const effort& e) {
  verdict v = for_separate_cases(e, case_count(e, 20),
                                 [&](counter_rng& rng, auto, verdict& part) {
                                   hold_product(part, any_product(e, rng), rng);
                                 });
  effort wide = e;
  wide.seed = ~e.seed;
  v += for_separate_cases(
      wide, e.level > 0 ? 12 : 3, [](counter_rng& rng, auto n, verdict& part) {
        hold_product(part, product_of_wide_tiles(n % 3, rng), rng);
      });
  return v;
}

/// A product of the router, T14: BF16 and FP32 operands of any strides. Where
/// it vanishes, products below 0 do: a chain of fma ends with -0, D is +0 (T6).
void hold_sequential_product(verdict& v, bool vanishes, counter_rng& rng) {
  const std::ptrdiff_t m = rng.between(1, 150), n = rng.between(1, 40);
  const std::ptrdiff_t k = rng.between(1, 300);
  // Ranges begin on multiples of eight elements, or anywhere.
  const std::ptrdiff_t interval = vanishes || rng.one_in(2) ? 0
                                  : rng.one_in(2) ? rng.between(5, 100)
                                                  : 32 << rng.below(4);
  const bool across_a = rng.one_in(2), across_b = rng.one_in(2);
  halves a = across_a ? drawn(k, m, rng) : drawn(m, k, rng);
  grid b =
      across_b ? any_numbers(fp32, k, n, rng) : any_numbers(fp32, n, k, rng);
  if (vanishes) {
    for (auto& code : a.codes) code = 0x8d80;      // -2^-100
    for (auto& word : b.words) word = 0x0d800000;  // 2^-100
  }
  const half_view codes = std::as_const(a).view();
  const codes_in words(b.words.data(), b.rows, b.cols);
  const auto turned = [](auto x, bool across) {
    return across ? x.transposed() : x;
  };
  const mirror on_a(codes);
  const mirror on_b(words);
  grid got(m, n), want(m, n);
  mirror d(codes_out(got.words.data(), m, n));
  const room<std::uint32_t> work(ceil_div(k, interval == 0 ? k : interval) * m *
                                 n);
  cuda::sequential_gemm(turned(on_a.view(), across_a),
                        turned(on_b.view(), across_b), interval, d.view(),
                        work.span());
  finish_kernel();
  d.download();
  recipe r = sequential_recipe;
  r.interval = static_cast<std::int32_t>(interval);
  engine::gemm(r, {bf16, turned(codes, across_a)}, {},
               {fp32, turned(words, across_b)}, {}, {},
               {want.words.data(), m, n});
  compare(v, got, want, "product", [&] {
    return text_of({m, n, k, interval}) + " (m, n, k, interval)";
  });
}

verdict sequential_products(const effort& e) {
  return for_separate_cases(
      e, case_count(e, 64), [](counter_rng& rng, auto number, verdict& part) {
        hold_sequential_product(part, number % 20 == 0, rng);
      });
}

}  // namespace

check_list kernel_model_checks() {
  check_list all;
  for (const model_check& c : model_check_list()) {
    all.push_back({"kernel.model." + c.name, c.clauses, c.oracle, c.level,
                   [run = c.run](const implementation&, const effort& e) {
                     return run(gpu_model(), e);
                   }});
  }
  all.push_back(device_check("kernel.model.Bf16Products", "G1 G7 T12 N5 N6 N7",
                             "the engine", bf16_products));
  all.push_back(device_check("kernel.model.SequentialProducts", "T14 G4",
                             "the engine", sequential_products));
  for (auto& part :
       {kernel_model_attention_checks(), kernel_model_row_checks()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace zeroulp::conformance::device
