// Defines the router of a mixture of experts: scores, the choice of experts
// under a total order, weights, and the backward pass.
//
// DeepSeek-V3's is sigmoid scores, a bias for the choice alone, groups (nodes)
// by the sum of their two best, weights normalized; V2's is softmax and groups
// by their best. Templates over an arithmetic `A` (elementary.hpp); elements of
// a row are adjacent. Source: SPEC clauses N8 to N12.

#ifndef ZEROULP_CORE_MODEL_ROUTER_HPP_
#define ZEROULP_CORE_MODEL_ROUTER_HPP_

#include "zeroulp/core/model/row_sums.hpp"
#include "zeroulp/core/view.hpp"

namespace zeroulp {

enum class router_score : std::uint8_t { sigmoid, softmax };
enum class group_score : std::uint8_t { top2_sum, max };

/// A router as a value.
struct router {
  router_score score = router_score::sigmoid;
  std::ptrdiff_t top = 1;     ///< slots of a token
  std::ptrdiff_t groups = 1;  ///< of experts, as many in each
  std::ptrdiff_t kept = 1;    ///< groups that a token may choose from
  group_score of_group = group_score::top2_sum;
  bool normalized = true;          ///< weights: shares of the slots' scores
  std::uint32_t scale = fp32_one;  ///< of the weights, FP32 bits
};

/// Returns true iff `r` can route to so many experts.
ZEROULP_HD constexpr bool is_valid(const router& r, std::ptrdiff_t experts) {
  return experts > 0 && r.top > 0 && r.groups > 0 && experts % r.groups == 0 &&
         r.kept > 0 && r.kept <= r.groups &&
         r.top <= experts / r.groups * r.kept;
}

/// Forward: logits of m tokens; e experts.
struct routing {
  matrix_view<const std::uint32_t> logits;  ///< m x e, FP32
  matrix_view<const std::uint32_t> bias;    ///< 1 x e, FP32, or no data
  matrix_view<std::uint32_t> scores;        ///< m x e, FP32
  matrix_view<std::int32_t> experts;        ///< m x top
  matrix_view<std::uint32_t> weights;       ///< m x top, FP32
  /// Room for a token's choice: blocks of e and of groups.
  matrix_view<std::uint32_t> work;
};

namespace detail {

/// The place of a number in the order of N9, larger first: NaNs are 0, zeros
/// alike.
ZEROULP_HD constexpr std::uint32_t rank_of(std::uint32_t b) {
  if ((b & 0x7fffffffu) > 0x7f800000u) return 0;
  if ((b << 1) == 0) b = 0;
  return (b & 0x80000000u) != 0 ? ~b : b | 0x80000000u;
}

/// Returns the first of n indices that `open` has and whose rank is largest; -1
/// if there is none.
template <class Rank, class Open>
ZEROULP_HD constexpr std::ptrdiff_t first_of(std::ptrdiff_t begin,
                                             std::ptrdiff_t end,
                                             const Rank& rank,
                                             const Open& open) {
  std::ptrdiff_t best = -1;
  std::uint32_t best_rank = 0;
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    if (!open(i)) continue;
    const std::uint32_t r = rank(i);
    if (best >= 0 && r <= best_rank) continue;
    best = i;
    best_rank = r;
  }
  return best;
}

/// The scores of a token's n experts.
template <class A>
ZEROULP_HD constexpr void router_scores(router_score how,
                                        const std::uint32_t* logits,
                                        std::ptrdiff_t n,
                                        std::uint32_t* scores) {
  if (how == router_score::sigmoid) {
    for (std::ptrdiff_t e = 0; e < n; ++e) {
      scores[e] = A::bits(sigmoid<A>(A::from_bits(logits[e])));
    }
    return;
  }
  const auto z = [logits](std::ptrdiff_t e) { return A::from_bits(logits[e]); };
  const auto sum = exponentials_of_row<A>(n, z, scores).sum;
  const auto inverse = A::divide(A::from_bits(fp32_one), sum);
  for (std::ptrdiff_t e = 0; e < n; ++e) {
    scores[e] = A::bits(A::multiply(A::from_bits(scores[e]), inverse));
  }
}

/// The chain of additions of the chosen experts' scores, or 1.
template <class A>
ZEROULP_HD constexpr typename A::number chosen_sum(const router& r,
                                                   const std::uint32_t* scores,
                                                   const std::int32_t* chosen) {
  auto sum = A::from_bits(0);
  for (std::ptrdiff_t k = 0; k < r.top; ++k) {
    sum = A::add(sum, A::from_bits(scores[chosen[k]]));
  }
  return sum;
}

}  // namespace detail

