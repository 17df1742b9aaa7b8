// Defines how the host and kernels ask whether the rows of a matrix are
// aligned.

#ifndef ZEROULP_CUDA_COMMON_ALIGNMENT_HPP_
#define ZEROULP_CUDA_COMMON_ALIGNMENT_HPP_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace zeroulp::cuda {

/// Returns true iff all rows start on multiples of `bytes`, a power of two.
__host__ __device__ inline bool starts_on(int bytes, const void* data,
                                          std::ptrdiff_t stride_in_bytes) {
  return (reinterpret_cast<std::uintptr_t>(data) |
          static_cast<std::uintptr_t>(stride_in_bytes)) %
             static_cast<std::uintptr_t>(bytes) ==
         0;
}

/// Returns true iff eight elements from the start of any row can be accessed at
/// once.
template <int Bytes>
bool is_vectorized(const void* data, std::ptrdiff_t stride) {
  return starts_on(Bytes == 4 ? 16 : 8 * Bytes, data, stride * Bytes);
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_ALIGNMENT_HPP_
