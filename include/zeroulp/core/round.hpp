// Defines rounding: the ONE place where the library discards bits.
//
//   round_shift(s, n, ...) = s / 2^n rounded to an integer
//
// Source: IEEE 754 clause 4.3; SPEC clauses R1 to R8. Left out: overflow, which
// belongs to the format (convert.hpp).

#ifndef ZEROULP_CORE_ROUND_HPP_
#define ZEROULP_CORE_ROUND_HPP_

#include "zeroulp/core/wide.hpp"

namespace zeroulp {

enum class rounding : std::uint8_t {
  nearest_even,
  nearest_away,
  toward_zero,
  up,          ///< toward +infinity
  down,        ///< toward -infinity
  to_odd,      ///< inexact results get the odd neighbour
  stochastic,  ///< away iff floor(discarded fraction * 2^32) + random >= 2^32
};

/// How to round: a mode, and the 32 random bits that `stochastic` consumes.
struct rounder {
  rounding mode = rounding::nearest_even;
  std::uint32_t random = 0;
};

struct named_rounding {
  const char* name;
  rounding value;
};

inline constexpr named_rounding named_roundings[] = {
    {"nearest_even", rounding::nearest_even},
    {"nearest_away", rounding::nearest_away},
    {"toward_zero", rounding::toward_zero},
    {"up", rounding::up},
    {"down", rounding::down},
    {"to_odd", rounding::to_odd},
    {"stochastic", rounding::stochastic},
};

/// Returns true iff a magnitude that was cut below bit `shift` of `x` must grow
/// by one unit there. `odd`: the kept part is odd; `negative`: of the value.
template <class Significand>
ZEROULP_HD constexpr bool rounds_away(const Significand& x, int shift, bool odd,
                                      bool negative, rounder r) {
  if (r.mode == rounding::toward_zero || shift <= 0) return false;
  const bool half = (extract(x, shift - 1) & 1) != 0;
  const bool rest = any_below(x, shift - 1);
  switch (r.mode) {
    case rounding::nearest_even:
      return half && (rest || odd);
    case rounding::nearest_away:
      return half;
    case rounding::up:
      return (half || rest) && !negative;
    case rounding::down:
      return (half || rest) && negative;
    case rounding::to_odd:
      return (half || rest) && !odd;
    case rounding::stochastic: {
      const std::uint64_t fraction = extract(x, shift - 32) & low_bits(32);
      return fraction + r.random > low_bits(32);
    }
    case rounding::toward_zero:
      break;
  }
  return false;
}

/// Returns the magnitude `x` / 2^`shift` rounded to an integer, which must fit
/// in 64 bits; a negative shift multiplies.
template <class Significand>
ZEROULP_HD constexpr std::uint64_t round_shift(const Significand& x, int shift,
                                               bool negative, rounder r) {
  const std::uint64_t kept = extract(x, shift);
  return kept + (rounds_away(x, shift, (kept & 1) != 0, negative, r) ? 1 : 0);
}

/// Returns true iff `mode` never moves a value of this sign away from zero, so
/// that a finite overflow gives the largest finite number.
ZEROULP_HD constexpr bool rounds_inward(rounding mode, bool negative) {
  return mode == rounding::toward_zero || mode == rounding::to_odd ||
         mode == (negative ? rounding::up : rounding::down);
}

static_assert(round_shift(std::uint64_t{6}, 2, false, {}) == 2);
static_assert(round_shift(std::uint64_t{10}, 2, false, {}) == 2);
static_assert(round_shift(std::uint64_t{6}, 2, true, {rounding::down}) == 2);
static_assert(round_shift(std::uint64_t{4}, 3, false,
                          {rounding::stochastic, 0x80000000u}) == 1);
static_assert(round_shift(std::uint64_t{4}, 3, false,
                          {rounding::stochastic, 0x7fffffffu}) == 0);

}  // namespace zeroulp

#endif  // ZEROULP_CORE_ROUND_HPP_
