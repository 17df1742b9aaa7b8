// Defines the warps that fill the ring of a GEMM's stages, and the one that
// sends D.

#ifndef ZEROULP_CUDA_GEMM_FEED_CUH_
#define ZEROULP_CUDA_GEMM_FEED_CUH_

#include "cuda/gemm_ring.cuh"

namespace zeroulp::cuda::detail {

/// Which of the stages, one after another, the copier `which` fills.
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
  int before_;  ///< stages of others before its next
};

/// Passes over a stage that others fill, once it is free. By each thread from
/// which the full barrier expects to hear.
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

/// Has the L2 bring the first 256 lines of B, those of the first blocks of K of
/// this block's first tile, before the kernels before have ended. By all
/// threads.
template <class Shape>
__device__ void prefetch_b(const gemm_job& job) {
  const int i = static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(blockIdx.x) * Shape::n + i % Shape::n;
  const int k = i / Shape::n * Shape::k;
  if (i < 256 && row < job.n && k < job.k) {
    ptx::prefetch_line(job.b + row * job.b_stride + k);
  }
}

/// Sends D from its panels, by one thread: boxes of a warp group's 64 rows and
/// 128 bytes, one at a time, and where K is long, one with each stage of the
/// next tile, from the third on. All at once, they would keep that tile's
/// operands waiting. Where tiles come from a board, writes it, two tiles ahead.
/// Whoever has left the panels of tile T - 1 has read T, so that T + 2 may take
/// the slot of T - 1; not that of T, as nobody has left any before the first.
/// One ahead, all could wait for each other: this thread for stages of T + 1,
/// whose products, to free them, wait for T + 2.
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
  int before = 0;  // stages of the tiles before the next
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
    // The boxes are spread over so many stages, up to the last but two; of 5 to
    // 11 some bring several. Fewer are too short to wait for.
    const int step = min(boxes, stages - 4);
    ptx::wait(shared.d_full(), parity);
    for (int box = 0; box < boxes; ++box) {
      const int group = box % Shape::groups, index = box / Shape::groups;
      // Of FP32 all panels are of the first 64 rows.
      const int unit = is_fp32 ? 0 : index / (Shape::n / 64);
      const int row = t.row + (group * Shape::rows + unit) * 64;
      const int column = t.column + index * columns % Shape::n;
      if (row >= t.row_end || column >= job.n) continue;
      if (step > 0) shared.asked().wait(before + 2 + box * step / boxes);
      const char* const panel = shared.panel(4 * group, index);
      if (!Grouped || t.row_end == job.m || row + 64 <= t.row_end) {
        ptx::store_box(job.d_tall_map, panel, column, row, t.d_matrix);
      } else {  // A group's rows end here: what is left, the warps store.
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

/// With one block of K in eight, of the last ones, the L2 is asked for a box of
/// C: all multiprocessors would wait for theirs at once. `left`: blocks of K
/// after this one.
template <class Shape>
__device__ void prefetch_c(const gemm_job& job, const gemm_tile& t, int left) {
  constexpr int every = 8, boxes = Shape::n / Shape::c_columns;
  if (left % every != 0 || left == 0 || left > every * boxes) return;
  const int box = boxes - left / every;
  ptx::prefetch_box(job.c_map, t.column + box * Shape::c_columns, t.row,
                    t.d_matrix);
}

/// Brings the operands of every tile of this block, by one thread of each
/// copier.
template <class Shape, bool Grouped>
__device__ void copy_operands(const gemm_job& job,
                              const gemm_shared<Shape>& shared, int which) {
  const std::uint64_t once = ptx::policy_of_one_use();
  copier_turn<Shape::copiers> turn(which);
  ring_place<Shape::stages> at;
  gemm_walk<Shape, Grouped> walk(job);
  gemm_tile t{};
  int stage = 0;  // of all operands
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
      // Not before the first stages, which are free at once.
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

/// Brings the scales of one operand, stage after stage: in boxes, by lane 0,
/// where they stand beside each other and begin on 16 bytes, as the copy engine
/// asks, else word by word, zeros from `inside` on.
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
  /// To the next group of K.
  __device__ void advance() { from += scales.k_stride, ++group; }
};

/// Brings the scales, by the warp `which` of those that do.
template <class Shape, class Scaling, bool Grouped>
__device__ void copy_scales(const gemm_job& job,
                            const gemm_shared<Shape>& shared, int which) {
  constexpr int b_rows = Scaling::b_rows;
  // A small tile would wait for boxes longer than for words.
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

#endif  // ZEROULP_CUDA_GEMM_FEED_CUH_
