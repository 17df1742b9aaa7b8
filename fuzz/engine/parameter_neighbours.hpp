// Defines what stands beside each parameter of a path: other steps, that differ
// from it in one value. An input on which they give another D says that the
// parameter has its value and not theirs.
//
//   F: one less, one more      floor: one less, one more, none
//   L: half                    conversion and cut: every other rounding
//
// Source: SPEC clauses T1 to T12. Left out: an L of twice as many products,
// which is no other step where an instruction takes L of them.

#ifndef ZEROULP_FUZZ_ENGINE_PARAMETER_NEIGHBOURS_HPP_
#define ZEROULP_FUZZ_ENGINE_PARAMETER_NEIGHBOURS_HPP_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "zeroulp/core/path.hpp"

namespace zeroulp::fuzz {

/// D of one step, as implementation::step has it.
using step_function = std::function<std::uint64_t(
    const path&, const std::uint64_t* a, const std::uint64_t* b, int count,
    std::uint64_t c)>;

struct neighbour {
  std::string name;  ///< e.g. "12"
  step_function step;
};

/// A parameter and its other values, all of which one input can refute. Where
/// none can, as for the roundings of positive and of negative sums, its parts
/// are parameters of their own.
struct parameter {
  std::string name;  ///< e.g. "F"
  std::vector<neighbour> others;
};

/// Returns the parameters of a path that is none of the what-ifs: terms are cut
/// toward zero, c with them. Values that no input tells from the path's are
/// left out.
std::vector<parameter> parameters_of(const path& p);

/// Returns the lowest exponent floor that changes what a step without floor
/// keeps of its terms. (A result's format may hide it all the same.)
int lowest_floor_that_cuts(const path& p);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_PARAMETER_NEIGHBOURS_HPP_
