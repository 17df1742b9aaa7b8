// Defines when an agreement is a finding: when it is far above the agreement by
// chance.
//
// Chance is measured on the data, with plausible definitions that did not make
// them (gemm_control.hpp, quantizer_control.cpp).

#ifndef ZEROULP_FUZZ_IDENTIFY_CHANCE_HPP_
#define ZEROULP_FUZZ_IDENTIFY_CHANCE_HPP_

#include <cmath>
#include <cstdint>

namespace zeroulp::fuzz {

/// How many of `count` agree.
struct agreement {
  std::uint64_t agree = 0;
  std::uint64_t count = 0;

  std::uint64_t differ() const { return count - agree; }
  double share() const {
    return count == 0 ? 0
                      : static_cast<double>(agree) / static_cast<double>(count);
  }
};

/// Returns x log(x / y) + (1 - x) log((1 - x) / (1 - y)), for 0 < y < 1: how
/// surprising a share of x is where y is expected.
inline double divergence(double x, double y) {
  const auto term = [](double p, double q) {
    return p > 0 ? p * std::log(p / q) : 0;
  };
  return term(x, y) + term(1 - x, 1 - y);
}

/// Returns true iff `found` is at least `way` of the way from `chance` to full
/// agreement.
inline bool is_above(const agreement& found, const agreement& chance,
                     double way = 0.5) {
  return found.share() >= chance.share() + way * (1 - chance.share());
}

/// Returns true iff is_above() holds, and chance alone is unlikely: the best of
/// `tried` reaches `found` in fewer than one of twenty searches (Chernoff's
/// bound).
inline bool is_far_above(const agreement& found, const agreement& chance,
                         std::uint64_t tried, double way = 0.5) {
  const double expected = (static_cast<double>(chance.agree) + 1) /
                          (static_cast<double>(chance.count) + 2);
  const double surprise =
      static_cast<double>(found.count) * divergence(found.share(), expected);
  return is_above(found, chance, way) && found.share() > expected &&
         surprise >= std::log(20 * static_cast<double>(tried));
}

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_CHANCE_HPP_
