// Defines `device_fp32`: the arithmetic of core/elementary.hpp by Hopper's FP32
// instructions, in device code. Its bits are the core's: every instruction
// returns 0x7fffffff for NaN.

#ifndef ZEROULP_CUDA_COMMON_ARITHMETIC_CUH_
#define ZEROULP_CUDA_COMMON_ARITHMETIC_CUH_

#include <cuda_bf16.h>

#include "cuda/ptx/arithmetic.cuh"
#include "zeroulp/core/training.hpp"

namespace zeroulp::cuda {

// The core's functions are __host__ __device__, so these must be, too. Host
// code never calls them.
#ifdef __CUDA_ARCH__
#define ZEROULP_DEVICE_RETURN(value) return value
#else
#define ZEROULP_DEVICE_RETURN(value) \
  return {}
#endif

struct device_fp32 {
  using number = float;

  static ZEROULP_HD float from_bits(std::uint32_t b) {
    ZEROULP_DEVICE_RETURN(__uint_as_float(b));
  }
  static ZEROULP_HD std::uint32_t bits(float a) {
    ZEROULP_DEVICE_RETURN(__float_as_uint(a));
  }

  static ZEROULP_HD float negate(float a) { return -a; }
  static ZEROULP_HD float absolute(float a) { ZEROULP_DEVICE_RETURN(fabsf(a)); }
  static ZEROULP_HD float minimum(float a, float b) {
    ZEROULP_DEVICE_RETURN(ptx::min_nan(a, b));
  }

  static ZEROULP_HD float add(float a, float b) {
    ZEROULP_DEVICE_RETURN(__fadd_rn(a, b));
  }
  static ZEROULP_HD float subtract(float a, float b) {
    ZEROULP_DEVICE_RETURN(__fsub_rn(a, b));
  }
  static ZEROULP_HD float multiply(float a, float b) {
    ZEROULP_DEVICE_RETURN(__fmul_rn(a, b));
  }
  static ZEROULP_HD float fma(float a, float b, float c) {
    ZEROULP_DEVICE_RETURN(__fmaf_rn(a, b, c));
  }
  static ZEROULP_HD float divide(float a, float b) {
    ZEROULP_DEVICE_RETURN(__fdiv_rn(a, b));
  }
  static ZEROULP_HD float square_root(float a) {
    ZEROULP_DEVICE_RETURN(__fsqrt_rn(a));
  }
  /// fl(1 / a) for 1/2 <= a < 4.
  static ZEROULP_HD float reciprocal(float a) {
    ZEROULP_DEVICE_RETURN(refined(a, ptx::rcp_approx(a)));
  }
  static ZEROULP_HD float round_to_bf16(float a) {
    ZEROULP_DEVICE_RETURN(isnan(a) ? __uint_as_float(fp32_nan)
                                   : __bfloat162float(__float2bfloat16_rn(a)));
  }

 private:
  /// One Newton step.
  static __device__ float refined(float a, float y) {
    return __fmaf_rn(__fmaf_rn(-a, y, 1), y, y);
  }
};

#undef ZEROULP_DEVICE_RETURN

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_ARITHMETIC_CUH_
