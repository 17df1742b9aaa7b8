// Defines the subcommands of `vectors` that make files; what they need of the
// case engine may be absent, and they say so.

#ifndef ZEROULP_TOOLS_ZEROULP_VECTORS_VECTORS_HPP_
#define ZEROULP_TOOLS_ZEROULP_VECTORS_VECTORS_HPP_

#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

void add_vectors_generate(cli::app& vectors, outcome& out);
void add_vectors_record(cli::app& vectors, outcome& out);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_VECTORS_VECTORS_HPP_
