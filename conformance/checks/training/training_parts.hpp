// The parts that training_checks.cpp's list is made of.

#ifndef ZEROULP_CONFORMANCE_CHECKS_TRAINING_TRAINING_PARTS_HPP_
#define ZEROULP_CONFORMANCE_CHECKS_TRAINING_TRAINING_PARTS_HPP_

#include "conformance/checks/training/training_functions.hpp"
#include "conformance/oracles/training_oracle.hpp"

namespace zeroulp::conformance {

// training_matrix_checks.cpp
verdict swiglu_forward_checks(const training_functions&, const effort&);
verdict swiglu_backward_checks(const training_functions&, const effort&);
verdict rms_norm_checks(const training_functions&, const effort&);

// training_state_checks.cpp
verdict adamw_factor_checks(const training_functions&, const effort&);
verdict adamw_checks(const training_functions&, const effort&);
verdict combine_checks(const training_functions&, const effort&);
verdict dispatch_checks(const training_functions&, const effort&);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CHECKS_TRAINING_TRAINING_PARTS_HPP_
