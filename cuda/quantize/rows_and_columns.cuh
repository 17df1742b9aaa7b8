// Defines the quantizing kernel for BF16 matrices in both orientations, with a
// scale for each 1x128 of x and of its transpose. A block reads a tile of 128 x
// 128 once.
//
//   load 8 x 8 elements a thread -> amaxes of rows, columns -> barrier -> a
//   thread a row or a column: scale and factors -> codes of rows -> stores,
//   barrier -> codes of columns into shared memory -> barrier -> stores, scales
//
// Source: SPEC clauses Q1 to Q13.

#ifndef ZEROULP_CUDA_QUANTIZE_ROWS_AND_COLUMNS_CUH_
#define ZEROULP_CUDA_QUANTIZE_ROWS_AND_COLUMNS_CUH_

#include "cuda/ptx/warp.cuh"
#include "cuda/quantize/groups.cuh"
#include "cuda/quantize/two_factors.cuh"

namespace zeroulp::cuda {
namespace detail {

/// The largest magnitudes of a tile's rows and columns, two in a word, and the
/// factors computed from them.
struct both_sides {
  std::uint32_t row_amax[tile_edge / 2];
  alignas(16) std::uint32_t column_amax[tile_threads / 32][tile_edge / 2];
  alignas(16) factor_pair rows[tile_edge];
  factor_pair columns[8][tile_edge / 8];  ///< column 8 c + j is at [j][c]

  /// Adds the magnitudes of a thread's elements.
  __device__ void put_amaxes(thread_coords t, const vec8<2> (&x)[8]) {
    std::uint32_t rows_of_two[4], of_columns[4] = {};
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      std::uint32_t of_row[2] = {};
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const std::uint32_t a = x[i].words[k] & 0x7fff7fff;
        const std::uint32_t b = x[i + 1].words[k] & 0x7fff7fff;
        of_row[0] = __vmaxu2(of_row[0], a);
        of_row[1] = __vmaxu2(of_row[1], b);
        of_columns[k] = __vimax3_u16x2(of_columns[k], a, b);
      }
      rows_of_two[i / 2] = __vmaxu2(__byte_perm(of_row[0], of_row[1], 0x5410),
                                    __byte_perm(of_row[0], of_row[1], 0x7632));
    }
    put_rows(t, rows_of_two);
    put_columns(t, of_columns);
  }

  /// FP32 bits.
  template <class In>
  __device__ std::uint32_t amax_of_row(int row) const {
    return of_two<In>(row_amax[row / 2], row);
  }
  template <class In>
  __device__ std::uint32_t amax_of_column(int column) const {
    std::uint32_t most = 0;
#pragma unroll
    for (int w = 0; w < tile_threads / 32; ++w) {
      most = __vmaxu2(most, column_amax[w][column / 2]);
    }
    return of_two<In>(most, column);
  }

 private:
  template <class In>
  __device__ static std::uint32_t of_two(std::uint32_t two, int which) {
    return __float_as_uint(value_of<In>(two >> which % 2 * 16 & 0xffff));
  }
  __device__ void put_rows(thread_coords t, std::uint32_t (&two)[4]) {
    const std::uint32_t most = largest_pair_of_rows(two);
    if (t.c < 4) row_amax[4 * t.a + t.c] = most;
  }
  __device__ void put_columns(thread_coords t, const std::uint32_t (&two)[4]) {
    const bool upper = t.a % 2 != 0;
    std::uint32_t kept[2];
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const std::uint32_t own = upper ? two[k + 2] : two[k];
      const std::uint32_t sent = upper ? two[k] : two[k + 2];
      kept[k] = __vmaxu2(own, __shfl_xor_sync(0xffffffff, sent, 16));
    }
    *reinterpret_cast<uint2*>(
        &column_amax[t.a / 2][4 * t.c + (upper ? 2 : 0)]) = {kept[0], kept[1]};
  }
};

template <class Out>
struct rows_and_columns_tile {
  both_sides sides;
  transposing_tile<Out::bytes> transposed;
};
template <class Out>
union both_memory {
  tile_groups groups;  ///< used by the core
  rows_and_columns_tile<Out> tile;
};

/// The group whose factors a thread computes. The first half of each warp takes
/// the warp's own rows, the second half as many columns.
struct side_position {
  bool is_row = threadIdx.x % 32 < 16;
  int at = static_cast<int>(threadIdx.x / 32 * 16 + threadIdx.x % 16);

  /// Writes the group's scale, if it is wanted.
  __device__ void put(const quantize_params& params, const tile_origin& origin,
                      std::uint32_t scale) const {
    const quantized_target& to = is_row ? params.y : params.yt;
    const std::ptrdiff_t mn = (is_row ? origin.row0 : origin.col0) + at;
    const std::ptrdiff_t k = (is_row ? origin.col0 : origin.row0) / tile_edge;
    const bool is_inside = mn < (is_row ? params.x.rows : params.x.cols);
    if (to.groups != grouping::none && is_inside) {
      put_kept(to.scales, mn, k, scale);
    }
  }
};

}  // namespace detail

/// For jobs that satisfy quantizes_rows_and_columns(job). `Rounds`: quotients
/// are rounded to FP32 first.
template <class In, class Out, bool Rounds>
__global__ void __launch_bounds__(tile_threads, 4)
    quantize_rows_and_columns(const __grid_constant__ quantize_params params) {
  ptx::wait_for_kernels_before();
  __shared__ detail::both_memory<Out> memory;
  auto& tile = memory.tile;
  const tile_origin origin(blockIdx.x, params.x);
  const thread_coords t;
  const vec8_column mine(params.x, origin, t);
  vec8<2> x[8];
  mine.load(params.x, x);
  tile.sides.put_amaxes(t, x);
  __syncthreads();

  const detail::side_position side;
  const std::uint32_t largest =
      side.is_row ? tile.sides.template amax_of_row<In>(side.at)
                  : tile.sides.template amax_of_column<In>(side.at);
  group_factors f;
  const bool found = detail::find_pair(
      params.plan, amax_of(params.plan, largest), f,
      side.is_row ? tile.sides.rows[side.at]
                  : tile.sides.columns[side.at % 8][side.at / 8]);
  __syncwarp();
  // A warp's rows need factors of this warp only, so no barrier yet.
  if (params.y.groups != grouping::none) {
    vec8_writer<Out::bytes> y(params.y.codes, mine);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const factor_pair by = tile.sides.rows[8 * t.a + i];
      y.put(i, encode_eight<Out>([&](int k) {
              return detail::scaled<Rounds>(value_of<In>(x[i].element(k)), by);
            }));
    }
  }
  if (__syncthreads_or(!found)) {
    detail::quantize_by_core<In, Out>(params, memory.groups);
    return;
  }
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const factor_pair by = tile.sides.columns[j][t.c];
    tile.transposed.put(t, j, encode_eight<Out>([&](int i) {
                          return detail::scaled<Rounds>(
                              value_of<In>(x[i].element(j)), by);
                        }));
  }
  __syncthreads();
  store_transposed(tile.transposed, params.yt.codes, origin);
  side.put(params, origin, f.scale);
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_QUANTIZE_ROWS_AND_COLUMNS_CUH_
