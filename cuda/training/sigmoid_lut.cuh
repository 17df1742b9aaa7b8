// Defines the table of sigmoids for SwiGLU's backward pass where the scales of
// gates are powers of two. A block computes the sigmoids of all 256 E4M3 codes
// under a few such scales, by the core's arithmetic. The results that follow
// are the core's, bit for bit: no bounds are needed, and nothing is left
// undecided.
//
// Source: SPEC clause S3.

#ifndef ZEROULP_CUDA_TRAINING_SIGMOID_LUT_CUH_
#define ZEROULP_CUDA_TRAINING_SIGMOID_LUT_CUH_

#include "cuda/ptx/arithmetic.cuh"
#include "cuda/training/swiglu_fast_math.cuh"

namespace zeroulp::cuda::detail {

/// For a block of `Threads` threads.
template <unsigned Threads>
struct sigmoid_lut {
  /// The number of consecutive powers of two in the table.
  static constexpr int powers = 4;

  float of[powers][256];  ///< [scale's exponent modulo `powers`][code]
  struct {
    int least, most;
  } exponents[Threads / 32];

  /// Makes the table for the largest powers of two among the block's scales.
  /// Called by all threads; each has one scale, which counts or not. Returns,
  /// for the whole warp, whether the table has all powers that its lanes count.
  __device__ bool make(float scale, bool counts) {
    const std::uint32_t bits = __float_as_uint(scale);
    const bool is_power = bits < 0x7f800000 && (bits & 0x7fffff) == 0;
    const int exponent = counts && is_power ? static_cast<int>(bits >> 23) : 0;
    const int most = __reduce_max_sync(all_lanes, exponent);
    const int least =
        __reduce_min_sync(all_lanes, exponent == 0 ? 255 : exponent);
    if (threadIdx.x % 32 == 0) exponents[threadIdx.x / 32] = {least, most};
    __syncthreads();
    int first = 255, last = 0;
#pragma unroll
    for (const auto& of_warp : exponents) {
      first = min(first, of_warp.least), last = max(last, of_warp.most);
    }
    first = max(first, last - powers + 1);
    // A thread takes one magnitude; each 128 threads take one power.
    const std::uint32_t code = threadIdx.x % 128;
    for (int e = first + static_cast<int>(threadIdx.x / 128); e <= last;
         e += Threads / 128) {
      const float gate =
          __fmul_rn(decoded<e4m3_elements>(&code, 0),
                    __uint_as_float(static_cast<std::uint32_t>(e) << 23));
      of[e % powers][code] = sigmoid<device_fp32>(gate);
      of[e % powers][code + 128] = sigmoid<device_fp32>(-gate);
    }
    __syncthreads();
    return __all_sync(all_lanes, !counts || exponent >= first);
  }

  /// The sigmoid of code k under a scale that the table has.
  __device__ float at(float scale, const std::uint32_t* codes, int k) const {
    const std::uint32_t power = __float_as_uint(scale) >> 23 & (powers - 1);
    return (&of[0][0])[__byte_perm(codes[k / 4], power, 0x5540 | k % 4)];
  }
};

/// No table.
template <>
struct sigmoid_lut<0> {
  __device__ static bool make(float, bool) { return false; }
};

/// dg and du of a vec8, by the table.
struct lut_gradient {
  bf16_vec8 dg, du;

  template <unsigned Threads>
  __device__ lut_gradient(const bf16_vec8& dh, const vec8<1>& g,
                          const vec8<1>& u, const gate_group& of,
                          const sigmoid_lut<Threads>& sigmoids) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const std::uint32_t g2 = fp16x2_of<e4m3_elements>(g.words, k);
      const std::uint32_t u2 = fp16x2_of<e4m3_elements>(u.words, k);
      const auto gradient = [&](int i) {
        return swiglu_gradient_of<device_fp32>(
            __fmul_rn(fp16_value(g2, i), of.g_scale),
            sigmoids.at(of.g_scale, g.words, 2 * k + i),
            __fmul_rn(fp16_value(u2, i), of.u_scale),
            value_of<bf16_elements>(dh.element(2 * k + i)));
      };
      const auto first = gradient(0), second = gradient(1);
      dg.words[k] = ptx::cvt_bf16x2(first.dg, second.dg);
      du.words[k] = ptx::cvt_bf16x2(first.du, second.du);
    }
  }
};

}  // namespace zeroulp::cuda::detail

#endif  // ZEROULP_CUDA_TRAINING_SIGMOID_LUT_CUH_
