// Defines the producer warps, which fill the pipeline stages of a GEMM.

#ifndef ZEROULP_CUDA_GEMM_PRODUCER_CUH_
#define ZEROULP_CUDA_GEMM_PRODUCER_CUH_

#include "cuda/gemm/shared_storage.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/tma.cuh"

namespace zeroulp::cuda::detail {

/// Tells load thread (or scale-load warp) `which` which stages are its turn.
template <int Threads>
class load_turn {
 public:
  __device__ explicit load_turn(int which) : before_(which) {}
  __device__ bool is_next() {
    if (before_-- > 0) return false;
    before_ = Threads - 1;
    return true;
  }

 private:
  int before_;  ///< stages of others before its next turn
};

/// Arrives at the full barrier of a stage that other threads fill, once the
/// stage is empty. Called by every thread that the full barrier counts.
template <class Shape, int Threads>
__device__ void skip_stage(const gemm_shared_storage<Shape>& shared,
                           load_turn<Threads>& turn,
                           pipeline_state<Shape::stages>& at) {
  if (turn.is_next()) {
    wait_empty(shared.empty(), at);
    ptx::arrive(shared.full()[at.stage]);
  }
  at.advance();
}

/// Prefetches 256 lines of B into the L2, before the preceding kernels have
/// ended: the first K blocks of this block's first tile. Called by all threads.
template <class Shape>
__device__ void prefetch_b(const gemm_params& params) {
  const int i = static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(blockIdx.x) * Shape::n + i % Shape::n;
  const int k = i / Shape::n * Shape::k;
  if (i < 256 && row < params.n && k < params.k) {
    ptx::prefetch_l2(params.b + row * params.b_stride + k);
  }
}

/// Prefetches one box of C into the L2 with every eighth of the tile's last K
/// blocks. Otherwise all multiprocessors would wait for C at the same time.
/// `left`: K blocks after this one.
template <class Shape>
__device__ void prefetch_c(const gemm_params& params, const gemm_tile& t,
                           int left) {
  constexpr int every = 8, boxes = Shape::n / Shape::c_columns;
  if (left % every != 0 || left == 0 || left > every * boxes) return;
  const int box = boxes - left / every;
  ptx::tma_prefetch(params.c_map, t.column + box * Shape::c_columns, t.row,
                    t.d_matrix);
}

/// A load thread: issues the TMA loads of A and B of all tiles of this block,
/// and of C, in its turns.
template <class Shape, bool Grouped>
__device__ void run_load_thread(const gemm_params& params,
                                const gemm_shared_storage<Shape>& shared,
                                int which) {
  const std::uint64_t once = ptx::evict_first_policy();
  load_turn<Shape::load_threads> turn(which);
  pipeline_state<Shape::stages> at;
  lookahead_scheduler<Shape, Grouped> scheduler(params);
  gemm_tile t{};
  int stage = 0;  // counts operand stages of all tiles
  for (; scheduler.next(t); scheduler.look_ahead()) {
    for (int k = t.k_begin; k < t.k_end; k += Shape::k, ++stage, at.advance()) {
      if (!turn.is_next()) continue;
      wait_empty(shared.empty(), at);
      auto& full = shared.full()[at.stage];
      ptx::arrive_expect_tx(full, params.a_box_bytes + Shape::b_bytes);
      ptx::tma_load(shared.a(at.stage), params.a_map, full, k, t.row,
                    t.a_matrix);
      if (Shape::reads_b_once && params.b_once) {
        ptx::tma_load(shared.b(at.stage), params.b_map, full, k, t.column,
                      t.b_matrix, once);
      } else {
        ptx::tma_load(shared.b(at.stage), params.b_map, full, k, t.column,
                      t.b_matrix);
      }
      if constexpr (Shape::has_store_thread) shared.issued().set(stage);
      if (Shape::prefetches_c && params.loads_c_by_tma) {
        prefetch_c<Shape>(params, t, (t.k_end - k - 1) / Shape::k);
      }
      // Not with the first stages, which are empty at once: their loads come
      // first.
      if (k >= t.k_begin + 2 * Shape::k) scheduler.look_ahead();
    }
    if (!params.loads_c_by_tma) continue;
    for (int j = 0; j < Shape::n; j += Shape::c_columns, at.advance()) {
      if (!turn.is_next()) continue;
      wait_empty(shared.empty(), at);
      auto& full = shared.full()[at.stage];
      ptx::arrive_expect_tx(full, Shape::a_bytes);
      ptx::tma_load(shared.a(at.stage), params.c_map, full, t.column + j, t.row,
                    t.d_matrix);
    }
  }
}

/// Loads the scales of one operand, stage by stage. Lane 0 issues a TMA box if
/// the scales are contiguous and start on 16 bytes, as TMA requires. Otherwise
/// each lane copies words, with zeros from `inside` on.
template <int Count>
struct scale_loader {
  const gemm_scales& scales;
  const CUtensorMap& map;
  const float* from;
  int first, inside;
  int group;
  bool by_box;

