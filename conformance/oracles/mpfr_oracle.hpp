// Defines the oracle of conversions and arithmetic, by GMP and MPFR. It shares
// no code with the core: of `format` it reads the four fields only.
//
//   decode(format, code) -> exact value           GMP integers
//   evaluate(operation, a, b, c) -> exact value   a root stays a radicand
//   place(format, value) -> neighbours            exact, by integer division
//   finish(format, place, rounder, policy)        the SPEC's rules, in its
//   order mpfr_compute(...)                          MPFR's own rounding: a
//   second
//                                                 oracle, for ieee formats
//
// Source: SPEC clauses F, R, C and A.

#ifndef ZEROULP_CONFORMANCE_ORACLES_MPFR_ORACLE_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_MPFR_ORACLE_HPP_

#include <gmpxx.h>

#include <cstdint>

#include "conformance/oracles/format_layout.hpp"
#include "zeroulp/core/convert.hpp"

namespace zeroulp::oracle {

enum class value_class : std::uint8_t { number, infinite, nan };

/// (-1)^negative * numerator / denominator * 2^exponent, or the square root of
/// that. A number is zero iff the numerator is.
struct exact {
  value_class what = value_class::number;
  bool negative = false;
  bool root = false;
  long exponent = 0;
  mpz_class numerator{0};
  mpz_class denominator{1};

  bool is_zero() const { return what == value_class::number && numerator == 0; }
};

/// Returns the value of `code`. The numerator is the significand with the
/// format's place for every bit (F5).
exact value_of(format f, std::uint64_t code);

/// Returns the value of a code below the sign, continued beyond the largest
/// (R8).
exact continued(format f, std::uint64_t magnitude);

/// Returns the exact midpoint between a code below the sign and the next.
exact midpoint(format f, std::uint64_t magnitude);

enum class function : std::uint8_t {
  add,
  subtract,
  multiply,
  fma,
  divide,
  square_root,
};

/// Returns the exact result; the mode decides the sign of an exact zero sum
/// (A4). Operands must not be roots or quotients.
exact evaluate(function op, const exact& a, const exact& b, const exact& c,
               rounding mode);

/// Where a value lies among the codes of a format.
struct placed {
  value_class what;
  bool negative;
  bool zero;
  /// A `scale` format has no code at or below the value.
  bool below_all;
  /// The next code toward zero, below the sign, continued beyond the largest.
  std::uint64_t below;
  /// floor(d * 2^32), d the distance to `below` in units of the gap.
  std::uint32_t fraction;
  /// d * 2^32 is not an integer.
  bool rest;
};
placed place(format f, const exact& x);

/// Returns the code to which a placed value goes.
std::uint64_t finish(format f, const placed& x, rounder r, policy p);

/// Returns `code` of `from` rounded once to `to`.
std::uint64_t convert(format from, std::uint64_t code, format to, rounder r,
                      policy p);

/// Returns the rounded result of an operation on codes under cuda_nosat (A1).
std::uint64_t compute(function op, format f, std::uint64_t a, std::uint64_t b,
                      std::uint64_t c, rounder r);

/// Returns true iff MPFR itself can round so: an ieee format, and nearest_even,
/// toward_zero, up or down.
bool mpfr_rounds(format f, rounding mode);

/// As `compute`, by MPFR's own functions, exponent range and subnormals.
/// Requires mpfr_rounds(f, mode).
std::uint64_t mpfr_compute(function op, format f, std::uint64_t a,
                           std::uint64_t b, std::uint64_t c, rounding mode);

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_MPFR_ORACLE_HPP_
