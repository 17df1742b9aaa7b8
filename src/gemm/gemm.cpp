#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/gemm/multiplication.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp {
namespace {

void check_scales(matrix_view<const std::uint32_t> scales, granularity g,
                  const prepared_operand& x, const char* which) {
  if (scales.data == nullptr) return;
  const auto groups = [](std::ptrdiff_t n, std::int32_t size) {
    return size > 0 ? ceil_div(n, size) : 1;
  };
  const std::ptrdiff_t rows = groups(x.rows(), g.mn);
  const std::ptrdiff_t cols = groups(x.cols(), g.k);
  if (scales.rows != rows || scales.cols != cols) {
    throw input_error(fmt::format(
        "scales of {}: {} x {}, but the recipe needs {} x {} for {} x {} codes",
        which, scales.rows, scales.cols, rows, cols, x.rows(), x.cols()));
  }
}

/// A GEMM by a recipe.
struct promoted {
  const recipe& r;
  multiplication product;
  matrix_view<const std::uint32_t> scales_a;
  matrix_view<const std::uint32_t> scales_b;
  matrix_view<const std::uint32_t> c;
  matrix_view<std::uint32_t> d;

  row_scales row(std::ptrdiff_t i) const {
    return scales_of_row(scales_a, r.a, i);
  }
  row_scales col(std::ptrdiff_t j) const {
    return scales_of_row(scales_b, r.b, j);
  }

  void load_scales(const tile& t, std::ptrdiff_t k) const {
    tile_memory& m = memory();
    for (int i = 0; i < t.rows; ++i) {
      m.scale_a[i] = bit_cast<float>(row(t.row + i).at(k));
    }
    for (int j = 0; j < t.cols; ++j) {
      m.scale_b[j] = bit_cast<float>(col(t.col + j).at(k));
    }
  }

  /// sum = the intervals of [begin, end), promoted.
  void sum_range(const tile& t, std::ptrdiff_t begin,
                 std::ptrdiff_t end) const {
    tile_memory& m = memory();
    clear(t, m.sum);
    if (r.interval == 0 && r.update == promotion::add) {
      return product.run(t, begin, end, m.sum);
    }
    const std::ptrdiff_t interval = r.interval > 0 ? r.interval : end - begin;
    for (std::ptrdiff_t at = begin; at < end; at += interval) {
      clear(t, m.partial);
      product.run(t, at, std::min(at + interval, end), m.partial);
      load_scales(t, at);
      promote_tile(
          {r.update, t.rows, t.cols, m.partial, m.sum, m.scale_a, m.scale_b});
    }
  }

  /// The FP32 sum of every output, in `total`; a NaN is any NaN.
  /// K > 0: there is a first split.
  void sum_splits(const tile& t) const {
    tile_memory& m = memory();
    const std::ptrdiff_t k = product.a->cols();
    const std::ptrdiff_t span = split_span(r, k);
    for (std::ptrdiff_t begin = 0; begin < k; begin += span) {
      sum_range(t, begin, std::min(begin + span, k));
      for_each_output(t, [&](int, int, int at) {
        m.total[at] = begin == 0 ? m.sum[at] : m.total[at] + m.sum[at];
      });
    }
    if (r.update != promotion::add ||
        (scales_a.data == nullptr && scales_b.data == nullptr)) {
      return;
    }
    load_scales(t, 0);
    for_each_output(t, [&](int i, int j, int at) {
      m.total[at] = std::fma(m.total[at], m.scale_a[i] * m.scale_b[j], 0.0f);
    });
  }

  std::uint32_t core_sum(std::ptrdiff_t i, std::ptrdiff_t j) const {
    const auto partial = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
      return product.core_chain(i, j, begin, end, 0);
    };
    return promoted_sum(r, partial, product.a->cols(), row(i), col(j));
  }

  void compute(const tile& t) const {
    tile_memory& m = memory();
    if (product.plan.by != chain_plan::kernel::core) sum_splits(t);
    for_each_output(t, [&](int i, int j, int at) {
      if (product.needs_core(t.row + i, t.col + j)) {
        m.total[at] = bit_cast<float>(core_sum(t.row + i, t.col + j));
      }
      if (r.end == epilogue::accumulate) {
        m.total[at] +=
            bit_cast<float>(c.data == nullptr ? 0u : c(t.row + i, t.col + j));
      }
      m.codes[at] = m.total[at] != m.total[at]
                        ? fp32_nan
                        : bit_cast<std::uint32_t>(m.total[at]);
    });
    const auto out = d.block(t.row, t.col, t.rows, t.cols);
    const matrix_view<const std::uint32_t> sums(m.codes, t.rows, t.cols,
                                                tile_rows, 1);
    engine::recode(fp32, sums, r.output, out, rounding::nearest_even,
                   cuda_nosat);
  }
};

}  // namespace

namespace engine {

void gemm(const recipe& r, const prepared_operand& a,
          matrix_view<const std::uint32_t> scales_a, const prepared_operand& b,
          matrix_view<const std::uint32_t> scales_b,
          matrix_view<const std::uint32_t> c, matrix_view<std::uint32_t> d) {
  if (!is_valid(r)) {
    throw input_error(
        "recipe: the interval must be a multiple of the step and divide the "
        "groups along K; scales along K need promotion");
  }
  check_shapes(a, b, d.rows, d.cols);
  if (r.output.bits() > 32) {
    throw input_error(fmt::format("gemm: output {} has {} bits, at most 32 fit",
                                  name_of(r.output), r.output.bits()));
  }
  if (c.data != nullptr && (c.rows != d.rows || c.cols != d.cols)) {
    throw input_error(fmt::format("gemm: C is {} x {}, but D {} x {}", c.rows,
                                  c.cols, d.rows, d.cols));
  }
  check_scales(scales_a, r.a, a, "A");
  check_scales(scales_b, r.b, b, "B");
  const promoted g{
      r, {{a.element(), b.element(), r.acc}, a, b}, scales_a, scales_b, c, d};
  for_each_tile(d.rows, d.cols, g.product.work_each(),
                [&](const tile& t) { g.compute(t); });
}

recipe for_operands(const recipe& r, format a, format b) {
  const auto fp8 = [](format f) { return f == e4m3 || f == e5m2; };
  if (!(r.acc == hopper_fp8_f32) || (fp8(a) && fp8(b))) return r;
  if (a == b && (a == bf16 || a == fp16)) {
    recipe half = r;
    half.acc = hopper_half_f32;
    return half;
  }
  throw input_error(fmt::format(
      "operands are {} and {}: the tensor core takes e4m3 and e5m2, or bf16 or "
      "fp16 on both sides; re-tile or quantize to one of them",
      name_of(a), name_of(b)));
}

}  // namespace engine
}  // namespace zeroulp
