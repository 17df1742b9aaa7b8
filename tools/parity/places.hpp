// Defines rules and descriptions that are of places: outputs that are one
// value, scales that are lost in one place, where an output is not as claimed.
// Internal.

#ifndef ZEROULP_TOOLS_PARITY_PLACES_HPP_
#define ZEROULP_TOOLS_PARITY_PLACES_HPP_

#include <string>
#include <vector>

#include "tools/parity/rules.hpp"

namespace zeroulp::parity {

/// "y all 0": outputs that are one value where the claim has several.
std::vector<rule> rules_of_one_value(const question& q);

/// A quantizer's scales that are 1 in a few places, in what it wrote or already
/// when it made codes; a tile that a GEMM multiplies without its scale.
std::vector<rule> rules_of_lost_scales(const question& q);

/// An operand that the operator before made and did not round.
std::vector<rule> rules_of_unrounded(const question& q);

/// A rope whose cosines and sines are another library's.
std::vector<rule> rules_of_read_tables(const question& q);

/// The first element that is not the one that is said, with both values, and
/// what the places of all such have in common. `who` says it: "claimed".
std::vector<std::string> places_of(const outputs& all_made,
                                   const outputs& all_said, const problem& p,
                                   const char* who);

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_PARITY_PLACES_HPP_
