// Defines what the threads of a tile share when they quantize it: amaxes,
// scales and factors of its rows, columns or the whole. Also quantizes by the
// core the tiles that need it.

#ifndef ZEROULP_CUDA_QUANTIZE_GROUPS_CUH_
#define ZEROULP_CUDA_QUANTIZE_GROUPS_CUH_

#include "cuda/quantize/params.cuh"

namespace zeroulp::cuda::detail {

/// The factors and scales of the rows of a tile, or of its columns.
struct side_factors {
  alignas(16) float low[tile_edge];
  alignas(16) float high[tile_edge];
  std::uint32_t scale[tile_edge];
  std::uint32_t inverse[tile_edge];

  __device__ void set(int at, const group_factors& f) {
    low[at] = f.low, high[at] = f.high;
    scale[at] = f.scale, inverse[at] = f.inverse;
  }
};

/// Amaxes, scales and factors of a tile's groups, in shared memory.
struct tile_groups {
  std::uint32_t row_amax[tile_edge];
  alignas(16) std::uint32_t column_amax[tile_threads / 32][tile_edge];
  std::uint32_t warp_amax[tile_threads / 32];
  side_factors rows;
  side_factors columns;
};

/// The amax of group `at` of this kind in the tile.
__device__ inline std::uint32_t amax_of(const tile_groups& groups,
                                        grouping kind, int at) {
  if (kind == grouping::row) return groups.row_amax[at];
  std::uint32_t amax = 0;
#pragma unroll
  for (int w = 0; w < tile_threads / 32; ++w) {
    amax = max(amax, kind == grouping::column ? groups.column_amax[w][at]
                                              : groups.warp_amax[w]);
  }
  return amax;
}

/// Calls use(i, j) if group `at` of the tile exists. i and j are its indices
/// among the groups of x.
template <class Use>
__device__ void with_group(const tile_origin& origin, const device_rows& x,
                           grouping kind, int at, Use use) {
  const std::ptrdiff_t i = origin.row0, j = origin.col0;
  if (kind == grouping::row) {
    if (i + at < x.rows) use(i + at, j / tile_edge);
  } else if (kind == grouping::column) {
    if (j + at < x.cols) use(i / tile_edge, j + at);
  } else if (kind == grouping::tile) {
    if (at == 0) use(i / tile_edge, j / tile_edge);
  } else if (kind == grouping::matrix) {
    if (at == 0 && blockIdx.x == 0) use(std::ptrdiff_t{0}, std::ptrdiff_t{0});
  }
}

/// Writes the one scale of a tile. Called by one thread.
__device__ inline void put_scale(const quantize_params& params,
                                 const tile_origin& origin,
                                 std::uint32_t scale) {
  const auto put = [&](const quantized_target& to, bool is_transposed) {
    with_group(origin, params.x, to.groups, 0,
               [&](std::ptrdiff_t i, std::ptrdiff_t j) {
                 is_transposed ? to.scales.put(j, i, scale)
                               : to.scales.put(i, j, scale);
               });
  };
  put(params.y, false);
  put(params.yt, true);
}

/// True iff groups of this kind have their factors made by the first 128
/// threads (`is_row`), or by the others.
__device__ inline bool makes(grouping kind, bool is_row) {
  return kind == (is_row ? grouping::row : grouping::column) ||
         kind >= grouping::tile;
}

/// Writes the scales of a tile's groups. Called by all threads. find(amax,
/// factors) computes scale and factors; returns whether it succeeded for all
/// groups of this thread.
template <class Find>
__device__ bool scale_groups(const quantize_params& params,
                             const tile_origin& origin, tile_groups& groups,
                             Find find) {
  // The first 128 threads take a row each, the others a column each.
  const bool is_row = threadIdx.x < tile_edge;
  const int at = static_cast<int>(threadIdx.x) % tile_edge;
  bool found = true;
  const auto scale = [&](const quantized_target& to, bool is_transposed) {
    if (!makes(to.groups, is_row)) return;
    const bool is_shared = to.groups >= grouping::tile;
    std::uint32_t amax =
        cuda::amax_of(params.plan, amax_of(groups, to.groups, at));
    if (params.given.data != nullptr) {
      if (to.groups == grouping::matrix) {
        amax = params.given.at(0, 0);
      } else {
        with_group(origin, params.x, to.groups, is_shared ? 0 : at,
                   [&](std::ptrdiff_t i, std::ptrdiff_t j) {
                     amax = params.given.at(i, j);
                   });
      }
    }
    group_factors f;
    found &= find(amax, f);
    (is_row ? groups.rows : groups.columns).set(at, f);
    if (is_shared && !is_row) return;
    with_group(origin, params.x, to.groups, at,
               [&](std::ptrdiff_t i, std::ptrdiff_t j) {
                 is_transposed ? put_kept(to.scales, j, i, f.scale)
                               : put_kept(to.scales, i, j, f.scale);
               });
  };
  scale(params.y, false);
  scale(params.yt, true);
  return found;
}

/// Writes the amaxes that are wanted, not that of a whole matrix. Called by all
/// threads after a barrier.
__device__ inline void store_amaxes(const quantize_params& params,
                                    const tile_origin& origin,
                                    const tile_groups& groups) {
  const int at = static_cast<int>(threadIdx.x);
  const grouping kind = params.amax_groups;
  if (at >= tile_edge) return;
  with_group(origin, params.x, kind, at,
             [&](std::ptrdiff_t i, std::ptrdiff_t j) {
               params.amaxes.at(i, j) =
                   cuda::amax_of(params.plan, amax_of(groups, kind, at));
             });
}

/// Quantizes a tile by the core's own functions, element by element: right for
/// every tile, but slow. Called by all threads.
template <class In, class Out>
__device__ __noinline__ void quantize_by_core(const quantize_params& params,
                                              tile_groups& groups) {
  // Recomputed: as an argument, it would be kept in memory from the start.
  const tile_origin origin(blockIdx.x, params.x);
  const int thread = static_cast<int>(threadIdx.x);
  const quantizer& q = params.plan.q;
  const auto for_each_element = [&](auto use) {
    for (int at = thread; at < tile_edge * tile_edge; at += tile_threads) {
      const int i = at / tile_edge, j = at % tile_edge;
      const std::ptrdiff_t row = origin.row0 + i, col = origin.col0 + j;
      if (row < params.x.rows && col < params.x.cols) {
        use(i, j, row, col, element_at<In::bytes>(params.x, row, col));
      }
    }
  };
  __syncthreads();
  for (int i = thread; i < tile_edge; i += tile_threads) {
    groups.row_amax[i] = 0;
    for (auto& warp : groups.column_amax) warp[i] = 0;
  }
  if (thread < tile_threads / 32) groups.warp_amax[thread] = 0;
  __syncthreads();
  for_each_element(
      [&](int i, int j, std::ptrdiff_t, std::ptrdiff_t, std::uint32_t element) {
        const std::uint32_t m =
            group_amax(q, matrix_view<const std::uint32_t>(&element, 1, 1));
        atomicMax(&groups.row_amax[i], m);
        atomicMax(&groups.column_amax[0][j], m);
        atomicMax(&groups.warp_amax[0], m);
      });
  __syncthreads();
  if (params.amaxes.data != nullptr)
    return store_amaxes(params, origin, groups);
  scale_groups(params, origin, groups,
               [&](std::uint32_t amax, group_factors& f) {
                 const group_scale s = make_scale(q, amax);
                 f = {0, 0, s.scale, s.inverse};
                 return true;
               });
  __syncthreads();
  for_each_element([&](int i, int j, std::ptrdiff_t row, std::ptrdiff_t col,
                       std::uint32_t element) {
    const std::uint32_t x = __float_as_uint(value_of<In>(element));
    const auto put = [&](const quantized_target& to, std::ptrdiff_t to_row,
                         std::ptrdiff_t to_col) {
      if (to.groups == grouping::none) return;
      const bool by_column = to.groups == grouping::column;
      const side_factors& side = by_column ? groups.columns : groups.rows;
      const int at = by_column ? j : i;
      const group_scale s{side.scale[at], side.inverse[at]};
      const auto code = quantize_element(q, s, x);
      set_element<Out::bytes>(to.codes, to_row, to_col,
                              static_cast<std::uint32_t>(code));
    };
    put(params.y, row, col);
    put(params.yt, col, row);
  });
}

}  // namespace zeroulp::cuda::detail

#endif  // ZEROULP_CUDA_QUANTIZE_GROUPS_CUH_
