// Defines the shape of a GEMM's tiles, the ring of stages in shared memory
// through which its operands pass, and the warps that fill it.

#ifndef ZEROULP_CUDA_GEMM_RING_CUH_
#define ZEROULP_CUDA_GEMM_RING_CUH_

#include <type_traits>

#include "cuda/gemm_job.cuh"
#include "cuda/ptx.cuh"

namespace zeroulp::cuda {

/// The shape of a tile and of the machinery around it.
template <int Groups, int Rows, int Width, int Partials = 1,
          int Line = Partials, bool Flows = false, int Copiers = 2,
          bool Sends = Flows>
struct gemm_shape {
  static constexpr int groups = Groups;  ///< warp groups that multiply
  static constexpr int threads = 128 * (Groups + 1);
  static constexpr int rows = Rows;  ///< times 64, of a warp group
  static constexpr int m = 64 * Groups * Rows;
  static constexpr int n = Width;
  static constexpr int k = 128;
  /// Partial sums that a warp group has under way at a time, and the blocks of
  /// K of which it speaks in one straight line, at the end of which none may be
  /// under way (else the assembler waits for each: C7514).
  static constexpr int partials = Partials, line = Line;
  /// Threads that bring operands, and warps that bring scales, in turn: a stage
  /// takes one 350 to 480 clocks, whatever it holds (TUNING.md).
  static constexpr int copiers = Copiers;
  /// Whether the copiers send D while the next tile is under way: all of BF16,
  /// of FP32 the first 64 rows of each warp group, for which there are panels.
  /// Else each warp has one panel, sends it by itself, and waits until it has
  /// left before it writes it again.
  static constexpr bool sends = Sends;
  /// Whether products are under way in the epilogue. D is BF16.
  static constexpr bool flows = Flows;
  static_assert(Sends ? Rows == 2 && Width % 64 == 0 : !Flows);

  static constexpr int a_bytes = m * k;
  static constexpr int b_bytes = n * k;
  /// Places in shared memory, from a multiple of 1024: panels of D, 16 rows of
  /// 128 bytes of a warp, then a ring of stages.
  static constexpr int panel_bytes = 16 * 128;
  static constexpr int panels = sends ? rows * n / 64 : 1;  ///< of a warp
  static constexpr int out_bytes =
      n % 64 == 0 ? 4 * groups * panels * panel_bytes : 0;
  static constexpr int scale_bytes = (m + n) * 4;
  static constexpr int stage_bytes = a_bytes + b_bytes + scale_bytes;
  static constexpr int ring_bytes = (227 - 1) * 1024 - 256 - out_bytes;
  static constexpr int stages =
      ring_bytes / stage_bytes > 16 ? 16 : ring_bytes / stage_bytes;
  /// Else a copier could take a stage's round for the one before.
  static_assert(stages >= copiers);
  static constexpr int shared_bytes =
      1024 + out_bytes + stages * stage_bytes + 256;

  /// Of few rows: where they are all that A has, B is read once.
  static constexpr bool reads_b_once = m == 64;

  /// Boxes of C, m rows of 128 bytes, pass through the ring, too, after the
  /// operands, where A would be.
  static constexpr int c_columns = 32;  ///< in a stage
};

namespace detail {

template <class Shape>
struct gemm_shared {
  static constexpr int stages = Shape::stages;
  /// That multiply.
  static constexpr int warps = 4 * Shape::groups;
  char* outs;  ///< a multiple of 1024
  char* ring;

  __device__ explicit gemm_shared(char* raw) {
    const auto at = ptx::address_of(raw);
    outs = raw + ((at + 1023) / 1024 * 1024 - at);
    ring = outs + Shape::out_bytes;
  }
  /// From a panel of a warp to its next.
  static constexpr int panel_step = warps * Shape::panel_bytes;
  /// A panel of D of one warp, swizzled; those of a warp group with the same
  /// index are one box of D.
  __device__ char* panel(int warp, int index = 0) const {
    return outs + index * panel_step + warp * Shape::panel_bytes;
  }
  __device__ char* a(int stage) const { return ring + stage * Shape::a_bytes; }
  __device__ char* b(int stage) const {
    return ring + stages * Shape::a_bytes + stage * Shape::b_bytes;
  }
  __device__ float* a_scales(int stage) const {
    return reinterpret_cast<float*>(ring +
                                    stages * (Shape::a_bytes + Shape::b_bytes) +
                                    stage * Shape::scale_bytes);
  }
  __device__ float* b_scales(int stage) const {
    return a_scales(stage) + Shape::m;
  }
  __device__ ptx::barrier* full() const {
    return reinterpret_cast<ptx::barrier*>(ring + stages * Shape::stage_bytes);
  }
  __device__ ptx::barrier* free() const { return full() + stages; }
  /// Of all panels, where they are sent.
  __device__ ptx::barrier& d_full() const { return full()[2 * stages]; }
  __device__ ptx::barrier& d_free() const { return full()[2 * stages + 1]; }
};

/// A stage of the ring and the parity of its use.
template <int Stages>
struct ring_place {
  int stage = 0;
  unsigned parity = 0;

