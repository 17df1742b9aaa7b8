// Defines the store thread, which issues the TMA stores of D.

#ifndef ZEROULP_CUDA_GEMM_TMA_STORE_CUH_
#define ZEROULP_CUDA_GEMM_TMA_STORE_CUH_

#include "cuda/gemm/shared_storage.cuh"
#include "cuda/ptx/tma.cuh"

namespace zeroulp::cuda::detail {

/// The store thread: issues the TMA stores of D from smem_d, one box (64 rows
/// of a warp group, 128 bytes) at a time. If K is long, it issues one box
/// with each stage of the next tile, from the third on. All boxes at once would
/// delay that tile's operand loads.
///
/// With schedules_ahead it also runs the tile scheduler, two tiles ahead of the
/// math warps. The queue has three slots, so tile T + 2 takes the slot of T
/// - 1. That slot is free: a math warp hands over smem_d of T - 1 (d_full) only
/// after it has read T. The slot of T would not be: nothing is handed over
/// before the first tile.
///
/// One tile ahead would deadlock. This thread would wait for stages of T + 1,
/// but the math warps wait for T + 2 before they release those stages.
template <class Shape, bool Grouped>
__device__ void run_store_thread(const gemm_params& params,
                                 const gemm_shared_storage<Shape>& shared) {
  if (!params.stores_by_tma) return;
  constexpr bool ahead = schedules_ahead<Shape, Grouped>;
  constexpr int boxes = Shape::math_warpgroups * Shape::d_boxes;
  const bool is_fp32 = !Shape::overlaps_epilogue && params.is_fp32;
  const int columns = is_fp32 ? 32 : 64;
  tile_scheduler<Shape, Grouped> scheduler(params);
  int found = 0;
  const auto find = [&](gemm_tile& t) {
    const bool is_there = scheduler.next(params, t);
    if constexpr (ahead) shared.queue().write(found++, t, is_there);
    return is_there;
  };
  int before = 0;  // stages of all tiles before `next`
  gemm_tile t{}, next{}, after{};
  bool more = find(next), still_more = ahead && more && find(after);
  for (unsigned phase = 0; more; phase ^= 1) {
    t = next;
    if constexpr (ahead) {
      next = after, more = still_more;
      still_more = more && find(after);
    } else {
      more = find(next);
    }
    before += t.blocks(Shape::k);
    const int stages = more ? next.blocks(Shape::k) : 0;
    // Spread the boxes over this many stages of the next tile, all but its
    // first two and its last two. If it has 5 to 11 stages, some get several
    // boxes; with fewer, storing does not wait for stages.
    const int step = min(boxes, stages - 4);
    ptx::wait(shared.d_full(), phase);
    for (int box = 0; box < boxes; ++box) {
      const int group = box % Shape::math_warpgroups,
                index = box / Shape::math_warpgroups;
      // For FP32, all boxes hold the first 64 rows.
      const int unit = is_fp32 ? 0 : index / (Shape::n / 64);
      const int row = t.row + (group * Shape::m_waves + unit) * 64;
      const int column = t.column + index * columns % Shape::n;
      if (row >= t.row_end || column >= params.n) continue;
      if (step > 0) shared.issued().wait(before + 2 + box * step / boxes);
      const char* const d_box = shared.d_box(4 * group, index);
      if (!Grouped || t.row_end == params.m || row + 64 <= t.row_end) {
        ptx::tma_store(params.d_tall_map, d_box, column, row, t.d_matrix);
      } else {  // The group's rows end here: the warps store what is left.
        for (int i = 0; row + i + 16 <= t.row_end; i += 16) {
          ptx::tma_store(params.d_map, d_box + i * 128, column, row + i,
                         t.d_matrix);
        }
      }
      ptx::tma_store_commit();
      if (more) ptx::tma_store_wait();
    }
    ptx::tma_store_wait();
    ptx::arrive(shared.d_empty());
  }
}

}  // namespace zeroulp::cuda::detail

#endif  // ZEROULP_CUDA_GEMM_TMA_STORE_CUH_
