// Defines `encoding` and `decoding`: a format and a policy as the numbers that
// the vector kernels need. Every code in them comes from the core. Internal.

#ifndef ZEROULP_SRC_ARRAYS_FORMATS_HPP_
#define ZEROULP_SRC_ARRAYS_FORMATS_HPP_

#include <cstdint>

#include "zeroulp/core/convert.hpp"

namespace zeroulp::engine {

/// FP32 to a narrower format. Of a pair, the first is for positive values.
struct encoding {
  std::int32_t man_bits;
  std::int32_t dropped;       ///< fraction bits that a normal number loses
  std::int32_t min_exponent;  ///< of the format, biased as in FP32
  std::int32_t sign_shift;    ///< from bit 31 down to the code's sign
  std::int32_t max_code;
  std::int32_t overflow[2];  ///< what finite values beyond max_code become
  std::int32_t infinite[2];
  std::int32_t nan[2];
  bool has_negative_zero;
};

/// Returns true iff make_encoding takes `f`: it has a sign and a fraction, at
/// least one bit of FP32's is dropped, and no subnormal of FP32 is normal in
/// it.
constexpr bool has_encoding(format f) {
  return f.has_sign() && f.bits() <= 32 && f.man_bits >= 1 &&
         f.man_bits <= 22 && f.min_exponent() >= -126;
}

constexpr encoding make_encoding(format f, rounding mode, policy how) {
  const auto code = [&](kind k, std::uint64_t significand, bool negative) {
    const unpacked x{significand, 1 << 20, k, negative};
    return static_cast<std::int32_t>(encode(f, x, {mode, 0}, how));
  };
  return {f.man_bits,
          23 - f.man_bits,
          f.min_exponent() + 127,
          31 - f.magnitude_bits(),
          static_cast<std::int32_t>(f.max_code()),
          {code(kind::finite, 1, false), code(kind::finite, 1, true)},
          {code(kind::infinite, 0, false), code(kind::infinite, 0, true)},
          {code(kind::nan, 0, false), code(kind::nan, 0, true)},
          f.kind != specials::fnuz};
}

/// A format whose every number is one of FP32, to FP32.
struct decoding {
  std::int32_t shift;  ///< of the fraction, up to FP32's
  std::int32_t sign_shift;
  std::int32_t magnitude_mask;
  std::int32_t sign_mask;
  std::int32_t max_code;
  std::int32_t infinity_code;  ///< -1 without Inf
  float factor;                ///< makes up for the other bias
  std::int32_t infinite[2];
  std::int32_t nan[2];
  bool has_negative_zero;
};

/// Returns true iff make_decoding takes `f`: it has a sign, and its codes
/// shifted into FP32's places are finite numbers that one exact multiplication
/// turns into their values.
constexpr bool has_decoding(format f) {
  const bool as_fp32 =
      f.exp_bits == 8 && f.bias == 127 && f.kind == specials::ieee;
  const bool smaller = f.exp_bits <= 7 && f.bias >= 0 && f.bias <= 253;
  return f.has_sign() && f.man_bits <= 23 && (as_fp32 || smaller) &&
         f.quantum_exponent() >= -149;
}

constexpr decoding make_decoding(format f, policy how) {
  const auto code = [&](kind k, bool negative) {
    return static_cast<std::int32_t>(
        encode(fp32, unpacked{0, 0, k, negative}, {}, how));
  };
  return {23 - f.man_bits,
          31 - f.magnitude_bits(),
          static_cast<std::int32_t>(f.magnitude_mask()),
          static_cast<std::int32_t>(f.sign_mask()),
          static_cast<std::int32_t>(f.max_code()),
          f.has_infinity() ? static_cast<std::int32_t>(f.infinity_code()) : -1,
          bit_cast<float>(static_cast<std::uint32_t>(254 - f.bias) << 23),
          {code(kind::infinite, false), code(kind::infinite, true)},
          {code(kind::nan, false), code(kind::nan, true)},
          f.kind != specials::fnuz};
}

static_assert(has_encoding(e4m3) && has_encoding(bf16) && !has_encoding(fp32));
static_assert(has_decoding(e5m6) && has_decoding(fp32) && !has_decoding(ue8m0));
static_assert(make_encoding(e5m2, rounding::nearest_even, cuda_nosat)
                  .overflow[1] == 0xfc);
static_assert(make_decoding(e4m3, cuda_nosat).factor == 0x1p120f);

}  // namespace zeroulp::engine

#endif  // ZEROULP_SRC_ARRAYS_FORMATS_HPP_
