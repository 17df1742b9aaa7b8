// Defines log in FP32, and the FP64 arithmetic that it and sums of many
// numbers take, so that host and device have the same bits.
//
// Templates over `D`, who does the arithmetic: core_fp64, which is the
// definition, or hardware. Such a type has a `number` (an FP64 number) and
//
//   from_bits  bits             a number and its FP64 bits
//   widen(b)                    the number with FP32 bits b, exact
//   narrow(a)                   FP32 bits of a, rounded
//   add  subtract  multiply  fma  divide
//
// each rounded once, nearest-even. `bits` and `narrow` give every NaN as
// 0x7fffffffffffffff and 0x7fffffff. Source: SPEC clause E6.

#ifndef ZEROULP_CORE_MODEL_ELEMENTARY_FP64_HPP_
#define ZEROULP_CORE_MODEL_ELEMENTARY_FP64_HPP_

#include "zeroulp/core/arith.hpp"

namespace zeroulp {

/// FP64 arithmetic by the core: integers only.
struct core_fp64 {
  /// Not an integer, so that no operator applies by mistake.
  struct number {
    std::uint64_t value;
  };

  static ZEROULP_HD constexpr number from_bits(std::uint64_t b) { return {b}; }
  static ZEROULP_HD constexpr std::uint64_t bits(number a) { return a.value; }
  static ZEROULP_HD constexpr number widen(std::uint32_t b) {
    return {recode(fp32, b, fp64, {}, cuda_nosat)};
  }
  static ZEROULP_HD constexpr std::uint32_t narrow(number a) {
    return static_cast<std::uint32_t>(
        recode(fp64, a.value, fp32, {}, cuda_nosat));
  }

  static ZEROULP_HD constexpr number add(number a, number b) {
    return {zeroulp::add(fp64, a.value, b.value)};
  }
  static ZEROULP_HD constexpr number subtract(number a, number b) {
    return {zeroulp::subtract(fp64, a.value, b.value)};
  }
  static ZEROULP_HD constexpr number multiply(number a, number b) {
    return {zeroulp::multiply(fp64, a.value, b.value)};
  }
  static ZEROULP_HD constexpr number fma(number a, number b, number c) {
    return {zeroulp::fma(fp64, a.value, b.value, c.value)};
  }
  static ZEROULP_HD constexpr number divide(number a, number b) {
    return {zeroulp::divide(fp64, a.value, b.value)};
  }
};

namespace detail {

/// x = 2^e m, x > 0 finite, m from sqrt(1/2) to sqrt(2).
struct logarithm_parts {
  int e;
  std::uint32_t m;  ///< FP32 bits
};
ZEROULP_HD constexpr logarithm_parts parts_of_logarithm(std::uint32_t x) {
  int e = static_cast<int>(x >> 23) - 127;
  std::uint32_t fraction = x & 0x007fffff;
  if (x < 0x00800000) {
    // A subnormal number: its highest bit becomes the hidden one.
    e = -126;
    while ((fraction & 0x00800000) == 0) {
      fraction <<= 1;
      --e;
    }
    fraction &= 0x007fffff;
  }
  const bool half = fraction >= 0x003504f3;
  return {e + (half ? 1 : 0), (half ? 0x3f000000u : 0x3f800000u) | fraction};
}

}  // namespace detail

/// Returns log(x), FP32 bits, within 0.5000001 ulp: -Inf for zeros, Inf for
/// Inf, NaN for NaN and what is below zero.
template <class D>
ZEROULP_HD constexpr std::uint32_t log(std::uint32_t x) {
  if ((x << 1) == 0) return 0xff800000;
  if (x > 0x7f800000) return 0x7fffffff;
  if (x == 0x7f800000) return x;
  // 2 / (2k + 1) for k = 9, 8, .. 1, rounded to FP64.
  constexpr std::uint64_t series[] = {
      0x3fbaf286bca1af28, 0x3fbe1e1e1e1e1e1e, 0x3fc1111111111111,
      0x3fc3b13b13b13b14, 0x3fc745d1745d1746, 0x3fcc71c71c71c71c,
      0x3fd2492492492492, 0x3fd999999999999a, 0x3fe5555555555555};
  const auto part = detail::parts_of_logarithm(x);
  const auto one = D::widen(0x3f800000);
  const auto m = D::widen(part.m);
  const auto s = D::divide(D::subtract(m, one), D::add(m, one));
  const auto z = D::multiply(s, s);
  auto p = D::from_bits(series[0]);
  for (int i = 1; i < 9; ++i) p = D::fma(p, z, D::from_bits(series[i]));
  const auto line = D::fma(s, D::multiply(z, p), D::add(s, s));
  // |e| <= 149: an FP32 number.
  const std::uint32_t magnitude = static_cast<std::uint32_t>(encode(
      fp32, unpacked{static_cast<std::uint64_t>(part.e < 0 ? -part.e : part.e),
                     0, part.e == 0 ? kind::zero : kind::finite, part.e < 0}));
  return D::narrow(
      D::fma(D::widen(magnitude), D::from_bits(0x3fe62e42fefa39ef), line));
}

static_assert(log<core_fp64>(0x3f800000) == 0);
static_assert(log<core_fp64>(0x40000000) == 0x3f317218);
static_assert(log<core_fp64>(0x00000001) == 0xc2ce8ed0);
static_assert(log<core_fp64>(0x7f7fffff) == 0x42b17218);
static_assert(log<core_fp64>(0x80000000) == 0xff800000);
static_assert(log<core_fp64>(0xbf800000) == 0x7fffffff);
static_assert(log<core_fp64>(0x7f800000) == 0x7f800000);
static_assert(log<core_fp64>(0x7f800001) == 0x7fffffff);

}  // namespace zeroulp

#endif  // ZEROULP_CORE_MODEL_ELEMENTARY_FP64_HPP_
