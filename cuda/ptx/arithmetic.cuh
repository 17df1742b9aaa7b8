// Defines arithmetic and conversion instructions that CUDA C++ has no function
// for, or none that gives exactly this instruction. In a pair, the first number
// is in the low half.
//
// Source: PTX ISA 9.0.

#ifndef ZEROULP_CUDA_PTX_ARITHMETIC_CUH_
#define ZEROULP_CUDA_PTX_ARITHMETIC_CUH_

#include <cuda_runtime.h>

#include <cstdint>

namespace zeroulp::cuda::ptx {

__device__ inline float rcp_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float rsqrt_approx(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float ex2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// NaN if either is NaN.
__device__ inline float min_nan(float a, float b) {
  float least;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
  return least;
}
/// NaN if either is NaN.
__device__ inline float max_nan(float a, float b) {
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
  return most;
}

/// The larger magnitudes of two pairs of BF16, of any sign; NaN if either is
/// NaN.
__device__ inline std::uint32_t max_nan_xorsign_abs_bf16x2(std::uint32_t a,
                                                           std::uint32_t b) {
  std::uint32_t most;
  asm("max.NaN.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(most) : "r"(a), "r"(b));
  return most;
}
/// The smaller magnitudes of two pairs of FP16, with the signs' product.
__device__ inline std::uint32_t min_xorsign_abs_f16x2(std::uint32_t a,
                                                      std::uint32_t b) {
  std::uint32_t least;
  asm("min.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(least) : "r"(a), "r"(b));
  return least;
}
__device__ inline std::uint32_t min_f16x2(std::uint32_t a, std::uint32_t b) {
  std::uint32_t least;
  asm("min.f16x2 %0, %1, %2;" : "=r"(least) : "r"(a), "r"(b));
  return least;
}
/// The larger of |a| and |b| in each half; NaN if either is NaN.
__device__ inline std::uint32_t max_nan_abs_f16x2(std::uint32_t a,
                                                  std::uint32_t b) {
  std::uint32_t most;
  asm("{ .reg .b32 m, n; abs.f16x2 m, %1; abs.f16x2 n, %2; "
      "max.NaN.f16x2 %0, m, n; }"
      : "=r"(most)
      : "r"(a), "r"(b));
  return most;
}
__device__ inline std::uint32_t mul_f16x2(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
  return product;
}

// Conversions: to BF16 and FP16, rounded to nearest even unless the name says
// otherwise.

__device__ inline std::uint32_t cvt_bf16x2(float first, float second) {
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
__device__ inline std::uint16_t cvt_bf16(float x) {
  std::uint16_t code;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(code) : "f"(x));
  return code;
}
__device__ inline std::uint32_t cvt_f16x2(float first, float second) {
  std::uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
/// Toward zero, at most to the largest.
__device__ inline std::uint32_t cvt_rz_f16x2(float first, float second) {
  std::uint32_t pair;
  asm("cvt.rz.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
__device__ inline std::uint16_t cvt_f16(double x) {
  std::uint16_t code;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(code) : "d"(x));
  return code;
}

// Conversions to FP8: nearest-even, saturated.

__device__ inline std::uint16_t cvt_e4m3x2(float first, float second) {
  std::uint16_t codes;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
      : "=h"(codes)
      : "f"(second), "f"(first));
  return codes;
}
__device__ inline std::uint16_t cvt_e5m2x2(float first, float second) {
  std::uint16_t codes;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;"
      : "=h"(codes)
      : "f"(second), "f"(first));
  return codes;
}
/// From a pair of FP16.
__device__ inline std::uint16_t cvt_e4m3x2(std::uint32_t f16x2) {
  std::uint16_t codes;
  asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(codes) : "r"(f16x2));
  return codes;
}
/// From a pair of FP16.
__device__ inline std::uint16_t cvt_e5m2x2(std::uint32_t f16x2) {
  std::uint16_t codes;
  asm("cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;" : "=h"(codes) : "r"(f16x2));
  return codes;
}

/// The two E4M3 codes in the low half of a word, as a pair of FP16. The
/// instruction takes either half of a register, but not of a shifted one.
__device__ inline std::uint32_t cvt_f16x2_of_low_e4m3x2(std::uint32_t codes) {
  std::uint32_t pair;
  asm("{ .reg .b16 low, high; mov.b32 {low, high}, %1; "
      "cvt.rn.f16x2.e4m3x2 %0, low; }"
      : "=r"(pair)
      : "r"(codes));
  return pair;
}
/// The two E4M3 codes in the high half.
__device__ inline std::uint32_t cvt_f16x2_of_high_e4m3x2(std::uint32_t codes) {
  std::uint32_t pair;
  asm("{ .reg .b16 low, high; mov.b32 {low, high}, %1; "
      "cvt.rn.f16x2.e4m3x2 %0, high; }"
      : "=r"(pair)
      : "r"(codes));
  return pair;
}

}  // namespace zeroulp::cuda::ptx

#endif  // ZEROULP_CUDA_PTX_ARITHMETIC_CUH_
