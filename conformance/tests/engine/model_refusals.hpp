// Declares what holds the refusals of a model's operators: shapes, indices and
// settings that do not fit.

#ifndef ZEROULP_CONFORMANCE_TESTS_ENGINE_MODEL_REFUSALS_HPP_
#define ZEROULP_CONFORMANCE_TESTS_ENGINE_MODEL_REFUSALS_HPP_

#include <string>

#include "conformance/checks/model/model_functions.hpp"

namespace zeroulp::conformance {

/// Returns the first request whose error is another than expected, or "".
std::string wrong_model_refusal(const model_functions& f);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_TESTS_ENGINE_MODEL_REFUSALS_HPP_
