// Defines the neighbours of each parameter of a path: steps that differ from
// the path in one value. An input on which they all give another D proves that
// the parameter has its value and not theirs.
//
//   F: one less, one more      floor: one less, one more, none
//   L: half                    conversion and cut: every other rounding
//
// Source: SPEC clauses T1 to T12. Left out: an L of twice as many products: it
// makes no difference where an instruction takes only L of them.

#ifndef ZEROULP_FUZZ_ENGINE_PARAMETER_NEIGHBOURS_HPP_
#define ZEROULP_FUZZ_ENGINE_PARAMETER_NEIGHBOURS_HPP_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "zeroulp/core/path.hpp"

namespace zeroulp::fuzz {

/// Returns D of one step, as implementation::step does.
using step_function = std::function<std::uint64_t(
    const path&, const std::uint64_t* a, const std::uint64_t* b, int count,
    std::uint64_t c)>;

struct neighbour {
  std::string name;  ///< e.g. "12"
  step_function step;
};

/// A parameter and its other values, all of which one input can refute. Where
/// no single input can, the parts are parameters of their own, as are the
/// roundings of positive and of negative sums.
struct parameter {
  std::string name;  ///< e.g. "F"
  std::vector<neighbour> others;
};

/// Returns the parameters of a path that is not a what-if: terms are cut toward
/// zero, c with them. Values that no input can tell from the path's are left
/// out.
std::vector<parameter> parameters_of(const path& p);

/// Returns the lowest exponent floor that changes which bits a step without
/// floor keeps of its terms. (The result's format may still hide the change.)
int lowest_floor_that_cuts(const path& p);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_PARAMETER_NEIGHBOURS_HPP_
