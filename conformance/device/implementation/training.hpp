// Defines the training path's kernels as training_functions. gpu_training.cu
// has SwiGLU, RMSNorm and the elementary functions, gpu_training_state.cu the
// functions with state or slots.

#ifndef ZEROULP_CONFORMANCE_DEVICE_IMPLEMENTATION_TRAINING_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_IMPLEMENTATION_TRAINING_HPP_

#include "conformance/checks/training/training_functions.hpp"

namespace zeroulp::conformance::device {

adamw_factors factors_on_gpu(const adamw_settings& s);
/// Sets adamw, combine and dispatch.
void set_gpu_state(implementation& i);
/// Sets every function of the training path.
void set_gpu_training(implementation& i);

training_functions gpu_training();

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_IMPLEMENTATION_TRAINING_HPP_
