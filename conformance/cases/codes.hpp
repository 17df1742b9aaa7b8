// Defines formats to try, and the codes that every format has trouble with.

#ifndef ZEROULP_CONFORMANCE_CASES_CODES_HPP_
#define ZEROULP_CONFORMANCE_CASES_CODES_HPP_

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

/// Returns a code of `f`: any bits, few significand bits, or an exponent near
/// an end of the range.
std::uint64_t random_code(format f, counter_rng& rng);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CASES_CODES_HPP_
