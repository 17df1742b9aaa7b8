// Defines the backward pass of RMSNorm.
//
//   dx = r (g - x (g . x) r^2 / n),  g = dy w      dw = sum over tokens dy x r
//
// Templates over an arithmetic `A` (elementary.hpp); elements of a row are
// adjacent. Source: SPEC clause N3.

#ifndef ZEROULP_CORE_MODEL_RMS_NORM_BACKWARD_HPP_
#define ZEROULP_CORE_MODEL_RMS_NORM_BACKWARD_HPP_

#include "zeroulp/core/model/row_sums.hpp"
#include "zeroulp/core/view.hpp"

namespace zeroulp {

/// What the backward pass reads and writes: m tokens, n elements each.
struct rms_norm_gradients {
  matrix_view<const std::uint16_t> dy;        ///< m x n, BF16
  matrix_view<const std::uint16_t> x;         ///< m x n, BF16
  matrix_view<const std::uint32_t> w;         ///< 1 x n, FP32
  matrix_view<const std::uint32_t> rstd;      ///< m x 1, FP32, of rms_norm
  matrix_view<const std::uint16_t> residual;  ///< m x n, BF16, or no data
  matrix_view<std::uint16_t> dx;              ///< m x n, BF16, or no data
  matrix_view<std::uint32_t> dw;              ///< 1 x n, FP32, or no data
};

/// dx of tokens [begin, end).
template <class A>
ZEROULP_HD constexpr void rms_norm_dx(const rms_norm_gradients& t,
                                      std::ptrdiff_t begin,
                                      std::ptrdiff_t end) {
  const std::ptrdiff_t n = t.x.cols;
  const auto count = A::from_bits(count_as_fp32(n));
  const std::uint32_t* const w = t.w.data;
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    const std::uint16_t* const dy = t.dy.data + i * t.dy.row_stride;
    const std::uint16_t* const x = t.x.data + i * t.x.row_stride;
    std::uint16_t* const dx = t.dx.data + i * t.dx.row_stride;
    const auto rstd = A::from_bits(t.rstd(i, 0));
    const auto number = [x](std::ptrdiff_t j) { return bf16_number<A>(x[j]); };
    const auto g = [dy, w](std::ptrdiff_t j) {
      return A::multiply(bf16_number<A>(dy[j]), A::from_bits(w[j]));
    };
    const auto sum = row_dot<A>(n, g, number);
    const auto minus_a =
        A::negate(A::divide(A::multiply(A::multiply(sum, rstd), rstd), count));
    const auto d = [&](std::ptrdiff_t j) {
      return A::multiply(rstd, A::fma(minus_a, number(j), g(j)));
    };
    if (t.residual.data == nullptr) {
      for (std::ptrdiff_t j = 0; j < n; ++j) dx[j] = bf16_code<A>(d(j));
    } else {
      const std::uint16_t* const q =
          t.residual.data + i * t.residual.row_stride;
      for (std::ptrdiff_t j = 0; j < n; ++j) {
        dx[j] = bf16_code<A>(A::add(d(j), bf16_number<A>(q[j])));
      }
    }
  }
}

/// dw of elements [begin, end), over all tokens.
template <class A>
ZEROULP_HD constexpr void rms_norm_dw(const rms_norm_gradients& t,
                                      std::ptrdiff_t begin,
                                      std::ptrdiff_t end) {
  constexpr std::ptrdiff_t width = 64;
  for (std::ptrdiff_t first = begin; first < end; first += width) {
    const std::ptrdiff_t n = end - first < width ? end - first : width;
    typename A::number total[width]{};  // +0
    for (std::ptrdiff_t from = 0; from < t.x.rows; from += token_range) {
      const std::ptrdiff_t rest = t.x.rows - from;
      const std::ptrdiff_t to =
          from + (rest < token_range ? rest : token_range);
      typename A::number p[width]{};
      for (std::ptrdiff_t i = from; i < to; ++i) {
        const std::uint16_t* const dy = t.dy.data + i * t.dy.row_stride + first;
        const std::uint16_t* const x = t.x.data + i * t.x.row_stride + first;
        const auto rstd = A::from_bits(t.rstd(i, 0));
        for (std::ptrdiff_t j = 0; j < n; ++j) {
          p[j] = A::fma(bf16_number<A>(dy[j]),
                        A::multiply(bf16_number<A>(x[j]), rstd), p[j]);
        }
      }
      for (std::ptrdiff_t j = 0; j < n; ++j) total[j] = A::add(total[j], p[j]);
    }
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      t.dw.data[first + j] = A::bits(total[j]);
    }
  }
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_MODEL_RMS_NORM_BACKWARD_HPP_
