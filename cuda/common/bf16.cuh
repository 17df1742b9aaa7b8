// Defines how kernels round FP32 numbers to BF16: nearest-even, by one
// instruction for two, or stochastically. NaN becomes 0x7fff.

#ifndef ZEROULP_CUDA_COMMON_BF16_CUH_
#define ZEROULP_CUDA_COMMON_BF16_CUH_

#include <cuda_runtime.h>

#include <cstdint>

namespace zeroulp::cuda {

/// Rounds stochastically: adds 16 random bits to the 16 that are discarded. A
/// carry rounds away from zero, in subnormals too, and takes the largest number
/// to Inf.
__device__ inline std::uint32_t to_bf16_stochastic(float x,
                                                   std::uint32_t random) {
  const std::uint32_t code = (__float_as_uint(x) + (random >> 16)) >> 16;
  return isnan(x) ? 0x7fff : code;
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_BF16_CUH_
