// Defines the approximate division of NVIDIA's Hopper, bit for bit:
//
//   approximate_reciprocal(b)   MUFU.RCP, PTX rcp.approx.ftz.f32
//   approximate_quotient(a, b)  PTX div.full.f32, Triton's `a / b`
//
// Neither is correctly rounded: the reciprocal is one ulp off for 13 % of all
// significands, the quotient for about a quarter of random pairs.
//
// Source: a recording of an H200 (sm_90) for all 2^32 inputs of the reciprocal.
// The hardware interpolates 1 / b from a table with a square of dropped low
// columns (S. F. Oberman, M. Y. Siu, "A High-Performance Area-Efficient
// Multifunction Interpolator", ARITH 2005); its table is not published. The
// model below and its 128 * 3 coefficients were derived from the recording.

#ifndef ZEROULP_CORE_RECIPROCAL_HPP_
#define ZEROULP_CORE_RECIPROCAL_HPP_

#include "zeroulp/core/scale.hpp"

namespace zeroulp {
namespace detail {

/// Returns coefficients of 1 / b for b in 1 + [i, i + 1) / 128, packed as
/// c0 * 2^26 + c1 * 2^10 + c2, with c0 of 27 bits, c1 of 16 and c2 of 10.
ZEROULP_HD constexpr std::uint64_t reciprocal_coefficients(std::uint32_t i) {
  constexpr std::uint64_t table[128] = {
      0x10000003fffbf5, 0x0fe03f8bf02bdd, 0x0fc0fc1be0b7c6, 0x0fa232d7d19fb1,
      0x0f83e0fbc2db9b, 0x0f6603e3b46f86, 0x0f4898e3a65773, 0x0f2b9d6b988b5f,
      0x0f0f0f138b0f4d, 0x0ef2eb7b7ddf3b, 0x0ed7304770f729, 0x0ebbdb2f645317,
      0x0ea0ea1757f706, 0x0e865ad34bdef6, 0x0e6c2b4f4006e6, 0x0e52598b346ed7,
      0x0e38e3972912c7, 0x0e1fc78b1df2b8, 0x0e07038b130eaa, 0x0dee95cb08629d,
      0x0dd67c8efdee90, 0x0dbeb626f3ae82, 0x0da740dee9a677, 0x0d901b2adfce6a,
      0x0d794366d6265d, 0x0d62b81accb252, 0x0d4c77bac36a46, 0x0d3680daba523c,
      0x0d20d21ab16631, 0x0d0b6a06a8a225, 0x0cf64756a00e1c, 0x0ce168ae979e11,
      0x0cccccd68f5a07, 0x0cb87286873dfe, 0x0ca458827f45f5, 0x0c907dae7771ea,
      0x0c7ce0ce6fc5e2, 0x0c6980d2683dda, 0x0c565c9260d5d1, 0x0c4373065991c9,
      0x0c30c316526dc1, 0x0c1e4bc64b69b9, 0x0c0c0c164485b1, 0x0bfa030a3dc1aa,
      0x0be82faa3719a2, 0x0bd6910e30919c, 0x0bc5264a2a2193, 0x0bb3ee7a23d18d,
      0x0ba2e8c61d9d86, 0x0b92144617817f, 0x0b817032118179, 0x0b70fbc20b9d73,
      0x0b60b61605d16e, 0x0b509e72001966, 0x0b40b411fa7d61, 0x0b30f639f4f95c,
      0x0b216435ef8955, 0x0b11fd49ea3551, 0x0b02c0b9e4f14b, 0x0af3ade1dfc546,
      0x0ae4c41ddaad40, 0x0ad602c1d5ad3c, 0x0ac76925d0bd36, 0x0ab8f6a5cbe131,
      0x0aaaaab1c71d2e, 0x0a9c84b1c26929, 0x0a8e8401bdc523, 0x0a80a811b9351f,
      0x0a72f05db4b91b, 0x0a655c49b04d17, 0x0a57eb59abf112, 0x0a4a9cfda7a90f,
      0x0a3d70ada36d0a, 0x0a3065ed9f4507, 0x0a237c399b2902, 0x0a16b319972100,
      0x0a0a0a159324fb, 0x09fd80a98f38f8, 0x09f116698b58f3, 0x09e4cad98788f0,
      0x09d89d9183c8ed, 0x09cc8e218014e9, 0x09c09c157c70e7, 0x09b4c70578d4e2,
      0x09a90e857548df, 0x099d723571ccde, 0x0991f1ad6e58da, 0x09868c896af0d6,
      0x097b42696798d4, 0x097012ed6448d0, 0x0964fdad6104cd, 0x095a02615dd0cc,
      0x094f209d5aa0c7, 0x094458115780c5, 0x0939a865546cc4, 0x092f11415160c1,
      0x092492514e5cbd, 0x091a2b454b64ba, 0x090fdbcd4878b8, 0x0905a38d4594b6,
      0x08fb824942bcb4, 0x08f177a53fecb2, 0x08e7835d3d24af, 0x08dda5293a68ad,
      0x08d3dcb937b4ab, 0x08ca29c53508a9, 0x08c08c113264a6, 0x08b7034d2fcca5,
      0x08ad8f392d38a1, 0x08a42f912ab0a0, 0x089ae41128309f, 0x0891ac7d25b49b,
      0x0888889123449a, 0x087f781120dc99, 0x08767abd1e7896, 0x086d90611c2095,
      0x0864b8b119cc93, 0x085bf37d178091, 0x08534091153c8f, 0x084a9fa113008f,
      0x0842108d10c88c, 0x083993110e988a, 0x083126f50c7089, 0x0828cc050a4c87,
      0x08208211083085, 0x081848e5061c84, 0x08102045040c83, 0x0808080d020482,
  };
  return table[i];
}

/// Returns about `x`^2 / 2^17 for 16-bit `x`: the sum of the partial products
/// x[i] * x[i] * 2^(2i) and, for j < i, x[i] * x[j] * 2^(i + j + 1), without
/// those that are below 2^17.
ZEROULP_HD constexpr std::uint32_t truncated_square(std::uint32_t x) {
  std::uint32_t sum = 0;
  for (int i = 9; i < 16; ++i) {
    const std::uint32_t row = (x & ((1u << i) - 1)) >> (16 - i);
    sum += ((x >> i) & 1) * (row + (1u << (2 * i - 17)));
  }
  return sum;
}

/// Returns 1 / (1 + `fraction` / 2^23) in units of 2^-24, in (2^23, 2^24].
ZEROULP_HD constexpr std::uint32_t reciprocal_significand(
    std::uint32_t fraction) {
  const std::uint64_t c = reciprocal_coefficients(fraction >> 16);
  const std::uint32_t x = fraction & 0xffff;
  const std::uint64_t c0 = c >> 26, c1 = (c >> 10) & 0xffff, c2 = c & 0x3ff;
  // In units of 2^-39. 2023 stands in for the dropped bits of the square and,
  // in part, rounds; then the sum is truncated.
  return static_cast<std::uint32_t>(
      ((c0 << 13) - c1 * x + c2 * truncated_square(x) + 2023) >> 15);
}

}  // namespace detail

/// Returns MUFU.RCP of the FP32 `b`. Subnormal inputs count as zeros, results
/// below 2^-126 become zeros of the same sign, NaNs 0x7fffffff.
ZEROULP_HD constexpr std::uint32_t approximate_reciprocal(std::uint32_t b) {
  const std::uint32_t sign = b & 0x80000000;
  const std::uint32_t exponent = (b >> 23) & 0xff;
  const std::uint32_t fraction = b & 0x7fffff;
  if (exponent == 0xff) return fraction != 0 ? 0x7fffffff : sign;
  if (exponent == 0) return sign | fp32_infinity;
  // The significand's leading bit, 2^23 or 2^24, adds 1 or 2 to the exponent.
  if (exponent > (fraction == 0 ? 253u : 252u)) return sign;
  return sign |
         (((252 - exponent) << 23) + detail::reciprocal_significand(fraction));
}

/// Returns div.full.f32 of the FP32 `a` and `b`: fl(a * MUFU.RCP(b)), both
/// scaled first, and rounded, where MUFU.RCP would flush. With a `b` known at
/// compile time ptxas folds 1 / b to its nearest FP32, which is the same except
/// where approximate_reciprocal is off; of 448 and 57344 it is not.
ZEROULP_HD constexpr std::uint32_t approximate_quotient(std::uint32_t a,
                                                        std::uint32_t b) {
  constexpr std::uint32_t quarter = 0x3e800000, two_to_24 = 0x4b800000;
  const std::uint32_t magnitude = b & 0x7fffffff;
  if (magnitude > 0x7e800000 || magnitude < 0x00800000) {  // 2^126, 2^-126
    const std::uint32_t by = magnitude < 0x00800000 ? two_to_24 : quarter;
    a = detail::fl_multiply(a, by);
    b = detail::fl_multiply(b, by);
  }
  return detail::fl_multiply(a, approximate_reciprocal(b));
}

static_assert(detail::truncated_square(0xffff) == 0x7ff7);
static_assert(approximate_reciprocal(0x3f800000) == 0x3f800000);
static_assert(approximate_reciprocal(0x43e00000) == 0x3b124925);  // 1 / 448
static_assert(approximate_reciprocal(0xfe800000) == 0x80800000);  // -2^126
static_assert(approximate_reciprocal(0x7e800001) == 0);           // flushed
static_assert(approximate_reciprocal(0x007fffff) == 0x7f800000);  // subnormal
static_assert(approximate_quotient(0x3f800000, 0x00200001) == 0x7f7ffff8);
static_assert(approximate_quotient(0x3f800000, 0x7e800001) == 0x007fffff);
static_assert(approximate_quotient(0x3f800000, 0x7f000001) == 0x00400000);

}  // namespace zeroulp

#endif  // ZEROULP_CORE_RECIPROCAL_HPP_