  __device__ scale_loader(const gemm_scales& of, const CUtensorMap& boxes,
                          bool has_boxes, int matrix, int rows, int row,
                          int row_end, int k_group)
      : scales(of),
        map(boxes),
        from(of.data + matrix * of.matrix_stride + row * of.stride +
             k_group * of.k_stride),
        first(matrix * rows + row),
        inside(row_end - row),
        group(k_group),
        by_box(has_boxes && first % 4 == 0) {}

  __device__ unsigned bytes() const { return by_box ? Count * 4 : 0; }

  __device__ void copy(float* to, ptx::barrier& full, int lane) const {
    if (!by_box) {
#pragma unroll
      for (int i = 0; i < Count; i += 32) {
        if (i + lane < Count) {
          ptx::cp_async_4(to + i + lane, from + (i + lane) * scales.stride,
                          i + lane < inside);
        }
      }
    } else if (lane == 0) {
      ptx::tma_load(to, map, full, first, group, 0);
    }
  }
  /// Advances to the next group of K.
  __device__ void advance() { from += scales.k_stride, ++group; }
};

/// Scale-load warp `which`: loads the scales of all tiles of this block, in its
/// turns.
template <class Shape, class Scaling, bool Grouped>
__device__ void run_scale_warp(const gemm_params& params,
                               const gemm_shared_storage<Shape>& shared,
                               int which) {
  constexpr int b_rows = Scaling::b_rows;
  // For a small tile, a box arrives later than words.
  constexpr bool boxes = Shape::m >= 128;
  const int lane = static_cast<int>(threadIdx.x % 32);
  load_turn<Shape::scale_warps> turn(which);
  pipeline_state<Shape::stages> at;
  lookahead_scheduler<Shape, Grouped> scheduler(params);
  gemm_tile t{};
  for (; scheduler.next(t); scheduler.look_ahead()) {
    const int group = t.k_begin / Shape::k;
    scale_loader<Shape::m> a(params.a_scales, params.a_scale_map,
                             boxes && params.a_scales_by_tma, t.a_matrix,
                             params.m, t.row, t.row_end, group);
    scale_loader<Scaling::b_scales> b(params.b_scales, params.b_scale_map,
                                      boxes && params.b_scales_by_tma,
                                      t.b_matrix, params.n, t.column / b_rows,
                                      (params.n - 1) / b_rows + 1, group);
    for (int k = t.k_begin; k < t.k_end; k += Shape::k) {
      if (turn.is_next()) {
        wait_empty(shared.empty(), at);
        auto& full = shared.full()[at.stage];
        if (boxes && lane == 0) ptx::expect_tx(full, a.bytes() + b.bytes());
        a.copy(shared.a_scales(at.stage), full, lane);
        b.copy(shared.b_scales(at.stage), full, lane);
        ptx::arrive_after_cp_async(full);
        if (k >= t.k_begin + 2 * Shape::k) scheduler.look_ahead();
      }
      a.advance(), b.advance(), at.advance();
    }
    if (!params.loads_c_by_tma) continue;
    for (int j = 0; j < Shape::n; j += Shape::c_columns) {
      skip_stage(shared, turn, at);
    }
  }
}

}  // namespace zeroulp::cuda::detail

#endif  // ZEROULP_CUDA_GEMM_PRODUCER_CUH_
