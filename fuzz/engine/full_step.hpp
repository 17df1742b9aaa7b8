// Defines cases of the target `step` as an instruction takes them: with all of
// its products. What a case of the engine has less is +0 * +0.

#ifndef ZEROULP_FUZZ_ENGINE_FULL_STEP_HPP_
#define ZEROULP_FUZZ_ENGINE_FULL_STEP_HPP_

#include "conformance/cases/step_cases.hpp"
#include "fuzz/cases/problem.hpp"

namespace zeroulp::fuzz {

using conformance::step_case;

/// Lengthens the operands to those of an instruction, without guards behind;
/// where p takes any number of products, to at least one.
void fill_up(const path& p, step_case& s);

/// Returns case `index` of a profile for `p`, filled up. Throws input_error if
/// the engine has no cases of it.
step_case full_step(const path& p, int profile, std::uint64_t seed,
                    std::uint64_t index);

/// Returns the case as a problem of the target `step`.
problem problem_of(const path& p, const step_case& s);

/// Returns D of the core.
std::uint64_t core_step(const path& p, const step_case& s);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_FULL_STEP_HPP_
