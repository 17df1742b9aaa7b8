// Defines the training path's kernels as training_functions: matrices and
// elementary functions in gpu_training.cu, what has state or slots in
// gpu_training_state.cu.

#ifndef ZEROULP_CONFORMANCE_DEVICE_GPU_TRAINING_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_GPU_TRAINING_HPP_

#include "conformance/checks/training/training_functions.hpp"

namespace zeroulp::conformance::device {

adamw_factors factors_on_gpu(const adamw_settings& s);
/// Sets adamw, combine and dispatch.
void set_gpu_state(implementation& i);
/// Sets every function of the training path.
void set_gpu_training(implementation& i);

training_functions gpu_training();

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_GPU_TRAINING_HPP_
