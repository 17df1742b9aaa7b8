// Defines the re-tiling kernel. A block reads a tile of 128 x 128 codes once,
// with scales along its rows. It writes the tile transposed, with scales along
// the former columns.
//
//   load 8 x 8 codes a thread, scales of rows -> barrier -> values v = code *
//   s, amax of columns -> barrier -> a thread a column: its scale t and factors
//   of 1 / t -> barrier -> codes of v / t into shared memory -> barrier ->
//   stores
//
// Values are FP32 numbers, the core's bit for bit. Products of codes and powers
// of two from 2^-60 to 2^60 are exact; under FP32 scales products are rounded
// by definition. In all other cases (Inf, NaN, other scales) the amax becomes
// NaN or Inf; the core redoes such columns at the end.
//
// Where t is not a power of two, factors low and high bracket v / t: see
// quantizer_plan.cuh. E4M3 under powers of two that are not too far apart is
// computed in FP16, two numbers at once: retile_fp16x2.cuh. Aligned one-byte
// codes under FP32 scales have a kernel of their own: retile_pipelined.cuh.
//
// Source: SPEC clauses W1 to W5, W7, Q11.

#ifndef ZEROULP_CUDA_RETILE_RETILE_CUH_
#define ZEROULP_CUDA_RETILE_RETILE_CUH_

#include "cuda/ptx/warp.cuh"
#include "cuda/retile/core_fallback.cuh"
#include "cuda/retile/fp16x2.cuh"

namespace zeroulp::cuda {

namespace detail {

template <class To>
struct retiled_tile {
  retiled_rows rows;
  retiled_columns columns;
  transposing_tile<To::bytes> transposed;
};

/// A thread's 8 x 8 codes as FP32 values. They are computed twice, as there are
/// no registers for 64. The second time, codes of one byte are reread from the
/// L1: if the thread kept them, the compiler would decode them once and spill.
/// Codes of two bytes do not fit in the L1.
template <class From, class To, bool Powers, bool Vec8s>
class retiled_floats {
 public:
  __device__ explicit retiled_floats(const vec8<From::bytes> (&x)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) x_[i] = x[i];
  }

  /// Adds the amaxes of the thread's columns. Returns the columns with Inf or
  /// NaN.
  __device__ unsigned put_amaxes(const retiled_rows& rows,
                                 retiled_columns& columns, thread_coords t) {
    read_eight(by_row_, rows.factors + 8 * t.a);
    float largest[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        float v[2];
        read(i, k, v);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          float& most = largest[2 * k + h];
          most = i == 0 ? fabsf(v[h]) : larger_magnitude(most, v[h]);
        }
      }
    }
    std::uint32_t most[8];
    unsigned special = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      most[j] = __float_as_uint(largest[j]);
      special |= most[j] < fp32_infinity ? 0 : 1u << j;
    }
    columns.put_amaxes(t, most);
    return special;
  }

  __device__ static std::uint32_t amax_of(const retiled_columns& columns,
                                          const retiled_rows&, int column) {
    return columns.amax_of(column);
  }
  __device__ static void put_factor(retiled_columns&, const retiled_rows&,
                                    int) {}

  /// Writes the codes to `out`. Returns the columns that are not decided.
  __device__ unsigned put_codes(const retile_params& params, tile_origin origin,
                                const retiled_rows& rows,
                                const retiled_columns& columns, thread_coords t,
                                transposing_tile<To::bytes>& out) {
    if constexpr (Vec8s && From::bytes == 1) {
      vec8_column(params.codes, origin, t).load_again(params.codes, x_);
    }
    read_eight(by_row_, rows.factors + 8 * t.a);
    unsigned undecided = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {  // two columns at a time
      float v[8][2];
#pragma unroll
      for (int i = 0; i < 8; ++i) read(i, k, v[i]);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int j = 2 * k + h;
        const column_factors f = columns.factors[j][t.c];
        const auto scaled = [&](float factor) {
          return encode_values<From, To, Powers>(
              [&](int i) { return __fmul_rn(v[i][h], factor); });
        };
        auto codes = scaled(f.low);
        if (f.low < 0) undecided |= 1u << j;
        if constexpr (!Powers) {
          const auto others = scaled(f.high);
          std::uint32_t differ = 0;
#pragma unroll
          for (int w = 0; w < vec8<To::bytes>::count; ++w) {
            differ |= codes.words[w] ^ others.words[w];
          }
          if (differ != 0) {
            codes = encode_eight<To>([&](int i) {
              return divided(params.plan, v[i][h], columns.scale[8 * t.c + j]);
            });
          }
        }
        out.put(t, j, codes);
      }
    }
    return undecided;
  }

 private:
  /// The values of row i in columns 2 k and 2 k + 1.
  __device__ void read(int i, int k, float (&v)[2]) const {
    const std::uint32_t halves = fp16x2_of<From>(x_[i].words, k);
    v[0] = __fmul_rn(fp16_value(halves, 0), by_row_[i]);
    v[1] = __fmul_rn(fp16_value(halves, 1), by_row_[i]);
  }

  vec8<From::bytes> x_[8];
  float by_row_[8];
};

