// Defines which conventions have the same bits under FP32 scales.

#ifndef ZEROULP_CONFORMANCE_TESTS_FUZZ_CONVENTION_PARTS_HPP_
#define ZEROULP_CONFORMANCE_TESTS_FUZZ_CONVENTION_PARTS_HPP_

#include <string>
#include <vector>

#include "zeroulp/core/convention.hpp"

namespace zeroulp {

/// Whether two conventions differ in rules of power-of-two scales at most.
inline bool same_with_fp32_scales(convention a, convention b) {
  for (convention* c : {&a, &b}) {
    c->exponent = exponent_rule::exact;
    c->unrounded_inverse = c->power_of_two = false;
  }
  return a == b;
}

/// The names of all that are the same as `how` so where no scale is below
/// 2^-126.
inline std::vector<std::string> names_with_fp32_scales(const convention& how) {
  const auto without_least_floor = [](convention c) {
    if (c.scale_floor == 0x00800000) c.scale_floor = 0;
    return c;
  };
  std::vector<std::string> names;
  for (const auto& other : named_conventions) {
    if (same_with_fp32_scales(without_least_floor(other.value),
                              without_least_floor(how))) {
      names.emplace_back(other.name);
    }
  }
  return names;
}

}  // namespace zeroulp

#endif  // ZEROULP_CONFORMANCE_TESTS_FUZZ_CONVENTION_PARTS_HPP_
