// Defines the re-tiling kernel: a block reads a tile of 128 x 128 codes under
// scales along its rows once and writes it transposed, under scales along what
// were its columns.
//
//   load 8 x 8 codes a thread, scales of rows -> barrier -> values v = code *
//   s, amax of columns -> barrier -> a thread a column: its scale t and factors
//   of 1 / t -> barrier -> codes of v / t into shared memory -> barrier ->
//   stores
//
// Values are FP32 numbers, the core's bit for bit: products of codes and powers
// of two from 2^-60 to 2^60 are exact, under FP32 scales they are rounded by
// definition. Everything else (Inf, NaN, other scales) is NaN or Inf on its way
// through the amax; such columns are done again at the end, by the core. Where
// t is not a power of two, factors low and high bracket v / t: see plan.cuh.
// E4M3 under powers of two that are not too far apart takes FP16 instead, two
// at once: retile_halves.cuh.
//
// Source: SPEC clauses W1 to W5, W7, Q11.

#ifndef ZEROULP_CUDA_RETILE_CUH_
#define ZEROULP_CUDA_RETILE_CUH_

#include "cuda/retile_core.cuh"
#include "cuda/retile_halves.cuh"

namespace zeroulp::cuda {

namespace detail {

/// The larger of |a| and |b|; NaN if one is.
__device__ inline float larger_magnitude(float a, float b) {
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(fabsf(a)), "f"(fabsf(b)));
  return most;
}

template <class To>
struct retiled_tile {
  retiled_rows rows;
  retiled_columns columns;
  transposing_tile<To::bytes> transposed;
};

/// What a thread makes of its 8 x 8 codes, in FP32.
template <class From, class To, bool Powers>
class retiled_floats {
 public:
  __device__ retiled_floats(const octet<From::bytes> (&x)[8],
                            const retiled_rows& rows, thread_place t) {
    read_eight(by_row_, rows.factors + 8 * t.a);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        halves_[i][k] = two_halves<From>(x[i].words, k);
      }
    }
  }

  /// Puts the amaxes of its columns; returns those with Inf or NaN.
  __device__ unsigned put_amaxes(retiled_columns& columns, thread_place t) {
    float largest[8];
#pragma unroll
    for (int i = 1; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float before = i == 1 ? value(0, j) : largest[j];
        largest[j] = larger_magnitude(before, value(i, j));
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
    // Have the compiler multiply again, rather than hold all the values.
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int k = 0; k < 4; ++k) asm volatile("" : "+r"(halves_[i][k]));
    }
    return special;
  }

  __device__ static std::uint32_t amax_of(const retiled_columns& columns,
                                          const retiled_rows&, int column) {
    return columns.amax_of(column);
  }
  __device__ static void put_factor(retiled_columns&, const retiled_rows&,
                                    int) {}

  /// Puts the codes; returns the columns in which some are not decided.
  __device__ unsigned put_codes(const retiled_columns& columns, thread_place t,
                                transposing_tile<To::bytes>& out) const {
    float low[8];
    read_eight(low, columns.low + 8 * t.c);
    unsigned open = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const auto scaled = [&](float factor) {
        return encode_values<From, To, Powers>(
            [&](int i) { return __fmul_rn(value(i, j), factor); });
      };
      const auto codes = scaled(low[j]);
      out.put(t, j, codes);
      if (low[j] < 0) open |= 1u << j;
      if constexpr (!Powers) {
        const auto others = scaled(columns.high[8 * t.c + j]);
#pragma unroll
        for (int w = 0; w < octet<To::bytes>::count; ++w) {
          if (codes.words[w] != others.words[w]) open |= 1u << j;
        }
      }
    }
    return open;
  }

 private:
  __device__ float value(int i, int j) const {
    return __fmul_rn(half_value(halves_[i][j / 2], j % 2), by_row_[i]);
  }

  std::uint32_t halves_[8][4];
  float by_row_[8];
};

/// From amaxes to codes in shared memory, by numbers of this kind. Returns the
/// columns of a thread that are open; `again`: its column has to be done again.
template <bool Powers, class Numbers, class To>
__device__ unsigned retile_by(const retile_job& job, tile_place place,
                              Numbers numbers, retiled_tile<To>& tile,
                              bool& again) {
  const thread_place t;
  unsigned open = numbers.put_amaxes(tile.columns, t);
  __syncthreads();
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < tile_edge) {
    const std::uint32_t amax =
        Numbers::amax_of(tile.columns, tile.rows, thread);
    again = !tile.columns.template decide<Powers>(job, place, tile.rows, amax);
    Numbers::put_factor(tile.columns, tile.rows, thread);
  }
  __syncthreads();
  open |= numbers.put_codes(tile.columns, t, tile.transposed);
  return open;
}

}  // namespace detail

template <class From, class To, bool Powers>
__global__ void __launch_bounds__(tile_threads,
                                  From::bytes + To::bytes == 2 ? 4 : 3)
    retile_tile(const __grid_constant__ retile_job job) {
  __shared__ detail::retiled_tile<To> tile;
  const tile_place place(blockIdx.x, job.codes.cols);
  const thread_place t;
  octet<From::bytes> x[8];
  load_rows(job.codes, place.row0 + 8 * t.a, place.col0 + 8 * t.c, x);
  if (threadIdx.x < tile_edge) tile.rows.template read<Powers>(job, place);
  __syncthreads();

  unsigned open = 0;  // columns that are, or may be, the core's
  bool again = false;
  constexpr bool may_be_halves =
      Powers && From::as_format == e4m3 && To::bytes == 1;
  const bool is_narrow = may_be_halves && detail::is_narrow(tile.rows);
  if constexpr (may_be_halves) {
    if (is_narrow) {
      open = detail::retile_by<Powers>(
          job, place, detail::retiled_halves<To>(x, tile.rows, t), tile, again);
    }
  }
  if (!is_narrow) {
    open = detail::retile_by<Powers>(
        job, place, detail::retiled_floats<From, To, Powers>(x, tile.rows, t),
        tile, again);
  }
  if (open != 0) {
    detail::fill_open<From, To, Powers>(job, tile.rows, tile.columns, place,
                                        open, tile.transposed);
  }
  again = __syncthreads_or(again) != 0;
  store_transposed(tile.transposed, job.to, place);
  if (again) {
    __syncthreads();  // what follows writes over it
    detail::retile_again<From, To>(job, tile.rows, tile.columns, place);
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_RETILE_CUH_
