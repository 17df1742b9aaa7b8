// Declares the checks of the step with block scales.

#ifndef ZEROULP_CONFORMANCE_CHECKS_STEP_BLOCK_SCALED_CHECKS_HPP_
#define ZEROULP_CONFORMANCE_CHECKS_STEP_BLOCK_SCALED_CHECKS_HPP_

#include "conformance/contract/registry.hpp"

namespace zeroulp::conformance {

/// SPEC T17 to T20; step_checks() has them.
check_list block_scaled_checks();

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CHECKS_STEP_BLOCK_SCALED_CHECKS_HPP_
