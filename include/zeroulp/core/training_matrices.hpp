// Defines the training path over matrices: the equations of training.hpp for
// each element, and what of it is quantized.
//
//   swiglu_forward   swiglu_backward   rms_norm   adamw   combine   dispatch
//
// Elements are codes in unsigned integers of any width. What is quantized is
// the matrix of values, as quantize.hpp has it: it is an output, too. Source:
// SPEC clauses S1 to S11.

#ifndef ZEROULP_CORE_TRAINING_MATRICES_HPP_
#define ZEROULP_CORE_TRAINING_MATRICES_HPP_

#include "zeroulp/core/quantize.hpp"
#include "zeroulp/core/training.hpp"

namespace zeroulp {

namespace detail {

ZEROULP_HD constexpr core_fp32::number number_of(format from,
                                                 std::uint64_t code) {
  return {as_fp32(from, code)};
}

ZEROULP_HD constexpr std::uint64_t code_of(format to, core_fp32::number x,
                                           rounder r = {}) {
  return recode(fp32, x.value, to, r, cuda_nosat);
}

}  // namespace detail

/// A quantized matrix: codes, and scales as the quantizer's groups are.
template <class Code, class Scale = std::uint32_t>
struct quantized_matrix {
  matrix_view<Code> codes;
  matrix_view<Scale> scales;
};

/// SwiGLU with what is quantized around it, as a value.
struct swiglu_layer {
  quantizer cache;  ///< of g and u: `from` is their format
  quantizer out;    ///< of h, dg and du: `from` is what they are rounded to
};

/// Forward: g and u (m x n, codes of cache.from) give h (codes of out.from),
/// and what is stored: h, g and u quantized. Those without data are left out.
template <class X, class H, class Code>
ZEROULP_HD constexpr void swiglu_forward(
    const swiglu_layer& layer, matrix_view<const X> g, matrix_view<const X> u,
    matrix_view<H> h, quantized_matrix<Code> h_out,
    quantized_matrix<Code> g_cache, quantized_matrix<Code> u_cache) {
  const format from = layer.cache.from;
  for (std::ptrdiff_t i = 0; i < g.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < g.cols; ++j) {
      const auto value = swiglu_value<core_fp32>(
          detail::number_of(from, g(i, j)), detail::number_of(from, u(i, j)));
      h(i, j) = static_cast<H>(detail::code_of(layer.out.from, value));
    }
  }
  const auto store = [](const quantizer& q, auto x, auto& to) {
    if (to.codes.data != nullptr) quantize(q, x, to.codes, to.scales);
  };
  store(layer.out, matrix_view<const H>(h), h_out);
  store(layer.cache, g, g_cache);
  store(layer.cache, u, u_cache);
}

/// Backward: dh (codes of `from`) and the cached g and u give h again, dg and
/// du (codes of out.from), and dg and du quantized. h and what is quantized
/// may be without data.
template <class X, class Code, class H>
ZEROULP_HD constexpr void swiglu_backward(
    const swiglu_layer& layer, format from, matrix_view<const X> dh,
    quantized_matrix<const Code, const std::uint32_t> g_cache,
    quantized_matrix<const Code, const std::uint32_t> u_cache, matrix_view<H> h,
    matrix_view<H> dg, matrix_view<H> du, quantized_matrix<Code> dg_out,
    quantized_matrix<Code> du_out) {
  const quantizer& cache = layer.cache;
  const std::ptrdiff_t height = cache.group.height(dh.rows);
  const std::ptrdiff_t width = cache.group.width(dh.cols);
  const auto code = [&layer](core_fp32::number x) {
    return static_cast<H>(detail::code_of(layer.out.from, x));
  };
  for (std::ptrdiff_t i = 0; i < dh.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < dh.cols; ++j) {
      const auto cached = [&](const auto& x) {
        return core_fp32::number{dequantize_element(
            cache.to, x.codes(i, j), x.scales(i / height, j / width))};
      };
      const auto value = swiglu_gradient<core_fp32>(
          cached(g_cache), cached(u_cache), detail::number_of(from, dh(i, j)));
      if (h.data != nullptr) h(i, j) = code(value.h);
      dg(i, j) = code(value.dg);
      du(i, j) = code(value.du);
    }
  }
  if (dg_out.codes.data != nullptr) {
    quantize(layer.out, matrix_view<const H>(dg), dg_out.codes, dg_out.scales);
  }
  if (du_out.codes.data != nullptr) {
    quantize(layer.out, matrix_view<const H>(du), du_out.codes, du_out.scales);
  }
}

/// RMSNorm with the quantizer of its result, as a value.
struct rms_layer {
  format from;        ///< of x
  format weight;      ///< of w
  std::uint32_t eps;  ///< FP32 bits
  quantizer out;      ///< of y: `from` is what y is rounded to
};

