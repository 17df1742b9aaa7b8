// Defines the training path's kernels as training_functions: matrices and
// elementary functions in gpu_training.cu, what has state or slots in
// gpu_training_state.cu.

#ifndef ZEROULP_CONFORMANCE_DEVICE_GPU_TRAINING_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_GPU_TRAINING_HPP_

#include "conformance/checks/training_functions.hpp"

namespace zeroulp::conformance::device {

/// Sets adamw, factors, combine and dispatch.
void fill_gpu_state(training_functions& f);

training_functions gpu_training();

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_GPU_TRAINING_HPP_
