// Defines cases of the target `step` with all products that an instruction
// takes. The products that a case of the engine lacks are +0 * +0.

#ifndef ZEROULP_FUZZ_ENGINE_FULL_STEP_HPP_
#define ZEROULP_FUZZ_ENGINE_FULL_STEP_HPP_

#include "conformance/cases/step_cases.hpp"
#include "fuzz/cases/problem.hpp"

namespace zeroulp::fuzz {

using conformance::step_case;

/// Extends the operands to an instruction's length and drops the guards behind
/// them. Where p takes any number of products, the length is at least one.
void fill_up(const path& p, step_case& s);

/// Returns case `index` of a profile for `p`, filled up. Throws input_error if
/// the engine has no cases for `p`.
step_case full_step(const path& p, int profile, std::uint64_t seed,
                    std::uint64_t index);

/// Returns the case as a problem of the target `step`.
problem problem_of(const path& p, const step_case& s);

/// Returns the core's D.
std::uint64_t core_step(const path& p, const step_case& s);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_FULL_STEP_HPP_