/// Each row of x (m x n) by itself, w being 1 x n: y (codes of out.from), its
/// factor rstd (FP32 bits, m x 1), and y quantized. rstd and what is quantized
/// may be without data.
template <class X, class W, class Y, class Code>
ZEROULP_HD constexpr void rms_norm(const rms_layer& layer,
                                   matrix_view<const X> x,
                                   matrix_view<const W> w, matrix_view<Y> y,
                                   matrix_view<std::uint32_t> rstd,
                                   quantized_matrix<Code> out) {
  using A = core_fp32;
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    const auto row = [&](std::ptrdiff_t j) {
      return detail::number_of(layer.from, x(i, j));
    };
    const auto factor =
        rms_rstd<A>(sum_of_squares<A>(row, x.cols),
                    A::from_bits(count_as_fp32(x.cols)), {layer.eps});
    if (rstd.data != nullptr) rstd(i, 0) = factor.value;
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      const auto value = rms_value<A>(row(j), factor,
                                      detail::number_of(layer.weight, w(0, j)));
      y(i, j) = static_cast<Y>(detail::code_of(layer.out.from, value));
    }
  }
  if (out.codes.data != nullptr) {
    quantize(layer.out, matrix_view<const Y>(y), out.codes, out.scales);
  }
}

/// One step of AdamW as a value.
struct adamw_step {
  adamw_factors factors;
  format gradient;
  format moment;        ///< of m and v
  rounding mode;        ///< of m and v
  std::uint64_t seed;   ///< of stochastic rounding; another one for each step
  std::uint64_t first;  ///< index of the element (0, 0); row by row from there
};

/// Updates the weights w (FP32 bits) and their moments, all m x n; `copy`, if
/// it has data, becomes w in BF16.
template <class G, class M, class H>
ZEROULP_HD constexpr void adamw(const adamw_step& step, matrix_view<const G> g,
                                matrix_view<M> m, matrix_view<M> v,
                                matrix_view<std::uint32_t> w,
                                matrix_view<H> copy) {
  for (std::ptrdiff_t i = 0; i < g.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < g.cols; ++j) {
      const auto next =
          adamw_update<core_fp32>(step.factors,
                                  {detail::number_of(step.moment, m(i, j)),
                                   detail::number_of(step.moment, v(i, j)),
                                   {w(i, j)}},
                                  detail::number_of(step.gradient, g(i, j)));
      const std::uint64_t random = adamw_random(
          step.seed, step.first + static_cast<std::uint64_t>(i * g.cols + j));
      const auto store = [&](core_fp32::number x, std::uint64_t r) {
        return static_cast<M>(detail::code_of(
            step.moment, x, {step.mode, static_cast<std::uint32_t>(r)}));
      };
      m(i, j) = store(next.m, random);
      v(i, j) = store(next.v, random >> 32);
      w(i, j) = next.w.value;
      if (copy.data != nullptr) {
        copy(i, j) = static_cast<H>(detail::code_of(bf16, next.w));
      }
    }
  }
}

/// Row t of `out` is the sum of the rows slots(t, 0), slots(t, 1), ... of x,
/// BF16 codes all; a slot of -1 is none. Weights (FP32 bits) are as slots are,
/// or without data.
template <class X>
ZEROULP_HD constexpr void combine(combine_rule rule, matrix_view<const X> x,
                                  matrix_view<const std::int32_t> slots,
                                  matrix_view<const std::uint32_t> weights,
                                  matrix_view<X> out) {
  using A = core_fp32;
  for (std::ptrdiff_t t = 0; t < out.rows; ++t) {
    for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
      auto c = no_contribution<A>();
      for (std::ptrdiff_t s = 0; s < slots.cols; ++s) {
        if (slots(t, s) < 0) continue;
        const auto value = detail::number_of(bf16, x(slots(t, s), j));
        c = weights.data != nullptr
                ? contribute<A>(rule, c, value, {weights(t, s)})
                : contribute<A>(rule, c, value);
      }
      out(t, j) = static_cast<X>(detail::code_of(bf16, c.sum));
    }
  }
}

/// Row r of `codes` is row rows(r, 0) of x, quantized; of -1, zeros with scale
/// 1. The quantizer's groups are one row high.
template <class X, class Code>
ZEROULP_HD constexpr void dispatch(const quantizer& q, matrix_view<const X> x,
                                   matrix_view<const std::int32_t> rows,
                                   matrix_view<Code> codes,
                                   matrix_view<std::uint32_t> scales) {
  for (std::ptrdiff_t r = 0; r < rows.rows; ++r) {
    const std::ptrdiff_t from = rows(r, 0);
    if (from >= 0) {
      quantize(q, x.block(from, 0, 1, x.cols), codes.block(r, 0, 1, codes.cols),
               scales.block(r, 0, 1, scales.cols));
      continue;
    }
    for (std::ptrdiff_t j = 0; j < codes.cols; ++j) codes(r, j) = 0;
    for (std::ptrdiff_t j = 0; j < scales.cols; ++j) scales(r, j) = fp32_one;
  }
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_TRAINING_MATRICES_HPP_
