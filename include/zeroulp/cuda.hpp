// Defines what runs on a GPU of compute capability 9.0: pointers are to device
// memory, work goes to a stream, every function checks its request first.
//
//   cuda::emulate_gemm(recipe, a, b, c, d, stream)     the bits of
//   core/gemm.hpp
//
// Throws input_error for bad requests and for what CUDA reports.

#ifndef ZEROULP_CUDA_HPP_
#define ZEROULP_CUDA_HPP_

#include <cstdint>

#include "zeroulp/core/gemm.hpp"

// cudaStream_t is a pointer to this.
struct CUstream_st;

namespace zeroulp::cuda {

/// An operand of a GEMM, mn x k codes, row i at codes + i * stride elements:
/// uint8_t for formats of up to 8 bits, uint16_t up to 16, else uint32_t.
struct operand {
  format element;
  const void* codes = nullptr;
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
  std::ptrdiff_t stride = 0;
  /// FP32 bits, one for each group of the recipe's granularity; null data:
  /// none.
  matrix_view<const std::uint32_t> scales{};
};

/// D = A B^T by `r`, as core/gemm.hpp defines it, on ordinary GPU cores: an
/// emulator of the tensor core. `c` (m x n, FP32 bits) may have null data
/// unless the epilogue accumulates; `d` is m x n: FP32 bits, or BF16 codes in
/// words. Accumulators that are not Hopper's run through the core itself,
/// slowly.
void emulate_gemm(const recipe& r, const operand& a, const operand& b,
                  matrix_view<const std::uint32_t> c,
                  matrix_view<std::uint32_t> d, CUstream_st* stream = nullptr);

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_HPP_
