// Defines the checks of a training step's kernels: those of the model's
// operators (checks/model), on the GPU. This header includes no CUDA.

#ifndef ZEROULP_CONFORMANCE_DEVICE_MODEL_MODEL_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_MODEL_MODEL_HPP_

#include "conformance/checks/model/model_functions.hpp"

namespace zeroulp::conformance::device {

/// The kernels; what runs on the host alone is the engine's.
model_functions gpu_model();

/// Each check of the model's operators on them, products of the tensor core
/// with every span and layout against the engine, and the checks below.
check_list kernel_model_checks();
/// Attention by the fused kernels.
check_list kernel_model_attention_checks();
/// What moves, adds or assembles rows, and digests of bytes.
check_list kernel_model_row_checks();

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_MODEL_MODEL_HPP_
