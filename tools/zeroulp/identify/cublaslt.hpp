// Defines `identify cublaslt`: by which algorithm cuBLASLt multiplies the
// shapes of a file here, and that its bits are those of the recipe which SPEC
// G10 says.

#ifndef ZEROULP_TOOLS_ZEROULP_IDENTIFY_CUBLASLT_HPP_
#define ZEROULP_TOOLS_ZEROULP_IDENTIFY_CUBLASLT_HPP_

#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

void add_identify_cublaslt(cli::app& app, outcome& out);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_IDENTIFY_CUBLASLT_HPP_
