// Defines arithmetic on codes of any format up to FP64, one rounding each:
//
//   add  subtract  multiply  fma  divide  square_root
//
// The exact result is formed first (`product`, `sum`, `quotient`, `root`), then
// encoded. Source: IEEE 754 clauses 5.4 and 6.3; SPEC clauses A1 to A6. The
// default policy is what Hopper's FP32 unit does: NaN is 0x7fffffff.

#ifndef ZEROULP_CORE_ARITH_HPP_
#define ZEROULP_CORE_ARITH_HPP_

#include "zeroulp/core/convert.hpp"

namespace zeroulp {

/// An exact product: 106 bits for FP64.
using exact_product = number<wide<2>>;
/// A sum or a quotient: exact, or with its last bit set for what lies below.
using sticky_number = number<wide<4>>;

/// Returns a * b, exact.
ZEROULP_HD constexpr exact_product product(const unpacked& a,
                                           const unpacked& b) {
  const bool negative = a.negative != b.negative;
  if (!a.is_finite() || !b.is_finite()) {
    const bool invalid = a.is_nan() || b.is_nan() || a.is_zero() || b.is_zero();
    return {{}, 0, invalid ? kind::nan : kind::infinite, negative};
  }
  if (a.is_zero() || b.is_zero()) return {{}, 0, kind::zero, negative};
  return {multiply(a.significand, b.significand), a.exponent + b.exponent,
          kind::finite, negative};
}

/// Returns `x` with its highest bit at bit `top` of 256; bits that would fall
/// below are kept as a set last bit.
template <class Significand>
ZEROULP_HD constexpr sticky_number normalized(const number<Significand>& x,
                                              int top) {
  const int shift = top - msb(x.significand);
  sticky_number result{shifted<4>(x.significand, shift), x.exponent - shift,
                       x.kind, x.negative};
  if (any_below(x.significand, -shift)) result.significand.word[0] |= 1;
  return result;
}

/// Returns a + b. Exact, or, where the exponents are far apart, cut far below
/// the last place with the last bit set. An exact zero from two numbers of
/// opposite sign is -0 under `down`, else +0.
template <class A, class B>
ZEROULP_HD constexpr sticky_number sum(const number<A>& a, const number<B>& b,
                                       rounding mode) {
  const auto special = [](kind k, bool negative) {
    return sticky_number{{}, 0, k, negative};
  };
  if (a.is_nan() || b.is_nan()) return special(kind::nan, false);
  if (a.is_infinite() || b.is_infinite()) {
    if (a.is_infinite() && b.is_infinite() && a.negative != b.negative) {
      return special(kind::nan, false);
    }
    return special(kind::infinite, a.is_infinite() ? a.negative : b.negative);
  }
  const bool zero_sign =
      a.negative == b.negative ? a.negative : mode == rounding::down;
  if (a.is_zero() && b.is_zero()) return special(kind::zero, zero_sign);
  constexpr int top = 253;
  if (a.is_zero()) return normalized(b, top);
  if (b.is_zero()) return normalized(a, top);

  const auto x = normalized(a, top);
  const auto y = normalized(b, top);
  const bool x_larger = x.exponent >= y.exponent;
  auto high = x_larger ? x : y;
  const auto& low = x_larger ? y : x;
  const int distance = high.exponent - low.exponent;
  auto aligned = shifted<4>(low.significand, -distance);
  if (any_below(low.significand, distance)) aligned.word[0] |= 1;
  if (high.negative == low.negative) {
    high.significand = high.significand + aligned;
    return high;
  }
  const int order = compare(high.significand, aligned);
  if (order == 0) return special(kind::zero, zero_sign);
  high.significand =
      order > 0 ? high.significand - aligned : aligned - high.significand;
  if (order < 0) high.negative = low.negative;
  return high;
}

/// Returns a / b, cut to at least 88 bits with the last bit set if inexact.
/// x / 0 is Inf with the sign of the quotient; 0 / 0 and Inf / Inf are NaN.
ZEROULP_HD constexpr sticky_number quotient(const unpacked& a,
                                            const unpacked& b) {
  const bool negative = a.negative != b.negative;
  const auto special = [negative](kind k) {
    return sticky_number{{}, 0, k, negative};
  };
  if (a.is_nan() || b.is_nan()) return special(kind::nan);
  if (a.is_infinite())
    return special(b.is_infinite() ? kind::nan : kind::infinite);
  if (b.is_infinite()) return special(kind::zero);
  if (b.is_zero()) return special(a.is_zero() ? kind::nan : kind::infinite);
  if (a.is_zero()) return special(kind::zero);
  // Long division in digits of as many bits as the divisor leaves free.
  const int digit = 63 - msb(b.significand);
  const int align = msb(b.significand) - msb(a.significand);
  std::uint64_t remainder = a.significand;
  int exponent = a.exponent - b.exponent;
  if (align > 0) {
    remainder <<= align;
    exponent -= align;
  }
  sticky_number result = special(kind::finite);
  result.significand = wide<4>(remainder / b.significand);
  remainder %= b.significand;
  for (int bits = 0; bits < 88; bits += digit) {
    result.significand = shifted<4>(result.significand, digit);
    remainder <<= digit;
    result.significand.add(remainder / b.significand, 0);
    remainder %= b.significand;
    exponent -= digit;
  }
  if (remainder != 0) result.significand.word[0] |= 1;
  result.exponent = exponent;
  return result;
}

/// Returns the square root of `x`, cut to 96 bits with the last bit set if
/// inexact. Negative numbers give NaN, -0 gives -0.
ZEROULP_HD constexpr sticky_number root(const unpacked& x) {
  if (x.is_nan() || (x.negative && !x.is_zero())) {
    return {{}, 0, kind::nan, false};
  }
  if (!x.is_finite() || x.is_zero()) return {{}, 0, x.kind, x.negative};
  // The radicand gets its highest bit at 190 or 191 so that its exponent is
  // even, then one bit of the root is tried at a time.
  int shift = 191 - msb(x.significand);
  if (((x.exponent - shift) & 1) != 0) --shift;
  const auto radicand = shifted<4>(x.significand, shift);
  wide<4> remainder = radicand;
  wide<4> result;
  for (int bit = 95; bit >= 0; --bit) {
    // (result + 2^bit)^2 - result^2 = result * 2^(bit + 1) + 2^(2 * bit)
    auto trial = shifted<4>(result, bit + 1);
    trial.add(1, 2 * bit);
    if (compare(remainder, trial) >= 0) {
      remainder = remainder - trial;
      result.add(1, bit);
    }
  }
  if (!remainder.is_zero()) result.word[0] |= 1;
  return {result, (x.exponent - shift) / 2, kind::finite, false};
}

ZEROULP_HD constexpr std::uint64_t add(format f, std::uint64_t a,
                                       std::uint64_t b, rounder r = {},
                                       policy p = cuda_nosat) {
  return encode(f, sum(decode(f, a), decode(f, b), r.mode), r, p);
}

ZEROULP_HD constexpr std::uint64_t subtract(format f, std::uint64_t a,
                                            std::uint64_t b, rounder r = {},
                                            policy p = cuda_nosat) {
  auto y = decode(f, b);
  y.negative = !y.negative;
  return encode(f, sum(decode(f, a), y, r.mode), r, p);
}

ZEROULP_HD constexpr std::uint64_t multiply(format f, std::uint64_t a,
                                            std::uint64_t b, rounder r = {},
                                            policy p = cuda_nosat) {
  return encode(f, product(decode(f, a), decode(f, b)), r, p);
}

/// Returns a * b + c, rounded once.
ZEROULP_HD constexpr std::uint64_t fma(format f, std::uint64_t a,
                                       std::uint64_t b, std::uint64_t c,
                                       rounder r = {}, policy p = cuda_nosat) {
  const auto ab = product(decode(f, a), decode(f, b));
  return encode(f, sum(ab, decode(f, c), r.mode), r, p);
}

ZEROULP_HD constexpr std::uint64_t divide(format f, std::uint64_t a,
                                          std::uint64_t b, rounder r = {},
                                          policy p = cuda_nosat) {
  return encode(f, quotient(decode(f, a), decode(f, b)), r, p);
}

ZEROULP_HD constexpr std::uint64_t square_root(format f, std::uint64_t x,
                                               rounder r = {},
                                               policy p = cuda_nosat) {
  return encode(f, root(decode(f, x)), r, p);
}

static_assert(add(fp32, 0x3f800000, 0x33800000) == 0x3f800000);
static_assert(add(fp32, 0x3f800000, 0x33800001) == 0x3f800001);
static_assert(fma(fp32, 0x3f800001, 0x3f7fffff, 0xbf800000) == 0x337ffffe);
static_assert(divide(fp32, 0x3f800000, 0x43e00000) == 0x3b124925);
static_assert(square_root(fp32, 0x40000000) == 0x3fb504f3);
static_assert(multiply(e4m3, 0x7e, 0x38) == 0x7e);

}  // namespace zeroulp

#endif  // ZEROULP_CORE_ARITH_HPP_
