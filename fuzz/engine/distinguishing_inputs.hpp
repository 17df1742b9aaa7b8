// Defines `separate`: inputs that tell a path from other values of its
// parameters.

#ifndef ZEROULP_FUZZ_ENGINE_DISTINGUISHING_INPUTS_HPP_
#define ZEROULP_FUZZ_ENGINE_DISTINGUISHING_INPUTS_HPP_

#include <vector>

#include "fuzz/engine/full_step.hpp"
#include "fuzz/engine/parameter_neighbours.hpp"

namespace zeroulp::fuzz {

/// Returns true iff each other value of the parameter gives another D.
bool refutes(const path& p, const parameter& q, const step_case& s);

struct separation {
  std::vector<step_case> cases;  ///< all different
  /// By parameter: how many cases refute all its other values.
  std::vector<std::size_t> refuting;
};

/// Returns cases of which at least `wanted` refute each of `parameters`; one
/// case may refute several. There are fewer if the search ends before it finds
/// them: see `refuting`.
separation separate(const path& p, const std::vector<parameter>& parameters,
                    std::size_t wanted, std::uint64_t seed);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_DISTINGUISHING_INPUTS_HPP_
