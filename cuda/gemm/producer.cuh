// Defines the producer warps, which fill the pipeline stages of a GEMM, and the
// store thread, which issues the TMA stores of D.

#ifndef ZEROULP_CUDA_GEMM_PRODUCER_CUH_
#define ZEROULP_CUDA_GEMM_PRODUCER_CUH_

#include "cuda/gemm/tile_config.cuh"

namespace zeroulp::cuda::detail {

/// Tells load thread (or scale-load warp) `which` which stages are its turn.
template <int Copiers>
class copier_turn {
 public:
  __device__ explicit copier_turn(int which) : before_(which) {}
  __device__ bool is_next() {
    if (before_-- > 0) return false;
    before_ = Copiers - 1;
    return true;
  }

 private:
  int before_;  ///< stages of others before its next turn
};

/// Arrives at the full barrier of a stage that other threads fill, once the
/// stage is empty. Called by every thread that the full barrier counts.
template <class Shape, int Copiers>
__device__ void leave_stage(const gemm_shared<Shape>& shared,
                            copier_turn<Copiers>& turn,
                            ring_place<Shape::stages>& at) {
  if (turn.is_next()) {
    ptx::wait(shared.free()[at.stage], at.parity ^ 1);
    ptx::arrive(shared.full()[at.stage]);
  }
  at.advance();
}

/// Prefetches 256 lines of B into the L2, before the preceding kernels have
/// ended: the first K blocks of this block's first tile. Called by all threads.
template <class Shape>
__device__ void prefetch_b(const gemm_job& job) {
  const int i = static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(blockIdx.x) * Shape::n + i % Shape::n;
  const int k = i / Shape::n * Shape::k;
  if (i < 256 && row < job.n && k < job.k) {
    ptx::prefetch_line(job.b + row * job.b_stride + k);
  }
}

/// The store thread: issues the TMA stores of D from the panels, one box (64
/// rows of a warp group, 128 bytes) at a time. If K is long, it issues one box
/// with each stage of the next tile, from the third on. All boxes at once would
/// delay that tile's operand loads.
///
/// With finds_ahead it also runs the tile scheduler, two tiles ahead of the
/// consumers. The queue has three slots, so tile T + 2 takes the slot of T - 1.
/// That slot is free: a consumer hands over the panels of T - 1 (d_full) only
/// after it has read T. The slot of T would not be: no panels are handed over
/// before the first tile.
///
/// One tile ahead would deadlock. This thread would wait for stages of T + 1,
/// whose consumers wait for T + 2 before they free stages.
template <class Shape, bool Grouped>
__device__ void send_panels(const gemm_job& job,
                            const gemm_shared<Shape>& shared) {
  if (!job.by_boxes) return;
  constexpr bool ahead = finds_ahead<Shape, Grouped>;
  constexpr int boxes = Shape::groups * Shape::panels;
  const bool is_fp32 = !Shape::flows && job.is_fp32;
  const int columns = is_fp32 ? 32 : 64;
  gemm_schedule<Shape, Grouped> schedule(job);
  int found = 0;
  const auto find = [&](gemm_tile& t) {
    const bool is_there = schedule.next(job, t);
    if constexpr (ahead) shared.board().write(found++, t, is_there);
    return is_there;
  };
  int before = 0;  // stages of all tiles before `next`
  gemm_tile t{}, next{}, after{};
  bool more = find(next), still_more = ahead && more && find(after);
  for (unsigned parity = 0; more; parity ^= 1) {
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
    ptx::wait(shared.d_full(), parity);
    for (int box = 0; box < boxes; ++box) {
      const int group = box % Shape::groups, index = box / Shape::groups;
      // For FP32, all panels hold the first 64 rows.
      const int unit = is_fp32 ? 0 : index / (Shape::n / 64);
      const int row = t.row + (group * Shape::rows + unit) * 64;
      const int column = t.column + index * columns % Shape::n;
      if (row >= t.row_end || column >= job.n) continue;
      if (step > 0) shared.asked().wait(before + 2 + box * step / boxes);
      const char* const panel = shared.panel(4 * group, index);
      if (!Grouped || t.row_end == job.m || row + 64 <= t.row_end) {
        ptx::store_box(job.d_tall_map, panel, column, row, t.d_matrix);
      } else {  // The group's rows end here: the warps store what is left.
        for (int i = 0; row + i + 16 <= t.row_end; i += 16) {
          ptx::store_box(job.d_map, panel + i * 128, column, row + i,
                         t.d_matrix);
        }
      }
      ptx::commit_stores();
      if (more) ptx::wait_for_stores();
    }
    ptx::wait_for_stores();
    ptx::arrive(shared.d_free());
  }
}

/// Prefetches one box of C into the L2 with every eighth of the tile's last K
/// blocks. Otherwise all multiprocessors would wait for C at the same time.
/// `left`: K blocks after this one.
template <class Shape>
__device__ void prefetch_c(const gemm_job& job, const gemm_tile& t, int left) {
  constexpr int every = 8, boxes = Shape::n / Shape::c_columns;
  if (left % every != 0 || left == 0 || left > every * boxes) return;
  const int box = boxes - left / every;
  ptx::prefetch_box(job.c_map, t.column + box * Shape::c_columns, t.row,
                    t.d_matrix);
}

/// A load thread: issues the TMA loads of A and B of all tiles of this block,
/// and of C, in its turns.
template <class Shape, bool Grouped>
__device__ void copy_operands(const gemm_job& job,
                              const gemm_shared<Shape>& shared, int which) {
  const std::uint64_t once = ptx::policy_of_one_use();
  copier_turn<Shape::copiers> turn(which);
  ring_place<Shape::stages> at;
  gemm_walk<Shape, Grouped> walk(job);
  gemm_tile t{};
  int stage = 0;  // counts operand stages of all tiles
  for (; walk.next(t); walk.look_ahead()) {
    for (int k = t.k_begin; k < t.k_end; k += Shape::k, ++stage, at.advance()) {
      if (!turn.is_next()) continue;
      ptx::wait(shared.free()[at.stage], at.parity ^ 1);
      auto& full = shared.full()[at.stage];
      ptx::arrive_expecting(full, job.a_box_bytes + Shape::b_bytes);
      ptx::copy_box(shared.a(at.stage), job.a_map, full, k, t.row, t.a_matrix);
      if (Shape::reads_b_once && job.b_once) {
        ptx::copy_box(shared.b(at.stage), job.b_map, full, k, t.column,
                      t.b_matrix, once);
      } else {
        ptx::copy_box(shared.b(at.stage), job.b_map, full, k, t.column,
                      t.b_matrix);
      }
      if constexpr (Shape::sends) shared.asked().set(stage);
      if (Shape::prefetches_c && job.c_by_boxes) {
        prefetch_c<Shape>(job, t, (t.k_end - k - 1) / Shape::k);
      }
      // Not with the first stages, which are free at once: their loads come
      // first.
      if (k >= t.k_begin + 2 * Shape::k) walk.look_ahead();
    }
    if (!job.c_by_boxes) continue;
    for (int j = 0; j < Shape::n; j += Shape::c_columns, at.advance()) {
      if (!turn.is_next()) continue;
      ptx::wait(shared.free()[at.stage], at.parity ^ 1);
      auto& full = shared.full()[at.stage];
      ptx::arrive_expecting(full, Shape::a_bytes);
      ptx::copy_box(shared.a(at.stage), job.c_map, full, t.column + j, t.row,
                    t.d_matrix);
    }
  }
}

/// Loads the scales of one operand, stage by stage. Lane 0 issues a TMA box if
/// the scales are contiguous and start on 16 bytes, as TMA requires. Otherwise
/// each lane copies words, with zeros from `inside` on.
template <int Count>
struct scale_copier {
  const gemm_scales& scales;
  const CUtensorMap& map;
  const float* from;
  int first, inside;
  int group;
  bool by_box;

