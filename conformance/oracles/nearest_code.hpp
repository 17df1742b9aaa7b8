// Defines codes as an oracle sees them: the value of a code by clauses F1 to
// F3, and the code nearest to x / scale by comparison with exact midpoints.
//
//   c is right  iff  mid(c - 1) * scale <= |x| <= mid(c) * scale, ties even
//
// Every product here is exact in FP64: a midpoint has at most 25 bits, a scale
// 24. No quotient decides anything, so there is no rounding to get wrong.
// Source: SPEC clauses F1 to F4, R1, R8, C1 to C7. Left out: FP64 codes.

#ifndef ZEROULP_CONFORMANCE_ORACLES_NEAREST_CODE_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_NEAREST_CODE_HPP_

#include <cstdint>

#include "zeroulp/core/convert.hpp"
#include "zeroulp/core/format.hpp"

namespace zeroulp::oracle {

/// The largest finite code (below the sign) of `f`.
std::uint64_t largest_code(format f);

/// The bit of the sign in a code of `f`; 0 if it has none.
std::uint64_t sign_bit(format f);

/// The value of a magnitude code; beyond the largest, the codes are continued
/// as if `f` had no specials (R8).
double magnitude_value(format f, std::uint64_t magnitude);

/// The value of a code: finite, signed zero, Inf or NaN (with its sign).
double code_value(format f, std::uint64_t code);

/// Returns the code of x / scale rounded once, nearest-even. `x` is any number
/// of at most 49 bits, Inf or NaN; `scale` is positive, finite, of 24 bits.
std::uint64_t nearest_code(format f, double x, double scale, policy p);

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_NEAREST_CODE_HPP_
