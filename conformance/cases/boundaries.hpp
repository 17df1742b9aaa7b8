// Defines where conversions and operations go wrong: for a pair of formats the
// source codes at and around every code and every midpoint of the target, and
// the codes that every format has trouble with.
//
// Source: SPEC clauses R and C. The values come from the oracle, never from the
// core.

#ifndef ZEROULP_CONFORMANCE_CASES_BOUNDARIES_HPP_
#define ZEROULP_CONFORMANCE_CASES_BOUNDARIES_HPP_

#include <cstdint>
#include <vector>

#include "zeroulp/core/format.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance {

/// The named formats of at most `bits` bits.
std::vector<named_format> named_formats_up_to(int bits);

/// Formats that nobody named: every kind of specials, no fraction, one exponent
/// bit, odd biases.
std::vector<format> what_if_formats();

/// Both zeros, the ends of the subnormals and of the normals, neighbours of 1
/// and of 2, the largest, Inf, NaN with several payloads; both signs; no code
/// twice.
std::vector<std::uint64_t> special_codes(format f);

/// Codes of `from` around the values and midpoints of `to`: where one is no
/// code of `from`, the codes on both sides; else that code and one more on
/// either side; both signs. Of `to`, every `stride`-th code, and every one near
/// zero, near the smallest normal number and near and beyond the largest.
std::vector<std::uint64_t> boundary_codes(format from, format to,
                                          std::uint64_t stride);

/// Returns a code of `f`: any bits, few significand bits, or an exponent near
/// an end of the range.
std::uint64_t random_code(format f, counter_rng& rng);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CASES_BOUNDARIES_HPP_
