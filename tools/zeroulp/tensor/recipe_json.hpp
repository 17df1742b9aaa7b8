// Defines a GEMM recipe as JSON: what `zeroulp recipes NAME --json` prints and
// gemm --recipe FILE reads.

#ifndef ZEROULP_TOOLS_ZEROULP_TENSOR_RECIPE_JSON_HPP_
#define ZEROULP_TOOLS_ZEROULP_TENSOR_RECIPE_JSON_HPP_

#include "tools/zeroulp/tensor/json_fields.hpp"

namespace zeroulp::program {

const json_kind<recipe>& recipe_json();

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_TENSOR_RECIPE_JSON_HPP_
