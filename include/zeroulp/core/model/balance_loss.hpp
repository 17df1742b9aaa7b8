// Defines the balance loss of a sequence and its gradient: a small penalty for
// experts that are chosen often and have large scores.
//
//   L = alpha sum of f P    f = slots of an expert e / (top T)
//                           P = mean over T tokens of s / sum(s)
//
// Templates over an arithmetic `A` (elementary.hpp); elements of a row are
// adjacent. Source: SPEC clause N25; DeepSeek-V3's report, eq. 17 to 20.

#ifndef ZEROULP_CORE_MODEL_BALANCE_LOSS_HPP_
#define ZEROULP_CORE_MODEL_BALANCE_LOSS_HPP_

#include "zeroulp/core/model/router.hpp"

namespace zeroulp {

/// m tokens in sequences of `length`; e experts.
struct balance_rows {
  router_score score;                       ///< what made the scores of logits
  std::ptrdiff_t length;                    ///< m is a multiple
  std::uint32_t alpha;                      ///< FP32 bits
  matrix_view<const std::uint32_t> scores;  ///< m x e, FP32, of route
  matrix_view<const std::int32_t> experts;  ///< m x top
  matrix_view<std::uint32_t> losses;        ///< m / length x 1, FP32
  matrix_view<std::uint32_t> dlogits;       ///< m x e, FP32, or no data
  matrix_view<std::uint32_t> work;          ///< a row of 4 e a sequence
};

namespace detail {

/// The shares of a token's n scores in their sum, which is returned.
template <class A>
ZEROULP_HD constexpr typename A::number shares_of_scores(
    const std::uint32_t* scores, std::ptrdiff_t n, std::uint32_t* shares) {
  const auto sum =
      row_sum<A>(n, [scores](typename A::number p, std::ptrdiff_t j) {
        return A::add(p, A::from_bits(scores[j]));
      });
  for (std::ptrdiff_t e = 0; e < n; ++e) {
    shares[e] = A::bits(A::divide(A::from_bits(scores[e]), sum));
  }
  return sum;
}

/// The gradient of one token's logits. `factors` are those of its shares.
template <class A>
ZEROULP_HD constexpr void balance_gradient(router_score score,
                                           const std::uint32_t* scores,
                                           const std::uint32_t* factors,
                                           std::ptrdiff_t n,
                                           std::uint32_t* shares,
                                           std::uint32_t* dz) {
  const auto sum = shares_of_scores<A>(scores, n, shares);
  const auto at = [](const std::uint32_t* x) {
    return [x](std::ptrdiff_t j) { return A::from_bits(x[j]); };
  };
  const auto along = row_dot<A>(n, at(factors), at(shares));
  for (std::ptrdiff_t e = 0; e < n; ++e) {
    dz[e] =
        A::bits(A::divide(A::subtract(A::from_bits(factors[e]), along), sum));
  }
  if (score == router_score::sigmoid) {
    for (std::ptrdiff_t e = 0; e < n; ++e) {
      const auto s = A::from_bits(scores[e]);
      dz[e] = A::bits(A::multiply(A::multiply(A::from_bits(dz[e]), s),
                                  A::subtract(A::from_bits(fp32_one), s)));
    }
    return;
  }
  const auto mean = row_dot<A>(n, at(dz), at(scores));
  for (std::ptrdiff_t e = 0; e < n; ++e) {
    dz[e] = A::bits(A::multiply(A::from_bits(scores[e]),
                                A::subtract(A::from_bits(dz[e]), mean)));
  }
}

}  // namespace detail

/// Losses, and gradients of the logits, of sequences [begin, end).
template <class A>
ZEROULP_HD constexpr void balance_loss(const balance_rows& t,
                                       std::ptrdiff_t begin,
                                       std::ptrdiff_t end) {
  const std::ptrdiff_t n = t.scores.cols;
  const std::ptrdiff_t top = t.experts.cols;
  const auto number = [](std::ptrdiff_t count) {
    return A::from_bits(count_as_fp32(count));
  };
  for (std::ptrdiff_t s = begin; s < end; ++s) {
    const std::ptrdiff_t first = s * t.length;
    std::uint32_t* const shares = t.work.data + s * t.work.row_stride;
    std::uint32_t* const f = shares + n;
    std::uint32_t* const range = f + n;
    std::uint32_t* const mean = range + n;
    for (std::ptrdiff_t e = 0; e < n; ++e) f[e] = mean[e] = range[e] = 0;
    // Counts first.
    for (std::ptrdiff_t i = first; i < first + t.length; ++i) {
      for (std::ptrdiff_t k = 0; k < top; ++k) ++f[t.experts(i, k)];
    }
    for (std::ptrdiff_t e = 0; e < n; ++e) {
      f[e] = A::bits(
          A::divide(number(std::ptrdiff_t{f[e]} * n), number(top * t.length)));
    }
    for (std::ptrdiff_t i = 0; i < t.length; ++i) {
      const auto* const row = t.scores.data + (first + i) * t.scores.row_stride;
      detail::shares_of_scores<A>(row, n, shares);
      const bool ends = (i + 1) % token_range == 0 || i + 1 == t.length;
      for (std::ptrdiff_t e = 0; e < n; ++e) {
        const auto p = A::add(A::from_bits(range[e]), A::from_bits(shares[e]));
        range[e] = ends ? 0 : A::bits(p);
        if (ends) mean[e] = A::bits(A::add(A::from_bits(mean[e]), p));
      }
    }
    const auto tokens = number(t.length);
    for (std::ptrdiff_t e = 0; e < n; ++e) {
      mean[e] = A::bits(A::divide(A::from_bits(mean[e]), tokens));
    }
    const auto alpha = A::from_bits(t.alpha);
    t.losses(s, 0) = A::bits(A::multiply(
        alpha,
        row_dot<A>(
            n, [f](std::ptrdiff_t j) { return A::from_bits(f[j]); },
            [mean](std::ptrdiff_t j) { return A::from_bits(mean[j]); })));
    if (t.dlogits.data == nullptr) continue;
    for (std::ptrdiff_t e = 0; e < n; ++e) {
      f[e] = A::bits(A::divide(A::multiply(alpha, A::from_bits(f[e])), tokens));
    }
    for (std::ptrdiff_t i = first; i < first + t.length; ++i) {
      detail::balance_gradient<A>(
          t.score, t.scores.data + i * t.scores.row_stride, f, n, shares,
          t.dlogits.data + i * t.dlogits.row_stride);
    }
  }
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_MODEL_BALANCE_LOSS_HPP_
