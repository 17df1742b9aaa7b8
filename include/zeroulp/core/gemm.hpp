// Defines D = A B^T on codes with scales, by a recipe.
//
//   p   = the chain of steps over `interval` elements of K, from zero
//   acc = promotion(acc, p)          FP32; D = epilogue(acc)
//
// A is m x k, B is n x k, both K-major ("NT"). Fprop is X W^T, Dgrad dY (W^T)^T
// with transposed weights, Wgrad dY^T (X^T)^T with K = tokens: the same product
// with other operands. Source: SPEC clauses G1 to G11.

#ifndef ZEROULP_CORE_GEMM_HPP_
#define ZEROULP_CORE_GEMM_HPP_

#include "zeroulp/core/convention.hpp"
#include "zeroulp/core/scale.hpp"
#include "zeroulp/core/view.hpp"

namespace zeroulp {

/// The scales of one row of an operand, in k order, and how many elements of K
/// each covers (0: all).
struct row_scales {
  const std::uint32_t* data = nullptr;
  std::ptrdiff_t stride = 0;
  std::ptrdiff_t cover = 0;

  /// The scale of element k, FP32 bits; without scales, 1.
  ZEROULP_HD constexpr std::uint32_t at(std::ptrdiff_t k) const {
    if (data == nullptr) return fp32_one;
    return data[cover > 0 ? k / cover * stride : 0];
  }
};

/// Returns the scales of row i of an operand.
ZEROULP_HD constexpr row_scales scales_of_row(
    matrix_view<const std::uint32_t> scales, granularity g, std::ptrdiff_t i) {
  if (scales.data == nullptr) return {};
  const std::ptrdiff_t row = g.mn > 0 ? i / g.mn : 0;
  return {scales.data + row * scales.row_stride, scales.col_stride, g.k};
}

/// An element sequence starting later.
template <class X>
struct tail {
  const X& x;
  std::ptrdiff_t first;
  ZEROULP_HD constexpr auto operator[](std::ptrdiff_t k) const {
    return x[first + k];
  }
};

/// Returns the chain of steps over elements [begin, end) of K, from c: codes of
/// p.acc.stored.
template <class A, class B>
ZEROULP_HD constexpr std::uint64_t chain(const path& p, const A& a, const B& b,
                                         std::ptrdiff_t begin,
                                         std::ptrdiff_t end, std::uint64_t c) {
  const std::ptrdiff_t length = p.length() > 0 ? p.length() : end - begin;
  for (std::ptrdiff_t k = begin; k < end; k += length) {
    const std::ptrdiff_t count = end - k < length ? end - k : length;
    c = step(p, tail<A>{a, k}, tail<B>{b, k}, static_cast<int>(count), c);
  }
  return c;
}

/// Returns true iff a GEMM can follow `r`: the interval is a multiple of the
/// step, and scales that change along K are promoted within their group.
ZEROULP_HD constexpr bool is_valid(const recipe& r) {
  const auto covers = [&r](granularity g) {
    return g.k == 0 || (r.interval > 0 && g.k % r.interval == 0);
  };
  const bool steps = r.interval == 0 || (r.interval > 0 && r.acc.length > 0 &&
                                         r.interval % r.acc.length == 0);
  const bool scaled = covers(r.a) && covers(r.b);
  const bool late = r.update != promotion::add || (r.a.k == 0 && r.b.k == 0);
  return steps && scaled && late && r.splits > 0 && r.acc.stored == fp32;
}

/// Joins the partial sum p of elements around k to acc; FP32 bits.
ZEROULP_HD constexpr std::uint32_t promote(promotion update, std::uint32_t acc,
                                           std::uint32_t p, std::uint32_t sa,
                                           std::uint32_t sb) {
  switch (update) {
    case promotion::product_of_scales:
      return detail::fl_fma(p, detail::fl_multiply(sa, sb), acc);
    case promotion::one_then_other:
      return detail::fl_fma(detail::fl_multiply(p, sa), sb, acc);
    case promotion::other_then_one:
      return detail::fl_fma(detail::fl_multiply(p, sb), sa, acc);
    case promotion::add:
      break;
  }
  return detail::fl_add(acc, p);
}

/// Returns what the ranges of a split K are multiples of: an interval; four if
/// scales that change along K are shared by rows; without an interval four
/// steps, on Hopper 128 bytes, or k if L is 0. SPEC G7.
ZEROULP_HD constexpr std::ptrdiff_t split_grain(const recipe& r,
                                                std::ptrdiff_t k) {
  const auto is_shared = [](granularity g) { return g.k > 0 && g.mn != 1; };
  const std::ptrdiff_t interval = r.interval;
  if (interval > 0) {
    return is_shared(r.a) || is_shared(r.b) ? 4 * interval : interval;
  }
  return r.acc.length > 0 ? 4 * r.acc.length : k;
}

/// Returns the elements of K in a split of `r`. Its grain must be > 0: k = 0
/// needs an interval or steps.
ZEROULP_HD constexpr std::ptrdiff_t split_span(const recipe& r,
                                               std::ptrdiff_t k) {
  const std::ptrdiff_t grain = split_grain(r, k);
  return ceil_div(ceil_div(k, grain), r.splits) * grain;
}

/// Returns the FP32 sum of one output before the epilogue. `partial(begin,
/// end)` gives the chain of steps over these elements of K from +0, FP32 bits.
/// K = 0 gives +0.
template <class Partial>
ZEROULP_HD constexpr std::uint32_t promoted_sum(const recipe& r,
                                                const Partial& partial,
                                                std::ptrdiff_t k, row_scales sa,
                                                row_scales sb) {
  if (k == 0) return 0;
  const std::ptrdiff_t interval = r.interval > 0 ? r.interval : k;
  const std::ptrdiff_t span = split_span(r, k);
  std::uint32_t total = 0;
  for (std::ptrdiff_t begin = 0; begin < k; begin += span) {
    const std::ptrdiff_t end = k - begin < span ? k : begin + span;
    std::uint32_t acc = 0;
    for (std::ptrdiff_t at = begin; at < end; at += interval) {
      const std::uint32_t p =
          partial(at, end - at < interval ? end : at + interval);
      // Without promotion the tensor core's own result is the sum.
      acc = r.interval == 0 && r.update == promotion::add
                ? p
                : promote(r.update, acc, p, sa.at(at), sb.at(at));
    }
    total = begin == 0 ? acc : detail::fl_add(total, acc);
  }
  const bool unscaled = sa.data == nullptr && sb.data == nullptr;
  if (r.update != promotion::add || unscaled) return total;
  // As cuBLASLt does: a product that is exactly zero is +0.
  return detail::fl_fma(total, detail::fl_multiply(sa.at(0), sb.at(0)), 0);
}

/// Returns D for the FP32 sum `acc`; `c` is FP32, used by accumulate.
ZEROULP_HD constexpr std::uint32_t finish(const recipe& r, std::uint32_t acc,
                                          std::uint32_t c) {
  if (r.end == epilogue::accumulate) acc = detail::fl_add(acc, c);
  return r.output == fp32 ? acc
                          : static_cast<std::uint32_t>(
                                recode(fp32, acc, r.output, {}, cuda_nosat));
}

/// A row of codes read as exact values.
template <class Code>
struct decoded_row {
  const Code* data;
  std::ptrdiff_t stride;
  format f;
  ZEROULP_HD constexpr unpacked operator[](std::ptrdiff_t k) const {
    return decode(f, data[k * stride]);
  }
};

/// One operand of a GEMM: codes mn x k, FP32 scales (bits) as the recipe's
/// granularity has them, or none (all 1).
template <class Code>
struct gemm_operand {
  format f;
  matrix_view<const Code> codes;
  matrix_view<const std::uint32_t> scales{};

