// Defines the kernel that transposes codes and their 128 x 128 scales: SPEC,
// W6. A block moves a tile; a thread transposes 8 x 8 of it in registers.

#ifndef ZEROULP_CUDA_LAYOUT_TRANSPOSE_CUH_
#define ZEROULP_CUDA_LAYOUT_TRANSPOSE_CUH_

#include "cuda/common/rows.cuh"
#include "cuda/common/scales.cuh"
#include "cuda/ptx/warp.cuh"

namespace zeroulp::cuda {

struct transpose_params {
  device_rows codes;
  scale_source scales;
  device_rows to;
  scale_target to_scales;
};

namespace detail {

/// Returns column j of eight rows of eight elements.
template <int Bytes>
__device__ vec8<Bytes> column_of(const vec8<Bytes> (&rows)[8], int j) {
  vec8<Bytes> column{};
  if constexpr (Bytes == 2) {
    const unsigned halves = j % 2 == 0 ? 0x5410 : 0x7632;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      column.words[i] = __byte_perm(rows[2 * i].words[j / 2],
                                    rows[2 * i + 1].words[j / 2], halves);
    }
  } else {
    static_assert(Bytes == 1);
    // First two columns of two rows each, then one column of four rows.
    const unsigned pairs = j % 4 < 2 ? 0x5140 : 0x7362;
    const unsigned halves = j % 2 == 0 ? 0x5410 : 0x7632;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int w = j / 4;
      column.words[i] = __byte_perm(
          __byte_perm(rows[4 * i].words[w], rows[4 * i + 1].words[w], pairs),
          __byte_perm(rows[4 * i + 2].words[w], rows[4 * i + 3].words[w],
                      pairs),
          halves);
    }
  }
  return column;
}

}  // namespace detail

template <int Bytes>
__global__ void __launch_bounds__(tile_threads, 4)
    transpose_tile(const __grid_constant__ transpose_params params) {
  ptx::wait_for_kernels_before();
  __shared__ transposing_tile<Bytes> tile;
  const tile_origin origin(blockIdx.x, params.codes);
  const thread_coords t;
  vec8<Bytes> x[8];
  load_rows(params.codes, origin.row0 + 8 * t.a, origin.col0 + 8 * t.c, x);
  if (threadIdx.x == 0) {
    const std::ptrdiff_t i = origin.row0 / tile_edge;
    const std::ptrdiff_t j = origin.col0 / tile_edge;
    params.to_scales.put(j, i, params.scales.at(i, j));
  }
#pragma unroll
  for (int j = 0; j < 8; ++j) tile.put(t, j, detail::column_of<Bytes>(x, j));
  __syncthreads();
  store_transposed(tile, params.to, origin);
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_LAYOUT_TRANSPOSE_CUH_
