// Defines the loss of a row of logits, -log(softmax(z)[y]), and its gradient.
//
// Templates over arithmetics `A` (elementary.hpp) and `D`
// (elementary_fp64.hpp); elements of a row are adjacent. Source: SPEC clause
// N15.

#ifndef ZEROULP_CORE_MODEL_CROSS_ENTROPY_HPP_
#define ZEROULP_CORE_MODEL_CROSS_ENTROPY_HPP_

#include "zeroulp/core/model/elementary_fp64.hpp"
#include "zeroulp/core/model/row_sums.hpp"
#include "zeroulp/core/view.hpp"

namespace zeroulp {

struct cross_entropy_rows {
  matrix_view<const std::uint32_t> logits;  ///< m x n, FP32
  matrix_view<const std::int32_t> targets;  ///< m x 1: 0 .. n - 1, -1: none
  std::uint32_t factor;                     ///< of the gradient, FP32 bits
  matrix_view<std::uint32_t> losses;        ///< m x 1, FP32
  matrix_view<std::uint16_t> dlogits;       ///< m x n, BF16, or no data
  matrix_view<std::uint32_t> work;          ///< m x n
};

/// The losses and gradients of rows [begin, end).
template <class A, class D>
ZEROULP_HD constexpr void cross_entropy(const cross_entropy_rows& t,
                                        std::ptrdiff_t begin,
                                        std::ptrdiff_t end) {
  const std::ptrdiff_t n = t.logits.cols;
  const auto one = A::from_bits(fp32_one);
  const auto factor = A::from_bits(t.factor);
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    const std::uint32_t* const logits = t.logits.data + i * t.logits.row_stride;
    std::uint32_t* const u = t.work.data + i * t.work.row_stride;
    std::uint16_t* const dz = t.dlogits.data + i * t.dlogits.row_stride;
    const std::ptrdiff_t target = t.targets(i, 0);
    if (target < 0) {
      t.losses(i, 0) = 0;
      for (std::ptrdiff_t j = 0; t.dlogits.data != nullptr && j < n; ++j) {
        dz[j] = 0;
      }
      continue;
    }
    const auto z = [logits](std::ptrdiff_t j) {
      return A::from_bits(logits[j]);
    };
    const auto [largest, sum] = exponentials_of_row<A>(n, z, u);
    t.losses(i, 0) = A::bits(A::subtract(A::from_bits(log<D>(A::bits(sum))),
                                         A::subtract(z(target), largest)));
    if (t.dlogits.data == nullptr) continue;
    const auto inverse = A::divide(one, sum);
    const auto share = [u, inverse](std::ptrdiff_t j) {
      return A::multiply(A::from_bits(u[j]), inverse);
    };
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      dz[j] = bf16_code<A>(A::multiply(share(j), factor));
    }
    dz[target] =
        bf16_code<A>(A::multiply(A::subtract(share(target), one), factor));
  }
}

/// The rows of one range of a sum of losses.
inline constexpr std::ptrdiff_t loss_range = 1024;

/// Returns the sum of losses (m x 1, FP32).
template <class D>
ZEROULP_HD constexpr typename D::number sum_of_losses(
    matrix_view<const std::uint32_t> losses) {
  auto total = D::from_bits(0);
  for (std::ptrdiff_t first = 0; first < losses.rows; first += loss_range) {
    const std::ptrdiff_t rest = losses.rows - first;
    auto p = D::from_bits(0);
    for (std::ptrdiff_t i = 0; i < (rest < loss_range ? rest : loss_range);
         ++i) {
      p = D::add(p, D::widen(losses(first + i, 0)));
    }
    total = D::add(total, p);
  }
  return total;
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_MODEL_CROSS_ENTROPY_HPP_
