// Defines the two ways of attention on the GPU, which have the same bits:
//
//   fused     a kernel a pass for the usual widths of a head; scores stay on
//             the chip
//   composed  products by gemm_bf16, and kernels between them; scores are in
//             memory; any widths
//
// cuda::attention_forward and attention_backward choose. Internal.

#ifndef ZEROULP_CUDA_MODEL_ATTENTION_HPP_
#define ZEROULP_CUDA_MODEL_ATTENTION_HPP_

#include "cuda/common/argument_checks.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::cuda {

/// Returns true iff there are fused kernels for the widths of a head.
bool is_fused(const attention_shape& s);

// The fused way. The caller has checked the shapes. Rows of q, k, v and d_o
// start on multiples of 16 bytes. Work: room for one sequence, aligned to 256.

std::size_t fused_attention_work_bytes(const attention_shape& s,
                                       std::ptrdiff_t sequences);
void fused_attention_forward(const argument_checks& r, const attention_shape& s,
                             const engine::attention_inputs& t,
                             matrix_view<std::uint16_t> o,
                             matrix_view<std::uint32_t> largest,
                             matrix_view<std::uint32_t> inverse,
                             CUstream_st* stream);
void fused_attention_backward(const argument_checks& r,
                              const attention_shape& s,
                              const engine::attention_inputs& t,
                              const engine::attention_kept& kept,
                              matrix_view<const std::uint16_t> d_o,
                              const engine::attention_gradients_out& out,
                              std::span<std::byte> work, CUstream_st* stream);

// The composed way, as the functions of cuda_model.hpp.

std::size_t composed_attention_work_bytes(const attention_shape& s,
                                          std::ptrdiff_t sequences);
void composed_attention_forward(const attention_shape& s,
                                const engine::attention_inputs& t,
                                matrix_view<std::uint16_t> o,
                                matrix_view<std::uint32_t> largest,
                                matrix_view<std::uint32_t> inverse,
                                std::span<std::byte> work,
                                CUstream_st* stream = nullptr);
void composed_attention_backward(const attention_shape& s,
                                 const engine::attention_inputs& t,
                                 const engine::attention_kept& kept,
                                 matrix_view<const std::uint16_t> d_o,
                                 const engine::attention_gradients_out& out,
                                 std::span<std::byte> work,
                                 CUstream_st* stream = nullptr);

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_MODEL_ATTENTION_HPP_
