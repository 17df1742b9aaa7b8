// Defines `hardware_fp64`: the arithmetic of core/elementary_fp64.hpp by the
// processor's doubles. Within a float_mode that rounds to nearest its bits are
// the core's. Internal.

#ifndef ZEROULP_SRC_MODEL_HARDWARE_HPP_
#define ZEROULP_SRC_MODEL_HARDWARE_HPP_

#include "src/training/hardware.hpp"
#include "zeroulp/core/model/elementary_fp64.hpp"

namespace zeroulp {

struct hardware_fp64 {
  using number = double;

  static double from_bits(std::uint64_t b) { return bit_cast<double>(b); }
  static std::uint64_t bits(double a) {
    return a != a ? 0x7fffffffffffffff : bit_cast<std::uint64_t>(a);
  }
  static double widen(std::uint32_t b) {
    return static_cast<double>(bit_cast<float>(b));
  }
  static std::uint32_t narrow(double a) {
    return hardware_fp32::bits(static_cast<float>(a));
  }

  static double add(double a, double b) { return a + b; }
  static double subtract(double a, double b) { return a - b; }
  static double multiply(double a, double b) { return a * b; }
  static double fma(double a, double b, double c) {
    return __builtin_fma(a, b, c);
  }
  static double divide(double a, double b) { return a / b; }
};

}  // namespace zeroulp

#endif  // ZEROULP_SRC_MODEL_HARDWARE_HPP_
