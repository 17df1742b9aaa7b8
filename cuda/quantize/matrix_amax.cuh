// Defines the kernel that finds the amax of a whole matrix.
//
//   blocks take tiles of 128 x 128, last ones first; a thread keeps the
//   largest magnitude of its 8 x 8 elements of each -> block -> atomicMax
//
// Magnitudes are compared as words, so that the order changes no bit. No
// barrier stands between tiles: loads of some warps overlap work of others.
// What a kernel wrote last, and what a quantizer reads first, is in the L2:
// hence the order of tiles. Source: SPEC clauses Q2, Q5.

#ifndef ZEROULP_CUDA_QUANTIZE_MATRIX_AMAX_CUH_
#define ZEROULP_CUDA_QUANTIZE_MATRIX_AMAX_CUH_

#include "cuda/ptx/warp.cuh"
#include "cuda/quantize/params.cuh"

namespace zeroulp::cuda {

struct matrix_amax_params {
  quantizer_plan plan;
  device_rows x;
  unsigned tiles;       ///< of x
  std::uint32_t* amax;  ///< 0 before
};

/// Blocks of a multiprocessor, each of which has a tile of loads under way.
template <class In>
inline constexpr int amax_blocks = In::bytes == 4 ? 3 : 4;

namespace detail {

/// The amax of elements (row0, col0) to (row0 + 7, col0 + 7) by the core, which
/// knows the rule for NaN and Inf.
template <class In>
__device__ __noinline__ std::uint32_t amax_by_core(const quantizer& q,
                                                   const device_rows& x,
                                                   std::ptrdiff_t row0,
                                                   std::ptrdiff_t col0) {
  std::uint32_t amax = 0;
#pragma unroll 1
  for (int k = 0; k < 64; ++k) {
    const std::ptrdiff_t i = row0 + k / 8, j = col0 + k % 8;
    if (i >= x.rows || j >= x.cols) continue;
    const std::uint32_t element = element_at<In::bytes>(x, i, j);
    amax = max(amax,
               group_amax(q, matrix_view<const std::uint32_t>(&element, 1, 1)));
  }
  return amax;
}

}  // namespace detail

template <class In>
__global__ void __launch_bounds__(tile_threads, amax_blocks<In>)
    find_matrix_amax(const __grid_constant__ matrix_amax_params params) {
  ptx::wait_for_kernels_before();
  __shared__ std::uint32_t amaxes[tile_threads / 32];
  const thread_coords t;
  std::uint32_t key = 0, amax = 0;
  for (unsigned n = blockIdx.x; n < params.tiles; n += gridDim.x) {
    const tile_origin origin(params.tiles - 1 - n, params.x);
    const std::ptrdiff_t row0 = origin.row0 + 8 * t.a;
    const std::ptrdiff_t col0 = origin.col0 + 8 * t.c;
    vec8<In::bytes> x[8];
    load_rows<In::bytes>(params.x, row0, col0, x);
    const std::uint32_t of_tile = detail::largest_key<In>(x);
    if (detail::magnitude_of<In>(of_tile) >= params.plan.special) {
      amax = max(amax,
                 detail::amax_by_core<In>(params.plan.q, params.x, row0, col0));
    } else if constexpr (In::bytes == 4) {
      key = max(key, of_tile);
    } else {
      key = __vmaxu2(key, of_tile);
    }
  }
  amax = max(amax, amax_of(params.plan, detail::magnitude_of<In>(key)));
  amax = __reduce_max_sync(0xffffffff, amax);
  if (threadIdx.x % 32 == 0) amaxes[threadIdx.x / 32] = amax;
  __syncthreads();
  if (threadIdx.x != 0) return;
#pragma unroll
  for (int w = 1; w < tile_threads / 32; ++w) amax = max(amax, amaxes[w]);
  atomicMax(params.amax, amax);
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_QUANTIZE_MATRIX_AMAX_CUH_