/// Scores, experts and weights of tokens [begin, end).
template <class A>
ZEROULP_HD constexpr void route(const router& r, const routing& t,
                                std::ptrdiff_t begin, std::ptrdiff_t end) {
  const std::ptrdiff_t n = t.logits.cols;
  const std::ptrdiff_t each = n / r.groups;
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    std::uint32_t* const scores = t.scores.data + i * t.scores.row_stride;
    std::int32_t* const chosen = t.experts.data + i * t.experts.row_stride;
    std::uint32_t* const weights = t.weights.data + i * t.weights.row_stride;
    std::uint32_t* const biased = t.work.data + i * t.work.row_stride;
    std::uint32_t* const open_group = biased + n;
    detail::router_scores<A>(r.score, t.logits.data + i * t.logits.row_stride,
                             n, scores);
    for (std::ptrdiff_t e = 0; e < n; ++e) {
      biased[e] = t.bias.data == nullptr
                      ? scores[e]
                      : A::bits(A::add(A::from_bits(scores[e]),
                                       A::from_bits(t.bias.data[e])));
    }
    const auto rank = [biased](std::ptrdiff_t e) {
      return detail::rank_of(biased[e]);
    };
    // Ranks of groups, then 1 for those that are kept.
    for (std::ptrdiff_t g = 0; g < r.groups; ++g) {
      const std::ptrdiff_t from = g * each;
      const auto any = [](std::ptrdiff_t) { return true; };
      const std::ptrdiff_t best =
          detail::first_of(from, from + each, rank, any);
      const std::ptrdiff_t next =
          detail::first_of(from, from + each, rank,
                           [best](std::ptrdiff_t e) { return e != best; });
      open_group[g] =
          detail::rank_of(r.of_group == group_score::max || next < 0
                              ? biased[best]
                              : A::bits(A::add(A::from_bits(biased[best]),
                                               A::from_bits(biased[next]))));
    }
    // A kept group has rank 0xffffffff, which no number has.
    constexpr std::uint32_t kept = 0xffffffff;
    for (std::ptrdiff_t k = 0; k < r.kept; ++k) {
      const std::ptrdiff_t g = detail::first_of(
          0, r.groups, [open_group](std::ptrdiff_t j) { return open_group[j]; },
          [&](std::ptrdiff_t j) { return open_group[j] != kept; });
      open_group[g] = kept;
    }
    for (std::ptrdiff_t k = 0; k < r.top; ++k) {
      const auto open = [&](std::ptrdiff_t e) {
        bool taken = open_group[e / each] != kept;
        for (std::ptrdiff_t s = 0; s < k; ++s) taken = taken || chosen[s] == e;
        return !taken;
      };
      chosen[k] = static_cast<std::int32_t>(detail::first_of(0, n, rank, open));
    }
    const auto sum = detail::chosen_sum<A>(r, scores, chosen);
    for (std::ptrdiff_t k = 0; k < r.top; ++k) {
      auto share = A::from_bits(scores[chosen[k]]);
      if (r.normalized) share = A::divide(share, sum);
      weights[k] = A::bits(A::multiply(share, A::from_bits(r.scale)));
    }
  }
}

/// Backward: from the gradients of the weights.
struct routing_gradients {
  matrix_view<const std::uint32_t> scores;    ///< m x e, FP32, of route
  matrix_view<const std::int32_t> experts;    ///< m x top, of route
  matrix_view<const std::uint32_t> dweights;  ///< m x top, FP32
  matrix_view<std::uint32_t> dlogits;         ///< m x e, FP32
};

/// dlogits of tokens [begin, end).
template <class A>
ZEROULP_HD constexpr void route_backward(const router& r,
                                         const routing_gradients& t,
                                         std::ptrdiff_t begin,
                                         std::ptrdiff_t end) {
  const std::ptrdiff_t n = t.scores.cols;
  const auto scale = A::from_bits(r.scale);
  const auto zero = A::from_bits(0);
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    const std::uint32_t* const scores = t.scores.data + i * t.scores.row_stride;
    const std::int32_t* const chosen =
        t.experts.data + i * t.experts.row_stride;
    const std::uint32_t* const h = t.dweights.data + i * t.dweights.row_stride;
    std::uint32_t* const dz = t.dlogits.data + i * t.dlogits.row_stride;
    const auto score = [scores](std::ptrdiff_t e) {
      return A::from_bits(scores[e]);
    };
    const auto upstream = [h, scale](std::ptrdiff_t k) {
      return A::multiply(A::from_bits(h[k]), scale);
    };
    const auto sum = detail::chosen_sum<A>(r, scores, chosen);
    auto along = zero;
    for (std::ptrdiff_t k = 0; r.normalized && k < r.top; ++k) {
      along = A::fma(upstream(k), A::divide(score(chosen[k]), sum), along);
    }
    // The gradient of a slot's score.
    const auto slope = [&](std::ptrdiff_t k) {
      return r.normalized ? A::divide(A::subtract(upstream(k), along), sum)
                          : upstream(k);
    };
    if (r.score == router_score::sigmoid) {
      for (std::ptrdiff_t e = 0; e < n; ++e) dz[e] = 0;
      for (std::ptrdiff_t k = 0; k < r.top; ++k) {
        const auto s = score(chosen[k]);
        dz[chosen[k]] = A::bits(A::multiply(
            A::multiply(slope(k), s), A::subtract(A::from_bits(fp32_one), s)));
      }
      continue;
    }
    auto mean = zero;
    for (std::ptrdiff_t k = 0; k < r.top; ++k) {
      mean = A::fma(slope(k), score(chosen[k]), mean);
    }
    for (std::ptrdiff_t e = 0; e < n; ++e) {
      dz[e] = A::bits(A::multiply(score(e), A::subtract(zero, mean)));
    }
    for (std::ptrdiff_t k = 0; k < r.top; ++k) {
      dz[chosen[k]] =
          A::bits(A::multiply(score(chosen[k]), A::subtract(slope(k), mean)));
    }
  }
}

/// Returns the bias of an expert after a step in which it had `count` of
/// `slots` slots, FP32 bits.
ZEROULP_HD constexpr std::uint32_t updated_bias(std::uint32_t bias,
                                                std::uint32_t speed,
                                                std::int64_t count,
                                                std::int64_t experts,
                                                std::int64_t slots) {
  const std::int64_t excess = count * experts - slots;
  if (excess == 0) return bias;
  return static_cast<std::uint32_t>(excess > 0 ? subtract(fp32, bias, speed)
                                               : add(fp32, bias, speed));
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_MODEL_ROUTER_HPP_
