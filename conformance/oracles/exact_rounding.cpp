// One rounding of an exact value: its neighbours by integer division, then the
// rules of the SPEC.

#include <utility>

#include "conformance/oracles/exact_integers.hpp"
#include "conformance/oracles/mpfr_oracle.hpp"

namespace zeroulp::oracle {
namespace {

long bit_length(const mpz_class& x) {
  return static_cast<long>(mpz_sizeinbase(x.get_mpz_t(), 2));
}

/// The exponent of the smallest normal number.
long smallest_exponent(format f) {
  return (f.kind == specials::scale ? 0L : 1L) - f.bias;
}

/// Returns floor(log2(|x|)), x not zero.
long exponent_of(const exact& x) {
  long e = bit_length(x.numerator) - bit_length(x.denominator);
  const bool low = e >= 0 ? x.numerator < shifted_left(x.denominator, e)
                          : shifted_left(x.numerator, -e) < x.denominator;
  e += x.exponent - (low ? 1 : 0);
  return x.root ? (e >= 0 ? e / 2 : -((1 - e) / 2)) : e;
}

/// Returns floor(|x| * 2^scale); `rest` tells whether that is inexact.
mpz_class floor_scaled(const exact& x, long scale, bool& rest) {
  const long shift = x.exponent + (x.root ? 2 * scale : scale);
  mpz_class above = x.numerator;
  mpz_class below = x.denominator;
  (shift >= 0 ? above : below) =
      shifted_left(shift >= 0 ? above : below, shift >= 0 ? shift : -shift);
  mpz_class quotient;
  mpz_class remainder;
  mpz_fdiv_qr(quotient.get_mpz_t(), remainder.get_mpz_t(), above.get_mpz_t(),
              below.get_mpz_t());
  rest = remainder != 0;
  if (x.root) {  // floor(sqrt(floor(y))) = floor(sqrt(y))
    mpz_class radicand = std::move(quotient);
    mpz_sqrtrem(quotient.get_mpz_t(), remainder.get_mpz_t(),
                radicand.get_mpz_t());
    rest = rest || remainder != 0;
  }
  return quotient;
}

}  // namespace

placed place(format f, const exact& x) {
  placed at{x.what, x.negative, x.is_zero(), false, 0, 0, false};
  if (x.what != value_class::number || at.zero) return at;
  const long exponent = exponent_of(x);
  const long smallest = smallest_exponent(f);
  if (f.kind == specials::scale && exponent < smallest) {
    at.below_all = true;
    return at;
  }
  const bool normal = exponent >= smallest;
  const long gap = (normal ? exponent : smallest) - f.man_bits;
  mpz_class units = floor_scaled(x, 32 - gap, at.rest);
  at.fraction =
      static_cast<std::uint32_t>(units.get_ui() & std::uint64_t{0xffffffff});
  units >>= 32;
  const std::uint64_t kept = units.get_ui();
  if (!normal) {
    at.below = kept;
    return at;
  }
  // What is far beyond the range need not be told apart.
  const long last = (1L << f.exp_bits) + 1;
  const long biased = exponent + f.bias > last ? last : exponent + f.bias;
  at.below = (static_cast<std::uint64_t>(biased) << f.man_bits) +
             (kept - (std::uint64_t{1} << f.man_bits));
  return at;
}

namespace {

/// R1 to R7: whether the value goes to the neighbour of larger magnitude.
bool goes_outward(const placed& x, bool negative, rounder r) {
  if (x.fraction == 0 && !x.rest) return false;
  const std::uint32_t half = 0x80000000u;
  const bool tie = x.fraction == half && !x.rest;
  const bool odd_below = (x.below & 1) != 0;
  switch (r.mode) {
    case rounding::nearest_even:
      return tie ? odd_below : x.fraction >= half;
    case rounding::nearest_away:
      return x.fraction >= half;
    case rounding::toward_zero:
      return false;
    case rounding::up:
      return !negative;
    case rounding::down:
      return negative;
    case rounding::to_odd:
      return !odd_below;
    case rounding::stochastic:
      break;
  }
  return ((std::uint64_t{x.fraction} + r.random) >> 32) != 0;
}

/// C5: a code that is NaN.
std::uint64_t nan_of(format f, bool negative, policy p) {
  const layout l = layout_of(f);
  const std::uint64_t sign = negative && p.nan_sign ? l.sign_mask : 0;
  const std::uint64_t exponent_ones = ones(f.exp_bits) << f.man_bits;
  switch (f.kind) {
    case specials::ieee:
      return sign | exponent_ones |
             (p.payload == nan_payload::all_ones
                  ? ones(f.man_bits)
                  : std::uint64_t{1} << (f.man_bits - 1));
    case specials::fn:
      return sign | l.magnitude_mask;
    case specials::fnuz:
      return l.sign_mask;
    case specials::scale:
      return l.magnitude_mask;
    case specials::finite:
      break;
  }
  return l.largest;
}

/// C5 and C11: what NaN becomes.
std::uint64_t from_nan(format f, bool negative, policy p) {
  const layout l = layout_of(f);
  if (p.payload == nan_payload::largest) return l.largest;
  if (p.payload == nan_payload::lowest) {
    return f.kind == specials::scale ? 0 : l.sign_mask + l.largest;
  }
  return nan_of(f, negative, p);
}

/// The last sentence of C3: what is not saturated.
std::uint64_t beyond_range(format f, bool negative) {
  const layout l = layout_of(f);
  const std::uint64_t sign = negative ? l.sign_mask : 0;
  switch (f.kind) {
    case specials::ieee:
      return sign | (ones(f.exp_bits) << f.man_bits);
    case specials::fn:
      return sign | l.magnitude_mask;
    case specials::fnuz:
      return l.sign_mask;
    case specials::scale:
      return l.magnitude_mask;
    case specials::finite:
      break;
  }
  return sign | l.largest;
}

}  // namespace

std::uint64_t finish(format f, const placed& x, rounder r, policy p) {
  const layout l = layout_of(f);
  if (x.what == value_class::nan) return from_nan(f, x.negative, p);
  bool negative = x.negative;
  if (f.kind == specials::scale) {  // C7
    if (x.zero) return 0;
    if (negative && !p.scale_magnitude) return nan_of(f, negative, p);
    negative = false;
    if (x.below_all) return 0;
  }
  const std::uint64_t sign = negative ? l.sign_mask : 0;
  if (x.what == value_class::infinite) {  // C4
    return p.saturate_infinite ? sign | l.largest : beyond_range(f, negative);
  }
  std::uint64_t magnitude = x.zero ? 0 : x.below;
  if (!x.zero && goes_outward(x, negative, r)) ++magnitude;
  if (magnitude > l.largest) {  // C3
    const bool inward = r.mode == rounding::toward_zero ||
                        r.mode == rounding::to_odd ||
                        (r.mode == rounding::up && negative) ||
                        (r.mode == rounding::down && !negative);
    return p.saturate_finite || inward ? sign | l.largest
                                       : beyond_range(f, negative);
  }
  if (magnitude == 0 && f.kind == specials::fnuz) return 0;
  return sign | magnitude;
}

std::uint64_t convert(format from, std::uint64_t code, format to, rounder r,
                      policy p) {
  return finish(to, place(to, value_of(from, code)), r, p);
}

std::uint64_t compute(function op, format f, std::uint64_t a, std::uint64_t b,
                      std::uint64_t c, rounder r) {
  const exact result =
      evaluate(op, value_of(f, a), value_of(f, b), value_of(f, c), r.mode);
  return finish(f, place(f, result), r, cuda_nosat);
}

}  // namespace zeroulp::oracle
