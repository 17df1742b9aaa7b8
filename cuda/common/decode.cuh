// Defines how kernels decode codes: in pairs to FP16, then to FP32. FP16 holds
// every number, Inf and NaN of E4M3, E5M2 and E5M6, so this is exact.

#ifndef ZEROULP_CUDA_COMMON_DECODE_CUH_
#define ZEROULP_CUDA_COMMON_DECODE_CUH_

#include "cuda/common/vec8.cuh"
#include "cuda/ptx/arithmetic.cuh"

namespace zeroulp::cuda {

/// Codes 2 k and 2 k + 1 as two FP16 numbers, the first in the low half. Bits
/// above a code's are ignored.
template <class In>
__device__ std::uint32_t fp16x2_of(const std::uint32_t* words, int k) {
  if constexpr (In::as_format == e5m6) {
    return words[k] << 4 & 0xfff0fff0;  // FP16 has four more fraction bits
  } else if constexpr (In::as_format == e5m2) {
    return __byte_perm(words[k / 2], 0, k % 2 == 0 ? 0x1404 : 0x3424);
  } else {
    static_assert(In::as_format == e4m3);
    const std::uint32_t word = words[k / 2];
    return k % 2 == 0 ? ptx::cvt_f16x2_of_low_e4m3x2(word)
                      : ptx::cvt_f16x2_of_high_e4m3x2(word);
  }
}

/// Half `i` of two FP16 numbers as an FP32 number.
__device__ inline float fp16_value(std::uint32_t halves, int i) {
  return __half2float(
      __ushort_as_half(static_cast<unsigned short>(halves >> 16 * i & 0xffff)));
}

/// Code i as an FP32 number.
template <class In>
__device__ float decoded(const std::uint32_t* words, int i) {
  return fp16_value(fp16x2_of<In>(words, i / 2), i % 2);
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_DECODE_CUH_
