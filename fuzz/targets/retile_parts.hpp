// Defines what the files of the target `retile` share.

#ifndef ZEROULP_FUZZ_TARGETS_RETILE_PARTS_HPP_
#define ZEROULP_FUZZ_TARGETS_RETILE_PARTS_HPP_

#include "fuzz/targets/matrix_parts.hpp"

namespace zeroulp::fuzz {

inline retiling retiling_of(const settings& s) {
  return {s.from, s.to, s.scale, s.tile, s.rule};
}

std::vector<operand_spec> retile_operands(const settings&);
void fill_retile(problem&, int profile, counter_rng&);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_TARGETS_RETILE_PARTS_HPP_
