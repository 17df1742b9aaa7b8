// Defines how the numbers of a BF16 matrix become codes by a factor in two
// parts:
//
//   code = encode(x * high + x * low), the sum rounded to FP32 once
//
// low = 0: one factor decides, see quantizer_plan.cuh. Otherwise the scale is
// exact and quotients may be midpoints. high + low is 1 / scale within 2^-46,
// so that a midpoint stays one: verified for every BF16 x and amax. Where
// quotients are rounded to FP32 first, high = 1 / scale and low = -scale give
// them.

#ifndef ZEROULP_CUDA_QUANTIZE_TWO_FACTORS_CUH_
#define ZEROULP_CUDA_QUANTIZE_TWO_FACTORS_CUH_

#include "cuda/quantize/params.cuh"

namespace zeroulp::cuda {

struct alignas(8) factor_pair {
  float high, low;
};

namespace detail {

/// Makes the pair that decides for all elements of a BF16 group. Its factors
/// must come from the amax of those elements, not from a floor: under a floor
/// plan.by_core covers what rounds_once. Returns false iff the core must
/// quantize the group.
__device__ inline bool pair_of(const quantizer_plan& p, const group_factors& f,
                               factor_pair& pair) {
  pair = {f.low, f.high < 0 ? f.high : 0};
  if (f.high >= 0 || !p.rounds_once) return true;
  // From 2^64 on, low might be subnormal.
  if (f.scale >= 0x5f800000) return false;
  // high = 1 / scale rounded down, so that low >= 0 keeps the sign of -0.
  float rest = __fmaf_rn(f.high, pair.high, 1);
  if (rest < 0) {
    pair.high = __uint_as_float(__float_as_uint(pair.high) - 1);
    rest = __fmaf_rn(f.high, pair.high, 1);
  }
  pair.low = __fmul_rn(rest, pair.high);
  return true;
}

/// Computes the scale and the factors of a group from the amax of its elements:
/// see pair_of.
__device__ inline bool find_pair(const quantizer_plan& p, std::uint32_t amax,
                                 group_factors& f, factor_pair& pair) {
  const bool found = find_factors(p, amax, true, f);
  return pair_of(p, f, pair) && found;
}

template <bool Rounds = false>
__device__ float scaled(float x, const factor_pair& f) {
  return Rounds ? quotient(x, f.high, f.low)
                : __fmaf_rn(x, f.high, __fmul_rn(x, f.low));
}

/// Transposes vec8s of eight rows to vec8s of eight columns.
template <int Bytes>
__device__ void transpose_vec8s(vec8<Bytes> (&x)[8]) {
  if constexpr (Bytes == 1) {
#pragma unroll
    for (int w = 0; w < 2; ++w) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        // A block of four rows and four columns.
        std::uint32_t a[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) a[i] = x[4 * half + i].words[w];
        const std::uint32_t low01 = __byte_perm(a[0], a[1], 0x5140);
        const std::uint32_t low23 = __byte_perm(a[2], a[3], 0x5140);
        const std::uint32_t high01 = __byte_perm(a[0], a[1], 0x7362);
        const std::uint32_t high23 = __byte_perm(a[2], a[3], 0x7362);
        x[4 * half].words[w] = __byte_perm(low01, low23, 0x5410);
        x[4 * half + 1].words[w] = __byte_perm(low01, low23, 0x7632);
        x[4 * half + 2].words[w] = __byte_perm(high01, high23, 0x5410);
        x[4 * half + 3].words[w] = __byte_perm(high01, high23, 0x7632);
      }
    }
    // Swap the off-diagonal blocks of four rows and four columns.
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t word = x[i].words[1];
      x[i].words[1] = x[4 + i].words[0];
      x[4 + i].words[0] = word;
    }
  } else {
    static_assert(Bytes == 2);
    vec8<2> y[8];
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
#pragma unroll
      for (int i = 0; i < 8; i += 2) {
        const std::uint32_t a = x[i].words[j / 2], b = x[i + 1].words[j / 2];
        y[j].words[i / 2] = __byte_perm(a, b, 0x5410);
        y[j + 1].words[i / 2] = __byte_perm(a, b, 0x7632);
      }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = y[i];
  }
}

}  // namespace detail

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_QUANTIZE_TWO_FACTORS_CUH_
