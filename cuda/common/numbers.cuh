// Defines matrices of numbers whose format is known only at run time, accessed
// one element at a time.

#ifndef ZEROULP_CUDA_COMMON_NUMBERS_CUH_
#define ZEROULP_CUDA_COMMON_NUMBERS_CUH_

#include <cuda_fp16.h>

#include "cuda/common/bf16.cuh"
#include "cuda/common/tile.cuh"
#include "cuda/common/vec8.cuh"
#include "cuda/ptx/arithmetic.cuh"

namespace zeroulp::cuda {

enum class number_kind : std::uint8_t { fp32, bf16, fp16 };

constexpr bool is_number(format f) {
  return f == fp32 || f == bf16 || f == fp16;
}
constexpr number_kind number_kind_of(format f) {
  return f == fp32   ? number_kind::fp32
         : f == bf16 ? number_kind::bf16
                     : number_kind::fp16;
}

/// Without data the matrix is not wanted.
struct number_matrix {
  device_rows rows;
  number_kind kind;

  __device__ float at(std::ptrdiff_t i, std::ptrdiff_t j) const {
    if (kind == number_kind::fp32) {
      return __uint_as_float(
          reinterpret_cast<const std::uint32_t*>(rows.row<4>(i))[j]);
    }
    const std::uint32_t code =
        reinterpret_cast<const std::uint16_t*>(rows.row<2>(i))[j];
    return kind == number_kind::bf16 ? value_of<bf16_elements>(code)
                                     : value_of<fp16_elements>(code);
  }

  /// Rounds to nearest-even. NaN becomes 0x7fff, or 0x7fffffff in FP32 if x has
  /// these bits.
  __device__ void put(std::ptrdiff_t i, std::ptrdiff_t j, float x) const {
    if (rows.data == nullptr) return;
    if (kind == number_kind::fp32) {
      reinterpret_cast<float*>(rows.row<4>(i))[j] = x;
      return;
    }
    const std::uint32_t code = kind == number_kind::bf16
                                   ? ptx::cvt_bf16x2(x, 0.0f)
                                   : __half_as_ushort(__float2half_rn(x));
    reinterpret_cast<std::uint16_t*>(rows.row<2>(i))[j] =
        static_cast<std::uint16_t>(code);
  }
};

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_NUMBERS_CUH_