/// Re-tiles the tile, whose rows are read, with numbers of this kind: amaxes,
/// scales, codes, stores.
template <class From, bool Powers, class Numbers, class To>
__device__ void retile_by(const retile_params& params, tile_origin origin,
                          Numbers numbers, retiled_tile<To>& tile) {
  const thread_coords t;
  unsigned undecided = numbers.put_amaxes(tile.rows, tile.columns, t);
  __syncthreads();
  const int thread = static_cast<int>(threadIdx.x);
  bool again = false;
  if (thread < tile_edge) {
    const std::uint32_t amax =
        Numbers::amax_of(tile.columns, tile.rows, thread);
    again =
        !tile.columns.template decide<Powers>(params, origin, tile.rows, amax);
    Numbers::put_factor(tile.columns, tile.rows, thread);
  }
  __syncthreads();
  undecided |= numbers.put_codes(params, origin, tile.rows, tile.columns, t,
                                 tile.transposed);
  if (undecided != 0) {  // columns that need the core, or may need it
    fill_rest<From, To, Powers>(params, tile.rows, tile.columns, origin,
                                undecided, tile.transposed);
  }
  again = __syncthreads_or(again) != 0;
  store_transposed(tile.transposed, params.to, origin);
  if (thread < tile_edge) tile.columns.put_scales(params, origin);
  if (again) {
    __syncthreads();  // retile_again overwrites shared memory
    retile_again<From, To>(params, tile.rows, tile.columns, origin);
  }
}

/// Re-tiles a tile whose scales are too far apart for FP16. The rows have been
/// read.
template <class From, class To>
__device__ __noinline__ void retile_wide(const retile_params& params,
                                         retiled_tile<To>& tile) {
  const tile_origin origin(blockIdx.x, params.codes);
  vec8<From::bytes> x[8];
  vec8_column(params.codes, origin, {}).load(params.codes, x);
  retile_by<From, true>(params, origin, retiled_floats<From, To, true, true>(x),
                        tile);
}

/// True where retiled_fp16x2 serves most tiles.
template <class From, class To, bool Powers, bool Vec8s>
inline constexpr bool is_retiled_as_fp16x2 =
    Powers&& Vec8s&& From::as_format == e4m3&& To::bytes == 1;

/// Resident blocks per multiprocessor.
template <class From, class To, bool Powers, bool Vec8s>
inline constexpr int retile_blocks =
    From::bytes + To::bytes > 2                     ? 3
    : is_retiled_as_fp16x2<From, To, Powers, Vec8s> ? 5
                                                    : 4;

}  // namespace detail

/// `Vec8s`: the codes satisfy is_of_vec8s.
template <class From, class To, bool Powers, bool Vec8s>
__global__ void __launch_bounds__(
    tile_threads, (detail::retile_blocks<From, To, Powers, Vec8s>))
    retile_tile(const __grid_constant__ retile_params params) {
  ptx::wait_for_kernels_before();
  __shared__ detail::retiled_tile<To> tile;
  const tile_origin origin(blockIdx.x, params.codes);
  const thread_coords t;
  vec8<From::bytes> x[8];
  if constexpr (Vec8s) {
    vec8_column(params.codes, origin, t).load(params.codes, x);
  } else {
    load_rows(params.codes, origin.row0 + 8 * t.a, origin.col0 + 8 * t.c, x);
  }
  if (threadIdx.x < tile_edge) tile.rows.template read<Powers>(params, origin);
  __syncthreads();

  if constexpr (detail::is_retiled_as_fp16x2<From, To, Powers, Vec8s>) {
    if (!detail::is_narrow(tile.rows)) {
      detail::retile_wide<From>(params, tile);
      return;
    }
    detail::retile_by<From, Powers>(
        params, origin, detail::retiled_fp16x2<To>(x, tile.rows, t), tile);
  } else {
    detail::retile_by<From, Powers>(
        params, origin, detail::retiled_floats<From, To, Powers, Vec8s>(x),
        tile);
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_RETILE_RETILE_CUH_
