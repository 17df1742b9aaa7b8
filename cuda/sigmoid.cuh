// Defines SwiGLU's values the quick way: by the two approximate instructions
// ex2 and rcp, near the core's, with bounds on how far. Where all numbers
// within the bounds round to the same BF16 number, it is that of the core's
// value; elsewhere the core's arithmetic decides.
//
//   s = rcp(1 + ex2(-g log2(e)))
//   slope = s (1 + g (1 - s))
//
// conformance tries the bounds on every FP32 number g
// (device/kernel_sigmoid.cu).
//
// Source: SPEC clauses S2, S3.

#ifndef ZEROULP_CUDA_SIGMOID_CUH_
#define ZEROULP_CUDA_SIGMOID_CUH_

#include "cuda/plan.cuh"

namespace zeroulp::cuda {

/// The bounds hold for -quick_limit <= g, that of slope for g <= quick_limit.
inline constexpr float quick_limit = 8;
/// Of s, relative, in units of 2^-24. Below 2^-60 s is 1/2, as the core's.
inline constexpr int sigmoid_bound = 10;

/// The bound of slope / s - (1 + g (1 - s)), 5 2^-24 of that quotient included,
/// for gates g = code * scale of a group; and 2^-24 that 1 + the bound is off.
struct slope_bound {
  float of_group;
  float of_square;  ///< of a code

  /// No magnitude is above `limit`.
  __device__ static slope_bound of_gates(float limit, float scale) {
    return {fmaxf(__fmaf_rn(limit, 0x2p-24f, 0x7.8p-24f), 0xd.8p-24f),
            __fmul_rn(__fmul_rn(scale, scale), 0x2.cp-24f)};
  }
  /// No code is below `least`.
  __device__ float operator()(float least) const {
    return fmaxf(of_group, __fmul_rn(__fmul_rn(least, least), of_square));
  }
};

/// How far the upper end of slope / s lies above the lower, 1 - bound + g (1 -
/// s): twice the bound, and what is needed beside for the roundings of the
/// lower end and of a product with it, of which that with the upper is found.
/// The lower end goes down in steps: held for all bounds from the least on.
__device__ inline float slope_width(float bound) {
  return __fmaf_rn(2, bound, 0x2.8p-24f);
}

/// The gate at which the slope is 0. For gates farther from it than flat_reach
/// the slope less and plus any of its bounds have one sign.
inline constexpr float flat_gate = -0x1.474974p+0f;
inline constexpr float flat_reach = 0x1.8p-15f;

/// sigmoid(g) within sigmoid_bound.
__device__ inline float quick_sigmoid(float g) {
  float e;
  asm("ex2.approx.ftz.f32 %0, %1;"
      : "=f"(e)
      : "f"(__fmul_rn(g, -0x1.715476p+0f)));
  return detail::rcp(__fadd_rn(1, e));
}

/// Finds out whether numbers that differ from some by sigmoid_bound and the
/// roundings of two products, on both sides, have the same BF16 number.
class near_midpoints {
 public:
  /// Takes two numbers.
  __device__ void add(float first, float second) {
    const std::uint32_t low =
        __byte_perm(__float_as_uint(first), __float_as_uint(second), 0x5410);
    constexpr std::uint32_t shift = 0x8000 + reach;
    least_ = __viaddmin_u16x2(low, shift | shift << 16, least_);
  }
  /// Not 0 iff one was too near.
  __device__ std::uint32_t any() const { return least_ ^ far; }

 private:
  static constexpr std::uint32_t reach = sigmoid_bound + 4;  ///< ulps
  static constexpr std::uint32_t far = (2 * reach + 1) * 0x10001;
  std::uint32_t least_ = far;
};

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_SIGMOID_CUH_