  ZEROULP_HD constexpr decoded_row<Code> row(std::ptrdiff_t i) const {
    return {codes.data + i * codes.row_stride, codes.col_stride, f};
  }
};

/// D = A B^T, m x n, as bits of r.output; `c` (m x n, FP32 bits) may be null
/// unless the epilogue accumulates. `r` must be valid.
template <class CodeA, class CodeB>
ZEROULP_HD constexpr void gemm(const recipe& r, const gemm_operand<CodeA>& a,
                               const gemm_operand<CodeB>& b,
                               matrix_view<const std::uint32_t> c,
                               matrix_view<std::uint32_t> d) {
  for (std::ptrdiff_t i = 0; i < d.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < d.cols; ++j) {
      const auto partial = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
        return static_cast<std::uint32_t>(
            chain(path{a.f, b.f, r.acc}, a.row(i), b.row(j), begin, end, 0));
      };
      const auto acc = promoted_sum(r, partial, a.codes.cols,
                                    scales_of_row(a.scales, r.a, i),
                                    scales_of_row(b.scales, r.b, j));
      d(i, j) = finish(r, acc, c.data == nullptr ? 0 : c(i, j));
    }
  }
}

static_assert(split_grain(unpromoted_recipe, 7168) == 128);
static_assert(split_grain(cublaslt_tensorwise_recipe, 7168) == 128);
static_assert(split_grain(cublaslt_1x128_128x128_recipe, 7168) == 512);
static_assert(split_grain(cublaslt_1x128_1x128_recipe, 7168) == 128);
static_assert(split_grain({hopper_half_f32, 0, promotion::add, per_tensor,
                           per_tensor, 2, epilogue::store, fp32},
                          7168) == 64);
static_assert(split_span({hopper_fp8_f32,
                          1 << 30,
                          promotion::one_then_other,
                          {1, 1 << 30},
                          {2, 1 << 30},
                          2,
                          epilogue::store,
                          fp32},
                         1) == std::ptrdiff_t{1} << 32);

}  // namespace zeroulp

#endif  // ZEROULP_CORE_GEMM_HPP_
