// Defines SwiGLU's values by the approximate instructions ex2 and rcp, with
// bounds on their distance from the core's values. Where all numbers within the
// bounds round to one BF16 number, it is that of the core's value. Elsewhere
// the core's arithmetic decides.
//
//   s = rcp(1 + ex2(-g log2(e)))
//   slope = s (1 + g (1 - s))
//
// conformance tries the bounds on every FP32 number g
// (device/kernels/training/sigmoid.cu).
//
// Source: SPEC clauses S2, S3.

#ifndef ZEROULP_CUDA_TRAINING_SIGMOID_CUH_
#define ZEROULP_CUDA_TRAINING_SIGMOID_CUH_

#include "cuda/common/quantizer_plan.cuh"
#include "cuda/ptx/arithmetic.cuh"

namespace zeroulp::cuda {

/// The bounds hold for g >= -fast_limit, that of slope also needs g <=
/// fast_limit.
inline constexpr float fast_limit = 8;
/// The relative bound of s in units of 2^-24. For |g| below 2^-60 s is 1/2, as
/// the core's.
inline constexpr int sigmoid_bound = 10;

/// The bound of slope / s - (1 + g (1 - s)) for gates g = code * scale of a
/// group. It includes 5 2^-24 of slope / s, and 2^-24 for the rounding of 1 +
/// the bound.
struct slope_bound {
  float of_group;
  float of_square;  ///< factor of a code's square

  /// For gates of magnitudes up to `limit`.
  __device__ static slope_bound of_gates(float limit, float scale) {
    return {fmaxf(__fmaf_rn(limit, 0x2p-24f, 0x7.8p-24f), 0xd.8p-24f),
            __fmul_rn(__fmul_rn(scale, scale), 0x2.cp-24f)};
  }
  /// The bound for codes from `least` on.
  __device__ float operator()(float least) const {
    return fmaxf(of_group, __fmul_rn(__fmul_rn(least, least), of_square));
  }
};

/// The distance of the upper end of slope / s from the lower, 1 - bound + g (1
/// - s). It is twice the bound, plus allowance for rounding the lower end and
/// its product, from which the product with the upper end is computed. The
/// lower end goes down in steps: verified for all bounds from the least on.
__device__ inline float slope_width(float bound) {
  return __fmaf_rn(2, bound, 0x2.8p-24f);
}

/// The gate whose slope is 0. For gates farther than flat_reach from it, slope
/// - bound and slope + bound have one sign, for any of its bounds.
inline constexpr float flat_gate = -0x1.474974p+0f;
inline constexpr float flat_reach = 0x1.8p-15f;

/// Returns sigmoid(g) within sigmoid_bound.
__device__ inline float fast_sigmoid(float g) {
  const float e = ptx::ex2_approx(__fmul_rn(g, -0x1.715476p+0f));
  return ptx::rcp_approx(__fadd_rn(1, e));
}

/// Detects numbers near a BF16 midpoint. If none is, every number within
/// sigmoid_bound and the roundings of two products, on either side, rounds to
/// the same BF16 number.
class near_midpoints {
 public:
  /// Checks two numbers.
  __device__ void add(float first, float second) {
    const std::uint32_t low =
        __byte_perm(__float_as_uint(first), __float_as_uint(second), 0x5410);
    constexpr std::uint32_t shift = 0x8000 + reach;
    least_ = __viaddmin_u16x2(low, shift | shift << 16, least_);
  }
  /// Nonzero iff one was too near.
  __device__ std::uint32_t any() const { return least_ ^ far; }

 private:
  static constexpr std::uint32_t reach = sigmoid_bound + 4;  ///< ulps
  static constexpr std::uint32_t far = (2 * reach + 1) * 0x10001;
  std::uint32_t least_ = far;
};

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_TRAINING_SIGMOID_CUH_