  __device__ scale_copier(const gemm_scales& of, const CUtensorMap& boxes,
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
          ptx::copy_word(to + i + lane, from + (i + lane) * scales.stride,
                         i + lane < inside);
        }
      }
    } else if (lane == 0) {
      ptx::copy_box(to, map, full, first, group, 0);
    }
  }
  /// Advances to the next group of K.
  __device__ void advance() { from += scales.k_stride, ++group; }
};

/// Scale-load warp `which`: loads the scales of all tiles of this block, in its
/// turns.
template <class Shape, class Scaling, bool Grouped>
__device__ void copy_scales(const gemm_job& job,
                            const gemm_shared<Shape>& shared, int which) {
  constexpr int b_rows = Scaling::b_rows;
  // For a small tile, a box arrives later than words.
  constexpr bool boxes = Shape::m >= 128;
  const int lane = static_cast<int>(threadIdx.x % 32);
  copier_turn<Shape::scalers> turn(which);
  ring_place<Shape::stages> at;
  gemm_walk<Shape, Grouped> walk(job);
  gemm_tile t{};
  for (; walk.next(t); walk.look_ahead()) {
    const int group = t.k_begin / Shape::k;
    scale_copier<Shape::m> a(job.a_scales, job.a_scale_map,
                             boxes && job.a_scale_boxes, t.a_matrix, job.m,
                             t.row, t.row_end, group);
    scale_copier<Scaling::b_scales> b(
        job.b_scales, job.b_scale_map, boxes && job.b_scale_boxes, t.b_matrix,
        job.n, t.column / b_rows, (job.n - 1) / b_rows + 1, group);
    for (int k = t.k_begin; k < t.k_end; k += Shape::k) {
      if (turn.is_next()) {
        ptx::wait(shared.free()[at.stage], at.parity ^ 1);
        auto& full = shared.full()[at.stage];
        if (boxes && lane == 0) ptx::expect(full, a.bytes() + b.bytes());
        a.copy(shared.a_scales(at.stage), full, lane);
        b.copy(shared.b_scales(at.stage), full, lane);
        ptx::arrive_after_copies(full);
        if (k >= t.k_begin + 2 * Shape::k) walk.look_ahead();
      }
      a.advance(), b.advance(), at.advance();
    }
    if (!job.c_by_boxes) continue;
    for (int j = 0; j < Shape::n; j += Shape::c_columns) {
      leave_stage(shared, turn, at);
    }
  }
}

}  // namespace zeroulp::cuda::detail

#endif  // ZEROULP_CUDA_GEMM_PRODUCER_CUH_
