// Defines what the re-tiling kernel keeps in shared memory about the rows and
// columns of its tile: scales, amaxes, factors. See retile.cuh.

#ifndef ZEROULP_CUDA_RETILE_COMMON_CUH_
#define ZEROULP_CUDA_RETILE_COMMON_CUH_

#include "cuda/common/decode.cuh"
#include "cuda/common/rows.cuh"
#include "cuda/common/scales.cuh"
#include "cuda/ptx/arithmetic.cuh"
#include "cuda/quantize/params.cuh"
#include "zeroulp/core/retile.hpp"

namespace zeroulp::cuda {

struct retile_params {
  retiling r;
  quantizer_plan plan;  ///< quantizer of FP32 values to r.to
  float max_ratio;      ///< 2^ceil(log2(max of r.from / max of r.to))
  device_rows codes;
  scale_source scales;
  device_rows to;
  scale_target to_scales;
};

namespace detail {

__device__ inline void read_eight(float (&to)[8], const float* from) {
  const auto low = reinterpret_cast<const float4*>(from)[0];
  const auto high = reinterpret_cast<const float4*>(from)[1];
  to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
  to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
}

/// The larger of |a| and |b|; NaN if either is NaN.
__device__ inline float larger_magnitude(float a, float b) {
  return ptx::max_nan(fabsf(a), fabsf(b));
}

/// Returns the factor by which codes under this scale become values. NaN: the
/// core must do it.
template <bool Powers>
__device__ float value_factor(std::uint32_t scale) {
  constexpr std::uint32_t low = 67u << 23, high = 187u << 23;  // 2^-60, 2^60
  const bool is_easy = (scale & 0x007fffff) == 0 && scale - low <= high - low;
  return __uint_as_float(!Powers || is_easy ? scale : fp32_nan);
}

/// The E5M6 codes of two numbers of at most seven significant bits: only below
/// 2^-14 is there anything to round.
__device__ inline std::uint32_t encode_two_short(float first, float second) {
  constexpr float most = 65024;
  // 8 + a has its last bit at 2^-20, E5M6's smallest subnormal.
  const auto rounded = [](float x) {
    return __fadd_rn(__fadd_rn(fminf(fabsf(x), most), 8.0f), -8.0f);
  };
  const float high = rounded(second), low = rounded(first);
  const std::uint32_t halves = ptx::cvt_f16x2(low, high);
  const std::uint32_t signs =
      __byte_perm(__float_as_uint(first), __float_as_uint(second), 0x7632);
  return (halves | (signs & 0x80008000)) >> 4;
}

/// The codes of eight values. `Powers`: the values are exact products of codes
/// and powers of two.
template <class From, class To, bool Powers, class Value>
__device__ vec8<To::bytes> encode_values(Value value) {
  if constexpr (Powers && To::as_format == e5m6) {
    vec8<2> codes;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      codes.words[i] = encode_two_short(value(2 * i), value(2 * i + 1));
    }
    return codes;
  } else {
    return encode_eight<To>(value);
  }
}

struct retiled_rows {
  alignas(16) std::uint32_t scales[tile_edge];
  alignas(16) float factors[tile_edge];
  // One for each warp's rows, as FP32 bits:
  alignas(16) std::uint32_t largest[tile_edge / 32];  ///< largest finite scale
  alignas(16) std::uint32_t highest[tile_edge / 32];  ///< largest factor
  alignas(16) std::uint32_t lowest[tile_edge / 32];

  /// Reads the scales of the rows; called by threads 0 to 127. Rows beyond the
  /// matrix repeat the last.
  template <bool Powers>
  __device__ void read(const retile_params& params, tile_origin origin) {
    const std::ptrdiff_t row = origin.row0 + threadIdx.x;
    put<Powers>(threadIdx.x, params.scales.at(min(row, params.codes.rows - 1),
                                              origin.col0 / tile_edge));
  }
  /// Stores the scale of a row. Called by whole warps, which hold 32 rows in
  /// order.
  template <bool Powers>
  __device__ void put(unsigned row, std::uint32_t s) {
    const float factor = value_factor<Powers>(s);
    scales[row] = s;
    factors[row] = factor;
    constexpr unsigned all = 0xffffffff;
    const std::uint32_t most =
        __reduce_max_sync(all, s < fp32_infinity ? s : 0);
    if (row % 32 == 0) largest[row / 32] = most;
    if constexpr (Powers) {
      const std::uint32_t high =
          __reduce_max_sync(all, __float_as_uint(factor));
      const std::uint32_t low = __reduce_min_sync(all, __float_as_uint(factor));
      if (row % 32 == 0) {
        highest[row / 32] = high;
        lowest[row / 32] = low;
      }
    }
  }
  /// FP32 bits of the largest and the smallest factor.
  __device__ std::uint32_t top() const { return largest_of(highest); }
  __device__ std::uint32_t bottom() const {
    const auto four = *reinterpret_cast<const uint4*>(lowest);
    return min(min(four.x, four.y), min(four.z, four.w));
  }
  /// The scale of every column under the rule max_scale.
  __device__ std::uint32_t max_scale(const retile_params& params) const {
    const std::uint32_t most = largest_of(largest);
    if (most == 0) return fp32_one;
    const std::uint32_t t =
        __float_as_uint(__fmul_rn(__uint_as_float(most), params.max_ratio));
    const bool any = params.r.scale == scale_kind::float32;
    const std::uint32_t least = any ? 1 : 0x00400000;  // 2^-149, 2^-127
    return min(max(t, least), any ? fp32_max : 0x7f000000u);
  }

