// Defines codes as FP32 numbers, and FP32 numbers as codes. Internal.

#ifndef ZEROULP_TOOLS_PARITY_NUMBERS_HPP_
#define ZEROULP_TOOLS_PARITY_NUMBERS_HPP_

#include "zeroulp/core/convert.hpp"

namespace zeroulp::parity {

/// A format that holds all of another's numbers: Inf and NaN stay themselves.
inline std::uint64_t widened(format from, std::uint64_t code, format to) {
  return from == to ? code : recode(from, code, to, {}, cuda_nosat);
}

inline float as_float(format f, std::uint64_t code) {
  return bit_cast<float>(static_cast<std::uint32_t>(widened(f, code, fp32)));
}

/// Rounded as the training path rounds (SPEC S1), or by another mode.
inline std::uint64_t rounded(float x, format f, rounder r = {}) {
  return recode(fp32, bit_cast<std::uint32_t>(x), f, r, cuda_nosat);
}

/// The code of another format's nearest number, in its own format. Numbers
/// beyond an 8-bit format saturate, beyond another they become Inf.
inline std::uint64_t through(format other, std::uint64_t code, format own) {
  const policy& beyond = other.bits() <= 8 ? keep_specials : cuda_nosat;
  return widened(other, recode(own, code, other, {}, beyond), own);
}

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_PARITY_NUMBERS_HPP_
