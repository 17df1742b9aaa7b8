// Defines `separate`: inputs that tell a path from what stands beside its
// parameters.

#ifndef ZEROULP_FUZZ_ENGINE_DISTINGUISHING_INPUTS_HPP_
#define ZEROULP_FUZZ_ENGINE_DISTINGUISHING_INPUTS_HPP_

#include <vector>

#include "fuzz/engine/full_step.hpp"
#include "fuzz/engine/parameter_neighbours.hpp"

namespace zeroulp::fuzz {

/// Returns true iff every other value of the parameter gives another D.
bool refutes(const path& p, const parameter& q, const step_case& s);

struct separation {
  std::vector<step_case> cases;  ///< no two alike
  /// How many of them refute each parameter's other values.
  std::vector<std::size_t> refuting;
};

/// Returns cases of which at least `wanted` refute each of `parameters`; one
/// may refute several. Fewer where the search ends before it finds them:
/// `refuting` says so.
separation separate(const path& p, const std::vector<parameter>& parameters,
                    std::size_t wanted, std::uint64_t seed);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_DISTINGUISHING_INPUTS_HPP_