 private:
  __device__ static std::uint32_t largest_of(const std::uint32_t (&of)[4]) {
    const auto four = *reinterpret_cast<const uint4*>(of);
    return max(max(four.x, four.y), max(four.z, four.w));
  }
};

/// The scale of a column with this amax, which is ordinary or 0; under the rule
/// max_scale, it may be any.
template <bool Powers>
__device__ std::uint32_t column_scale(const retile_params& params,
                                      const retiled_rows& rows,
                                      std::uint32_t amax) {
  if (params.r.rule != retile_rule::amax) return rows.max_scale(params);
  if (amax == 0) return fp32_one;
  const quantizer_plan& p = params.plan;
  if constexpr (Powers) {
    return scale_of<true>(p, amax).scale;
  } else {
    // zeroulp's convention inverts nothing.
    return __float_as_uint(
        scale_quotient(__uint_as_float(amax), __uint_as_float(p.max),
                       __uint_as_float(p.reciprocal), p.correction));
  }
}

/// The factors of a column, in FP32; low < 0: the core must do it. `halves` of
/// retiled_columns: the same as two FP16 numbers.
struct column_factors {
  float low, high;
};

struct retiled_columns {
  /// FP32 bits; or FP16 bits in the first half of a row.
  alignas(16) std::uint32_t amax[tile_threads / 32][tile_edge];
  /// Column 8 c + j is at [j][c], so that 16 threads find theirs side by side.
  alignas(8) column_factors factors[8][tile_edge / 8];
  std::uint32_t halves[8][tile_edge / 8];
  std::uint32_t scale[tile_edge];  ///< 0: the column must be redone

  __device__ column_factors& factors_of(int column) {
    return factors[column % 8][column / 8];
  }
  __device__ const column_factors& factors_of(int column) const {
    return factors[column % 8][column / 8];
  }

  /// Adds a thread's amaxes `most` of its eight columns (FP32 bits). Each half
  /// of a warp keeps, for four columns, the larger of both halves' amaxes.
  __device__ void put_amaxes(thread_coords t, const std::uint32_t (&most)[8]) {
    const bool upper = t.a % 2 != 0;
    std::uint32_t kept[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const std::uint32_t own = upper ? most[j + 4] : most[j];
      const std::uint32_t sent = upper ? most[j] : most[j + 4];
      kept[j] = max(own, __shfl_xor_sync(0xffffffff, sent, 16));
    }
    *reinterpret_cast<uint4*>(&amax[t.a / 2][8 * t.c + (upper ? 4 : 0)]) = {
        kept[0], kept[1], kept[2], kept[3]};
  }

  /// The amax of a column, FP32 bits.
  __device__ std::uint32_t amax_of(int column) const {
    std::uint32_t most = 0;
#pragma unroll
    for (int w = 0; w < tile_threads / 32; ++w) {
      most = max(most, amax[w][column]);
    }
    return most;
  }

  /// Sets the scale and factors of a column with amax `most`; called by threads
  /// 0 to 127. Returns false iff the column must be redone.
  template <bool Powers>
  __device__ bool decide(const retile_params& params, tile_origin origin,
                         const retiled_rows& rows, std::uint32_t most) {
    const int thread = static_cast<int>(threadIdx.x);
    const bool by_amax = params.r.rule == retile_rule::amax;
    const bool is_decided = !by_amax || most == 0 || is_ordinary(most);
    const std::uint32_t t =
        is_decided ? column_scale<Powers>(params, rows, most) : 0;
    set_scale<Powers>(params.plan, thread, t);
    return is_decided || origin.col0 + thread >= params.codes.cols;
  }

  /// Writes the scales that are decided. Called by threads 0 to 127.
  __device__ void put_scales(const retile_params& params,
                             tile_origin origin) const {
    const std::ptrdiff_t column = origin.col0 + threadIdx.x;
    const std::uint32_t t = scale[threadIdx.x];
    if (t != 0 && column < params.codes.cols) {
      put_kept(params.to_scales, column, origin.row0 / tile_edge, t);
    }
  }

 private:
  /// Sets the factors for division by t. The approximate reciprocal is within
  /// 2^-23 of 1 / t, which the margin of low and high allows for.
  template <bool Powers>
  __device__ void set_scale(const quantizer_plan& p, int column,
                            std::uint32_t t) {
    const bool is_easy = is_ordinary(t) && (!Powers || (t & 0x007fffff) == 0);
    const float inverse = Powers ? __uint_as_float(0x7f000000 - t)
                                 : ptx::rcp_approx(__uint_as_float(t));
    scale[column] = t;
    column_factors& f = factors_of(column);
    f.low = !is_easy ? -1 : Powers ? inverse : __fmul_rn(inverse, p.low);
    f.high = Powers ? inverse : __fmul_rn(inverse, p.high);
  }
};

}  // namespace detail

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_RETILE_COMMON_CUH_
