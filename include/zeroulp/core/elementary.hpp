// Defines exp, sigmoid and rsqrt in FP32, each from a fixed sequence of FP32
// operations, so that host and device have the same bits:
//
//   exp(x)     sigmoid(x) = 1 / (1 + exp(-x))     rsqrt(x) = 1 / sqrt(x)
//
// Their results are within 1 ulp: the bounds stand at each, over all x. Source:
// SPEC clauses E1 to E5.
//
// They are templates over `A`, who does the arithmetic: core_fp32, which is the
// definition, or hardware. Such a type has a `number` (an FP32 number) and
//
//   from_bits  bits             a number and its FP32 bits
//   negate  absolute            flip and clear the sign
//   minimum(a, b)               NaN if either is; never of two zeros
//   add  subtract  multiply  fma  divide  square_root
//   reciprocal(a)               fl(1 / a), for NaN and 1/2 <= a < 4 alone
//   round_to_bf16(a)            the BF16 number nearest to a
//
// each rounded once, nearest-even, with subnormal numbers. `bits` of what an
// operation (add to round_to_bf16) returned are 0x7fffffff for every NaN.
// Hopper's MUFU.RCP y and fma(fma(-a, y, 1), y, y) are the `reciprocal`.

#ifndef ZEROULP_CORE_ELEMENTARY_HPP_
#define ZEROULP_CORE_ELEMENTARY_HPP_

#include "zeroulp/core/arith.hpp"

namespace zeroulp {

/// FP32 arithmetic by the core: integers only.
struct core_fp32 {
  /// Not an integer, so that no operator applies by mistake.
  struct number {
    std::uint32_t value;
  };

  static ZEROULP_HD constexpr number from_bits(std::uint64_t b) {
    return {static_cast<std::uint32_t>(b)};
  }
  static ZEROULP_HD constexpr std::uint32_t bits(number a) { return a.value; }

  static ZEROULP_HD constexpr number negate(number a) {
    return {a.value ^ 0x80000000u};
  }
  static ZEROULP_HD constexpr number absolute(number a) {
    return {a.value & 0x7fffffffu};
  }
  static ZEROULP_HD constexpr number minimum(number a, number b) {
    const unpacked x = decode(zeroulp::fp32, a.value);
    const unpacked y = decode(zeroulp::fp32, b.value);
    if (x.is_nan() || y.is_nan()) return {0x7fffffff};
    if (x.negative != y.negative) return x.negative ? a : b;
    return (a.value < b.value) != x.negative ? a : b;
  }

