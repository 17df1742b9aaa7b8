// Defines the re-tiling of E4M3 codes in FP16, two at once, for tiles whose
// scales are powers of two within a factor of 2^20.
//
//   v = code * s / top * 2^6         top: the largest scale
//   w = v * 2^-6 * top / t           the code of w is that of code * s / t
//
// All v are exact: multiples of 2^-23, below 2^15. w is exact where it matters.
// It has four significant bits and is rounded only below 2^-21, far from the
// smallest midpoint of E4M3 and E5M2, 2^-17.

#ifndef ZEROULP_CUDA_RETILE_FP16X2_CUH_
#define ZEROULP_CUDA_RETILE_FP16X2_CUH_

#include "cuda/ptx/arithmetic.cuh"
#include "cuda/retile/common.cuh"

namespace zeroulp::cuda::detail {

inline constexpr int fp16x2_top = 6;
inline constexpr int fp16x2_range = 20;

__device__ inline bool is_narrow(const retiled_rows& rows) {
  const std::uint32_t top = rows.top();
  return top < fp32_infinity && top - rows.bottom() <= fp16x2_range << 23;
}

/// FP16 bits of 2^e in both halves.
__device__ inline std::uint32_t two_powers(int e) {
  return static_cast<std::uint32_t>(e + 15) << 10 |
         static_cast<std::uint32_t>(e + 15) << 26;
}

/// The codes of two FP16 numbers, saturated, nearest-even.
template <class Out>
__device__ std::uint32_t encode_fp16x2(std::uint32_t two) {
  return Out::as_format == e4m3 ? ptx::cvt_e4m3x2(two) : ptx::cvt_e5m2x2(two);
}

/// A thread's 8 x 8 codes as FP16: v of rows 2 i and 2 i + 1 in one word.
template <class To>
class retiled_fp16x2 {
 public:
  __device__ retiled_fp16x2(const vec8<1> (&x)[8], const retiled_rows& rows,
                            thread_coords t) {
    const std::uint32_t one = rows.top() - ((fp16x2_top + 15) << 23);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint2 s =
          *reinterpret_cast<const uint2*>(rows.scales + 8 * t.a + 2 * i);
      const std::uint32_t by_rows = (s.x - one) >> 13 | (s.y - one) << 3;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const unsigned from = static_cast<unsigned>(j % 4 * 0x11 + 0x40);
        const std::uint32_t codes =
            __byte_perm(x[2 * i].words[j / 4], x[2 * i + 1].words[j / 4], from);
        v_[i][j] = ptx::mul_f16x2(fp16x2_of<e4m3_elements>(&codes, 0), by_rows);
      }
    }
  }

  __device__ unsigned put_amaxes(const retiled_rows&, retiled_columns& columns,
                                 thread_coords t) {
    std::uint32_t most[4];  // two columns in a word
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      const std::uint32_t a = largest(j), b = largest(j + 1);
      most[j / 2] =
          __vmaxu2(__byte_perm(a, b, 0x5410), __byte_perm(a, b, 0x7632));
    }
    const bool upper = t.a % 2 != 0;
    std::uint32_t kept[2];
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const std::uint32_t own = upper ? most[k + 2] : most[k];
      const std::uint32_t sent = upper ? most[k] : most[k + 2];
      kept[k] = __vmaxu2(own, __shfl_xor_sync(0xffffffff, sent, 16));
    }
    *reinterpret_cast<uint2*>(
        &columns.amax[t.a / 2][4 * t.c + (upper ? 2 : 0)]) = {kept[0], kept[1]};
    return 0;  // E4M3 has no Inf, and NaN stays NaN in the amax
  }

  /// FP32 bits of a column's amax, converted back from v.
  __device__ static std::uint32_t amax_of(const retiled_columns& columns,
                                          const retiled_rows& rows,
                                          int column) {
    std::uint32_t most = 0;
#pragma unroll
    for (int w = 0; w < tile_threads / 32; ++w) {
      const auto* const of_warp =
          reinterpret_cast<const std::uint16_t*>(columns.amax[w]);
      most = max(most, std::uint32_t{of_warp[column]});
    }
    if (most == 0) return 0;
    if (most >= 0x7c00) return fp32_nan;
    return __float_as_uint(fp16_value(most, 0)) + rows.top() -
           ((127 + fp16x2_top) << 23);
  }

  /// Stores the FP16 factor of a column; NaN if FP16 cannot hold it.
  __device__ static void put_factor(retiled_columns& columns,
                                    const retiled_rows& rows, int column) {
    const std::uint32_t t = columns.scale[column];
    const int e = static_cast<int>(rows.top() >> 23) - fp16x2_top -
                  static_cast<int>(t >> 23);
    const bool fits = columns.factors_of(column).low > 0 && e >= -14 && e <= 15;
    columns.halves[column % 8][column / 8] = fits ? two_powers(e) : 0x7fff7fff;
  }

  __device__ unsigned put_codes(const retile_params&, tile_origin,
                                const retiled_rows&,
                                const retiled_columns& columns, thread_coords t,
                                transposing_tile<To::bytes>& out) const {
    unsigned undecided = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const std::uint32_t factor = columns.halves[j][t.c];
      if (factor == 0x7fff7fff) undecided |= 1u << j;
      vec8<1> codes{};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        codes.words[i / 2] |=
            encode_fp16x2<To>(ptx::mul_f16x2(v_[i][j], factor)) << i % 2 * 16;
      }
      out.put(t, j, codes);
    }
    return undecided;
  }

 private:
  /// The largest |v| of column j, in each half.
  __device__ std::uint32_t largest(int j) const {
    return ptx::max_nan_abs_f16x2(ptx::max_nan_abs_f16x2(v_[0][j], v_[1][j]),
                                  ptx::max_nan_abs_f16x2(v_[2][j], v_[3][j]));
  }

  std::uint32_t v_[4][8];
};

}  // namespace zeroulp::cuda::detail

#endif  // ZEROULP_CUDA_RETILE_FP16X2_CUH_
