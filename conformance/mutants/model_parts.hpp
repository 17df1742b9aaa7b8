// Defines the parts of model_mutants(): one list an operator. Internal.

#ifndef ZEROULP_CONFORMANCE_MUTANTS_MODEL_PARTS_HPP_
#define ZEROULP_CONFORMANCE_MUTANTS_MODEL_PARTS_HPP_

#include "conformance/mutants/mutant.hpp"

namespace zeroulp::conformance {

mutant_list attention_mutants();

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_MUTANTS_MODEL_PARTS_HPP_
