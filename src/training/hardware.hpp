// Defines `hardware_fp32`: the arithmetic of core/elementary.hpp by the
// processor's floats. Within a float_mode that rounds to nearest its bits are
// the core's. Internal.

#ifndef ZEROULP_SRC_TRAINING_HARDWARE_HPP_
#define ZEROULP_SRC_TRAINING_HARDWARE_HPP_

#include "zeroulp/core/training.hpp"

namespace zeroulp {

struct hardware_fp32 {
  using number = float;

  static float from_bits(std::uint32_t b) { return bit_cast<float>(b); }
  static std::uint32_t bits(float a) {
    return a != a ? fp32_nan : bit_cast<std::uint32_t>(a);
  }

  static float negate(float a) { return -a; }
  static float absolute(float a) { return __builtin_fabsf(a); }
  static float minimum(float a, float b) { return a < b || a != a ? a : b; }

  static float add(float a, float b) { return a + b; }
  static float subtract(float a, float b) { return a - b; }
  static float multiply(float a, float b) { return a * b; }
  static float fma(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
  }
  static float divide(float a, float b) { return a / b; }
  static float square_root(float a) { return __builtin_sqrtf(a); }
  static float reciprocal(float a) { return 1 / a; }
  static float round_to_bf16(float a) {
    const std::uint32_t b = bits(a);
    const std::uint32_t up = b + 0x7fff + (b >> 16 & 1);
    return from_bits(a != a ? b : up & 0xffff0000);
  }
};

}  // namespace zeroulp

#endif  // ZEROULP_SRC_TRAINING_HARDWARE_HPP_