  static ZEROULP_HD constexpr number add(number a, number b) {
    return from_bits(zeroulp::add(fp32, a.value, b.value));
  }
  static ZEROULP_HD constexpr number subtract(number a, number b) {
    return from_bits(zeroulp::subtract(fp32, a.value, b.value));
  }
  static ZEROULP_HD constexpr number multiply(number a, number b) {
    return from_bits(zeroulp::multiply(fp32, a.value, b.value));
  }
  static ZEROULP_HD constexpr number fma(number a, number b, number c) {
    return from_bits(zeroulp::fma(fp32, a.value, b.value, c.value));
  }
  static ZEROULP_HD constexpr number divide(number a, number b) {
    return from_bits(zeroulp::divide(fp32, a.value, b.value));
  }
  static ZEROULP_HD constexpr number square_root(number a) {
    return from_bits(zeroulp::square_root(fp32, a.value));
  }
  static ZEROULP_HD constexpr number reciprocal(number a) {
    return divide({0x3f800000}, a);
  }
  static ZEROULP_HD constexpr number round_to_bf16(number a) {
    return from_bits(recode(bf16, recode(fp32, a.value, bf16, {}, cuda_nosat),
                            fp32, {}, cuda_nosat));
  }
};

namespace detail {

/// x = n ln(2) + r, n the integer nearest to x / ln(2).
template <class A>
struct reduced {
  std::uint32_t n;          ///< modulo 2^9 in its low bits, else undefined
  typename A::number high;  ///< r = high + low: high is exact,
  typename A::number low;   ///< low and their sum rounded
  typename A::number r;
  typename A::number bend;  ///< (e^r - 1 - r) / r^2
};

/// Requires |x| <= 104; all is NaN for a NaN.
template <class A>
ZEROULP_HD constexpr reduced<A> reduce(typename A::number x) {
  const auto k = [](std::uint32_t bits) { return A::from_bits(bits); };
  // Adding 1.5 * 2^23 rounds to an integer, which the low bits then hold.
  const auto shifter = k(0x4b400000);
  const auto t = A::fma(x, k(0x3fb8aa3b), shifter);
  const auto n = A::subtract(t, shifter);
  // ln(2) in two parts, the first of 15 bits: n times that is exact.
  const auto minus_low = k(0xb5bfbe8e);
  const auto high = A::fma(n, k(0xbf317200), x);
  const auto r = A::fma(n, minus_low, high);
  // For |r| <= 0.3475: within 2^-28.2 of e^r.
  auto bend = k(0x3ab510d6);
  bend = A::fma(bend, r, k(0x3c091db5));
  bend = A::fma(bend, r, k(0x3d2aac7d));
  bend = A::fma(bend, r, k(0x3e2aaa48));
  bend = A::fma(bend, r, k(0x3efffffe));
  return {A::bits(t), high, A::multiply(n, minus_low), r, bend};
}

}  // namespace detail

/// Returns e^x within 0.78 ulp: Inf above 88.72..., 0 below -103.97..., NaN for
/// NaN.
template <class A>
ZEROULP_HD constexpr typename A::number exp(typename A::number x) {
  const auto k = [](std::uint32_t bits) { return A::from_bits(bits); };
  const auto one = k(0x3f800000);
  const bool negative = (A::bits(x) & 0x80000000u) != 0;
  // Beyond -104 and 89 nothing changes.
  const auto a =
      A::minimum(A::absolute(x), k(negative ? 0x42d00000 : 0x42b20000));
  const auto e = detail::reduce<A>(negative ? A::negate(a) : a);
  // e^r = (1 + high) + (low + bend r^2): what the first sum lacks joins the
  // second.
  const auto line = A::add(one, e.high);
  const auto rest = A::add(A::subtract(e.high, A::subtract(line, one)), e.low);
  const auto p = A::add(line, A::fma(e.bend, A::multiply(e.r, e.r), rest));
  // 2^n = 2^(n - s) * 2^s, s = 64 or -64, so that the second product alone is
  // rounded.
  const auto by = k((negative ? 191u << 23 : 63u << 23) + (e.n << 23));
  return A::multiply(A::multiply(p, by), k(negative ? 0x1f800000 : 0x5f800000));
}

/// Returns 1 / (1 + e^-x) within 0.99 ulp: 1 above 17.3..., 0 below -103.97...,
/// NaN for NaN.
///
/// With S = 2^-n and f = e^r - 1, e^|x| = (1 + f) / S, it is S / d or 1 - S /
/// d, where d = 1 + S + f. (MUFU.RCP alone as the reciprocal gives the same
/// bits for every x but +-0x1.e65802p-11, and so for every BF16 number.)
template <class A>
ZEROULP_HD constexpr typename A::number sigmoid(typename A::number x) {
  const auto k = [](std::uint32_t bits) { return A::from_bits(bits); };
  const auto one = k(0x3f800000);
  const auto e = detail::reduce<A>(A::minimum(A::absolute(x), k(0x42d00000)));
  const auto f = A::fma(e.bend, A::multiply(e.r, e.r), e.r);
  // 2^64 S is a normal number for every n.
  const auto s64 = k((191u << 23) - (e.n << 23));
  const auto down = k(0x1f800000);
  const auto d = A::add(A::fma(s64, down, one), f);
  // What d lacks of the exact sum.
  const auto rest = A::add(A::fma(s64, down, A::subtract(one, d)), f);
  const auto y = A::reciprocal(d);
  auto error = A::fma(A::negate(y), d, one);
  error = A::fma(A::negate(y), rest, error);
  const auto p = A::multiply(A::fma(error, y, y), s64);
  return (A::bits(x) & 0x80000000u) != 0 ? A::multiply(p, down)
                                         : A::fma(A::negate(p), down, one);
}

/// Returns 1 / sqrt(x) within 0.501 ulp: Inf of x's sign for zeros, +0 for Inf,
/// NaN for NaN and what is below zero.
template <class A>
ZEROULP_HD constexpr typename A::number rsqrt(typename A::number x) {
  const auto k = [](std::uint32_t bits) { return A::from_bits(bits); };
  const auto one = k(0x3f800000);
  const std::uint32_t b = A::bits(x);
  // Zeros and Inf give theirs, the rest of what is not a number above 0 NaN.
  if ((b << 1) == 0 || b >= 0x7f800000) {
    return A::divide(one, A::square_root(x));
  }
  // Below 2^-64 the remainder of the root would be rounded: x is 2^64 times
  // larger there, its result 2^32 times smaller.
  const bool small = b < 0x1f800000;
  const auto v = A::multiply(x, small ? k(0x5f800000) : one);
  const auto s = A::square_root(v);
  const auto y = A::divide(one, s);
  // 1 / s = y (1 + d), v = s^2 (1 + e y^2), each to the first order.
  const auto d = A::fma(A::negate(s), y, one);
  const auto e = A::fma(A::negate(s), s, v);
  const auto half = A::multiply(y, k(0xbf000000));
  const auto error = A::fma(A::multiply(e, y), half, d);
  return A::multiply(A::fma(y, error, y), small ? k(0x4f800000) : one);
}

namespace detail {

ZEROULP_HD constexpr std::uint32_t exp_bits(std::uint32_t x) {
  return exp<core_fp32>({x}).value;
}
ZEROULP_HD constexpr std::uint32_t sigmoid_bits(std::uint32_t x) {
  return sigmoid<core_fp32>({x}).value;
}
ZEROULP_HD constexpr std::uint32_t rsqrt_bits(std::uint32_t x) {
  return rsqrt<core_fp32>({x}).value;
}

}  // namespace detail

static_assert(detail::exp_bits(0x80000000) == 0x3f800000);
static_assert(detail::exp_bits(0x3f800000) == 0x402df854);
static_assert(detail::exp_bits(0xc2aeac50) == 0x007fffe6);
static_assert(detail::exp_bits(0x7f800000) == 0x7f800000);
static_assert(detail::exp_bits(0xff800000) == 0);
static_assert(detail::exp_bits(0xffc00001) == 0x7fffffff);
static_assert(detail::sigmoid_bits(0) == 0x3f000000);
static_assert(detail::sigmoid_bits(0x7f800000) == 0x3f800000);
static_assert(detail::sigmoid_bits(0xff800000) == 0);
static_assert(detail::sigmoid_bits(0x7f800001) == 0x7fffffff);
static_assert(detail::rsqrt_bits(0x40800000) == 0x3f000000);
static_assert(detail::rsqrt_bits(0x80000000) == 0xff800000);
static_assert(detail::rsqrt_bits(0x7f800000) == 0);
static_assert(detail::rsqrt_bits(0xbf800000) == 0x7fffffff);
static_assert(detail::rsqrt_bits(0x00000001) == 0x64b504f3);

}  // namespace zeroulp

#endif  // ZEROULP_CORE_ELEMENTARY_HPP_
