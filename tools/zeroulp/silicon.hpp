// Defines the opponents that only the program has: the tensor core itself and
// the kernels. Plug-ins: plugins.hpp.

#ifndef ZEROULP_TOOLS_ZEROULP_SILICON_HPP_
#define ZEROULP_TOOLS_ZEROULP_SILICON_HPP_

#include <string_view>

#include "fuzz/engine/opponent.hpp"

namespace zeroulp::program {

/// Returns the opponent called `name`: those of fuzz::parse_opponent, and
/// `silicon`, which answers steps of paths that an instruction follows, and
/// `gpu`, the kernels. Throws input_error, also if there is no GPU for it.
fuzz::opponent find_opponent(std::string_view name, fuzz::target t);

/// Returns what keeps settings to those that `o` can answer; may be empty.
fuzz::pins limits_of(const fuzz::opponent& o, fuzz::target t);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_SILICON_HPP_
