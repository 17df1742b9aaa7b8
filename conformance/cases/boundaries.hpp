// Defines where conversions go wrong: for a pair of formats the source codes at
// and around every code and every midpoint of the target.
//
// Source: SPEC clauses R and C. The values come from the oracle, never from the
// core.

#ifndef ZEROULP_CONFORMANCE_CASES_BOUNDARIES_HPP_
#define ZEROULP_CONFORMANCE_CASES_BOUNDARIES_HPP_

#include <cstdint>
#include <vector>

#include "conformance/cases/codes.hpp"

namespace zeroulp::conformance {

/// Codes of `from` around the values and midpoints of `to`: where one is no
/// code of `from`, the codes on both sides; else that code and one more on
/// either side; both signs. Of `to`, every `stride`-th code, and every one near
/// zero, near the smallest normal number and near and beyond the largest.
std::vector<std::uint64_t> boundary_codes(format from, format to,
                                          std::uint64_t stride);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CASES_BOUNDARIES_HPP_