  __device__ void advance() {
    if (++stage == Stages) stage = 0, parity ^= 1;
  }
};

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

/// Sends D from its panels: boxes of a warp group's 64 rows and 128 bytes, by
/// each copier in turn, one after each stage of the next tile that it fills,
/// from the third on. All at once, they would keep the next operands waiting.
template <class Shape>
class panel_sender {
 public:
  __device__ panel_sender(const gemm_job& job, const gemm_shared<Shape>& shared,
                          int which)
      : job_(job),
        shared_(shared),
        columns_(job.is_fp32 ? 32 : 64),
        which_(which) {}

  /// The next box, if there is one; waits until the panels are written.
  __device__ void send() {
    if (box_ >= boxes) return;
    if (box_ == which_) ptx::wait(shared_.d_full(), parity_);
    const int group = box_ % Shape::groups, index = box_ / Shape::groups;
    box_ += Shape::copiers;
    const int across = Shape::n / columns_;
    const int row = tile_.row + (group * Shape::rows + index / across) * 64;
    const int column = tile_.column + index % across * columns_;
    if (row >= tile_.row_end || column >= job_.n) return;
    const char* const panel = shared_.panel(4 * group, index);
    if (tile_.row_end == job_.m || row + 64 <= tile_.row_end) {
      ptx::store_box(job_.d_tall_map, panel, column, row, tile_.d_matrix);
    } else {  // The rows of a group end here: what is left, the warps store.
      for (int i = 0; row + i + 16 <= tile_.row_end; i += 16) {
        ptx::store_box(job_.d_map, panel + i * 128, column, row + i,
                       tile_.d_matrix);
      }
    }
    ptx::commit_stores();
  }
  /// Sends what is left, and leaves the panels to the tile that comes; then
  /// goes on to `next`.
  __device__ void finish(const gemm_tile& next) {
    if (has_tile_) {
      while (box_ < boxes) send();
      ptx::wait_for_stores();
      ptx::arrive(shared_.d_free());
      parity_ ^= 1;
    }
    has_tile_ = job_.by_boxes;
    tile_ = next;
    box_ = has_tile_ ? which_ : boxes;
  }

 private:
  static constexpr int boxes = Shape::groups * Shape::panels;
  const gemm_job& job_;
  const gemm_shared<Shape>& shared_;
  gemm_tile tile_{};
  int columns_, which_, box_ = boxes;
  unsigned parity_ = 0;
  bool has_tile_ = false;
};
/// Where nothing is sent.
struct no_sender {
  template <class... Any>
  __device__ explicit no_sender(Any&&...) {}
  __device__ void send() {}
  __device__ void finish(const gemm_tile& /*next*/) {}
};

/// Brings the operands of every tile of this block, by one thread of each
/// copier.
template <class Shape, bool Grouped>
__device__ void copy_operands(const gemm_job& job,
                              const gemm_shared<Shape>& shared, int which) {
  const std::uint64_t once = ptx::policy_of_one_use();
  copier_turn<Shape::copiers> turn(which);
  ring_place<Shape::stages> at;
  gemm_schedule<Shape, Grouped> schedule(job);
  std::conditional_t<Shape::sends, panel_sender<Shape>, no_sender> sender(
      job, shared, which);
  gemm_tile t{};
  while (schedule.next(job, t)) {
    for (int k = t.k_begin; k < t.k_end; k += Shape::k, at.advance()) {
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
      // From this stage of the tile on, D of the one before is in its panels,
      // or soon: the stage was free only after that tile's last products.
      if (k >= t.k_begin + (Shape::stages - 1) * Shape::k) sender.send();
    }
    sender.finish(t);
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
  sender.finish(t);
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

/// Brings the scales, by one warp of each copier.
template <class Shape, class Scaling, bool Grouped>
__device__ void copy_scales(const gemm_job& job,
                            const gemm_shared<Shape>& shared, int which) {
  constexpr int b_rows = Scaling::b_rows;
  // A small tile would wait for boxes longer than for words.
  constexpr bool boxes = Shape::m >= 128;
  const int lane = static_cast<int>(threadIdx.x % 32);
  copier_turn<Shape::copiers> turn(which);
  ring_place<Shape::stages> at;
  gemm_schedule<Shape, Grouped> schedule(job);
  gemm_tile t{};
  while (schedule.next(job, t)) {
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
      }
      a.advance(), b.advance(), at.advance();
    }
    if (!job.c_by_boxes) continue;
    for (int j = 0; j < Shape::n; j += Shape::c_columns) {
      leave_stage(shared, turn, at);
    }
  }
}

/// Lanes of a warp that arrive where it frees a stage. racecheck takes no
/// account of __syncwarp before one arrives for all: for it, all do.
#ifdef ZEROULP_RACECHECK
constexpr int freeing_lanes = 32;
#else
constexpr int freeing_lanes = 1;
#endif

/// The stage may be written again: by a warp that has read all it needs.
__device__ inline void free_stage(ptx::barrier& free) {
  __syncwarp();
  if (threadIdx.x % 32 < freeing_lanes) ptx::arrive(free);
}

}  // namespace detail
}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_RING_CUH_
