// Defines what the lightning indexer of sparse attention does after its
// products: logits from the scores of heads, and the keys with the largest
// ones.
//
//   I(t, s) = k_scale(s) sum over heads of w(t, h) q_scale(t, h)
//             max(q(t, h) k(s), 0)
//
// Templates over an arithmetic `A` (elementary.hpp); elements of a row are
// adjacent. Source: SPEC clause N30; DeepSeek-V3.2-Exp's report, 2.1.

#ifndef ZEROULP_CORE_MODEL_INDEXER_HPP_
#define ZEROULP_CORE_MODEL_INDEXER_HPP_

#include "zeroulp/core/model/router.hpp"

namespace zeroulp {

/// One query: n keys, of which it sees the first ones.
struct indexer_query {
  matrix_view<const std::uint32_t> products;    ///< heads x n, FP32
  const std::uint32_t* weights;                 ///< of heads, FP32
  const std::uint32_t* scales;                  ///< of the heads' codes, FP32
  matrix_view<const std::uint32_t> key_scales;  ///< n x 1, FP32
  std::ptrdiff_t seen;
  std::uint32_t* logits;  ///< n; -Inf from `seen` on
};

template <class A>
ZEROULP_HD constexpr void indexer_logits(const indexer_query& t) {
  const std::ptrdiff_t heads = t.products.rows;
  const std::ptrdiff_t n = t.products.cols;
  for (std::ptrdiff_t s = 0; s < t.seen; ++s) {
    auto sum = A::from_bits(0);
    for (std::ptrdiff_t h = 0; h < heads; ++h) {
      const std::uint32_t product = t.products(h, s);
      // What is negative, -0 and -Inf among it, is +0; NaN stays.
      const bool negative = product >= 0x80000000u && product <= 0xff800000u;
      const auto weight =
          A::multiply(A::from_bits(t.weights[h]), A::from_bits(t.scales[h]));
      sum = A::fma(A::from_bits(negative ? 0 : product), weight, sum);
    }
    t.logits[s] = A::bits(A::multiply(sum, A::from_bits(t.key_scales(s, 0))));
  }
  for (std::ptrdiff_t s = t.seen; s < n; ++s) t.logits[s] = 0xff800000u;
}

/// Chooses the `top` largest of n logits: equal ones (+0 and -0 are) by the
/// lower index, NaN after all numbers. Writes their indices, ascending, then -1
/// where there are fewer than `top`. Returns how many that are not chosen equal
/// the least chosen one: what a tie decided.
ZEROULP_HD constexpr std::int32_t largest_keys(const std::uint32_t* logits,
                                               std::ptrdiff_t n,
                                               std::ptrdiff_t top,
                                               std::int32_t* chosen) {
  std::ptrdiff_t count = 0;
  if (n <= top) {
    for (std::ptrdiff_t s = 0; s < top; ++s) {
      chosen[s] = s < n ? static_cast<std::int32_t>(s) : -1;
    }
    return 0;
  }
  // The largest rank that `top` logits reach, bit by bit.
  std::uint32_t least = 0;
  for (std::uint32_t bit = 0x80000000u; bit != 0; bit >>= 1) {
    std::ptrdiff_t reached = 0;
    for (std::ptrdiff_t s = 0; s < n; ++s) {
      if (detail::rank_of(logits[s]) >= (least | bit)) ++reached;
    }
    if (reached >= top) least |= bit;
  }
  std::ptrdiff_t above = 0;
  std::ptrdiff_t equal = 0;
  for (std::ptrdiff_t s = 0; s < n; ++s) {
    const std::uint32_t rank = detail::rank_of(logits[s]);
    if (rank > least) ++above;
    if (rank == least) ++equal;
  }
  // So many of those that equal the least: the first ones.
  std::ptrdiff_t open = top - above;
  for (std::ptrdiff_t s = 0; s < n; ++s) {
    const std::uint32_t rank = detail::rank_of(logits[s]);
    if (rank < least || (rank == least && open == 0)) continue;
    if (rank == least) --open;
    chosen[count] = static_cast<std::int32_t>(s);
    ++count;
  }
  return static_cast<std::int32_t>(equal - (top - above));
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_MODEL_INDEXER_HPP_
