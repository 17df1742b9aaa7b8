// Defines operands on which a wrong rounding, alignment or sticky bit shows: by
// chance they never come up.

#ifndef ZEROULP_CONFORMANCE_CASES_HARD_OPERANDS_HPP_
#define ZEROULP_CONFORMANCE_CASES_HARD_OPERANDS_HPP_

#include <cstdint>
#include <vector>

#include "zeroulp/core/format.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance {

struct operands {
  std::uint64_t a;
  std::uint64_t b;
  std::uint64_t c;
};

/// Returns operands of one of these families: any, cancellation, sums and
/// products with bits around the last place or an end of the range, addends
/// that cancel a product, quotients near a midpoint, products with long runs of
/// ones, specials.
operands random_operands(format f, counter_rng& rng);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CASES_HARD_OPERANDS_HPP_
