// Defines a quantizer convention as JSON: what `zeroulp conventions NAME
// --json` prints and --convention FILE reads.

#ifndef ZEROULP_TOOLS_ZEROULP_TENSOR_CONVENTION_JSON_HPP_
#define ZEROULP_TOOLS_ZEROULP_TENSOR_CONVENTION_JSON_HPP_

#include "tools/zeroulp/tensor/json_fields.hpp"

namespace zeroulp::program {

const json_kind<convention>& convention_json();

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_TENSOR_CONVENTION_JSON_HPP_
