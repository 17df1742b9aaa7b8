// Defines codes whose roots are hard to round.

#ifndef ZEROULP_CONFORMANCE_CASES_HARD_ROOTS_HPP_
#define ZEROULP_CONFORMANCE_CASES_HARD_ROOTS_HPP_

#include <cstdint>
#include <vector>

#include "zeroulp/core/format.hpp"

namespace zeroulp::conformance {

/// Returns codes whose roots are nearer to a number or a midpoint than twice
/// the precision tells: x * 2^s = q^2 + d for small d. `count`: how many d are
/// tried.
std::vector<std::uint64_t> hard_roots(format f, int count);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CASES_HARD_ROOTS_HPP_
