// Defines how the numbers of a `step` case are made (fill.cpp).

#ifndef ZEROULP_FUZZ_TARGETS_STEP_FILL_HPP_
#define ZEROULP_FUZZ_TARGETS_STEP_FILL_HPP_

#include <vector>

#include "fuzz/cases/problem.hpp"

namespace zeroulp::fuzz {

std::vector<const char*> step_profiles();
void fill_step(problem&, int profile, counter_rng&);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_TARGETS_STEP_FILL_HPP_
