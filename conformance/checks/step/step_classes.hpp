// Defines the exhaustive part of the step checks: every class of alignment of
// two products, and of a product and c.

#ifndef ZEROULP_CONFORMANCE_CHECKS_STEP_STEP_CLASSES_HPP_
#define ZEROULP_CONFORMANCE_CHECKS_STEP_STEP_CLASSES_HPP_

#include "conformance/contract/registry.hpp"

namespace zeroulp::conformance {

check_list step_class_checks();

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CHECKS_STEP_STEP_CLASSES_HPP_
