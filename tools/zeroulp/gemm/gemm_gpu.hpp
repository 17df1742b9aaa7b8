// Defines how `zeroulp gemm --gpu` and the study compute on a GPU. No CUDA in
// this header.

#ifndef ZEROULP_TOOLS_ZEROULP_GEMM_GEMM_GPU_HPP_
#define ZEROULP_TOOLS_ZEROULP_GEMM_GEMM_GPU_HPP_

#include <cstdint>
#include <string>

#include "zeroulp/core/gemm.hpp"

namespace zeroulp::program {

/// Returns which GPU there is, with its driver and CUDA. Throws input_error, as
/// `who`, where this build has no kernels, or no GPU of compute capability 9.0
/// to run them on.
std::string require_gpu(const char* who);

/// D as engine::gemm has it, from the GPU: by its tensor core where cuda::gemm
/// serves the request, else by cuda::emulate_gemm. Returns by which. Throws
/// where this build has no kernels, or no GPU to run them on.
std::string gemm_on_gpu(const recipe& r, const gemm_operand<std::uint32_t>& a,
                        const gemm_operand<std::uint32_t>& b,
                        matrix_view<const std::uint32_t> c,
                        matrix_view<std::uint32_t> d);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_GEMM_GEMM_GPU_HPP_
