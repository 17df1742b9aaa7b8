// Defines the shape of a GEMM's tiles, the ring of stages in shared memory
// through which its operands pass, and the warps that fill it.

#ifndef ZEROULP_CUDA_GEMM_RING_CUH_
#define ZEROULP_CUDA_GEMM_RING_CUH_

#include "cuda/gemm_job.cuh"
#include "cuda/ptx.cuh"

namespace zeroulp::cuda {

/// How D leaves a tile.
enum class gemm_end {
  /// Each warp has one panel, sends it by itself, and waits until it has left
  /// before it writes it again.
  stores,
  /// A thread sends D while the next tile is under way: all of BF16, of FP32
  /// the first 64 rows of each warp group, for which there are panels.
  sends,
  /// The same, and products are under way while panels are written. D is BF16.
  flows
};

/// The shape of a tile and of the machinery around it.
template <int Groups, int Rows, int Width, int Partials = 1,
          int Line = Partials, gemm_end End = gemm_end::stores, int Copiers = 2>
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
  /// Threads that bring operands, in turn: a stage takes one 350 to 480 clocks,
  /// whatever it holds (TUNING.md).
  static constexpr int copiers = Copiers;
  static constexpr bool sends = End != gemm_end::stores;
  static constexpr bool flows = End == gemm_end::flows;
  /// The fourth warp beside those that multiply sends D, in place of the second
  /// that brings scales; C takes an even number of stages, so that a copier's
  /// turns (stages_asked) are the same in each tile.
  static_assert(!sends || (Copiers == 2 && Rows == 2 && Width % 64 == 0));
  /// Warps that bring scales, in turn.
  static constexpr int scalers = sends ? 1 : Copiers;

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
  /// Barriers, and what stages_asked and tile_board have.
  static constexpr int word_bytes = 256;
  static constexpr int ring_bytes = (227 - 1) * 1024 - word_bytes - out_bytes;
  static constexpr int stages =
      ring_bytes / stage_bytes > 16 ? 16 : ring_bytes / stage_bytes;
  /// Else a copier could take a stage's round for the one before.
  static_assert(stages >= copiers);
  static constexpr int shared_bytes =
      1024 + out_bytes + stages * stage_bytes + word_bytes;

  /// Of few rows: where they are all that A has, B is read once.
  static constexpr bool reads_b_once = m == 64;

  /// Boxes of C, m rows of 128 bytes, pass through the ring, too, after the
  /// operands, where A would be.
  static constexpr int c_columns = 32;  ///< in a stage
  /// Before that, where tiles are large, the L2 is asked for them.
  static constexpr bool prefetches_c = Rows == 2 && !flows;
};

namespace detail {

/// Which stages the copiers have asked for. Says when, and guards nothing.
template <int Copiers>
class stages_asked {
 public:
  static constexpr int bytes = Copiers * static_cast<int>(sizeof(int));
  __device__ explicit stages_asked(void* words)
      : last_(static_cast<volatile int*>(words)) {}
  __device__ void clear() const {
    for (int i = 0; i < Copiers; ++i) last_[i] = -1;
  }
  /// By the copier whose turn it is.
  __device__ void set(int stage) const { last_[stage % Copiers] = stage; }
  __device__ void wait(int stage) const {
    while (last_[stage % Copiers] < stage) {
    }
  }

 private:
  volatile int* last_;  ///< of each copier
};

/// The next tiles, as one thread finds them for those who multiply, where they
/// are found ahead: products would wait meanwhile.
class tile_board {
 public:
  static constexpr int slots = 3;
  struct slot {
    gemm_tile tile;
    int is_there;  ///< else the one before was the last
  };
  static constexpr int bytes =
      slots * static_cast<int>(sizeof(ptx::barrier) + sizeof(slot));
  __device__ explicit tile_board(ptx::barrier* full) : full_(full) {}
  __device__ void initialize() const {
    for (int i = 0; i < slots; ++i) ptx::initialize(full_[i], 1);
  }
  /// Writes the tile `index`; all must have read the one `slots` before it.
  __device__ void write(int index, const gemm_tile& t, bool is_there) const {
    at(index) = {t, is_there};
    ptx::arrive(full_[index % slots]);
  }
  __device__ bool read(int index, gemm_tile& t) const {
    ptx::wait(full_[index % slots], index / slots % 2);
    t = at(index).tile;
    return at(index).is_there;
  }

 private:
  __device__ slot& at(int index) const {
    return reinterpret_cast<slot*>(full_ + slots)[index % slots];
  }
  ptx::barrier* full_;  ///< a slot's; then the slots
};

template <class Shape>
struct gemm_shared {
  static constexpr int stages = Shape::stages;
  using stages_asked = detail::stages_asked<Shape::copiers>;
  /// Barriers, words of 8 bytes: of the stages; where D is sent, of the panels,
  /// then what stages_asked and tile_board have.
  static constexpr int panel_barriers = 2 * stages;
  static constexpr int asked_at = panel_barriers + 2;
  static constexpr int board_at = asked_at + (stages_asked::bytes + 7) / 8;
  static_assert((Shape::sends ? 8 * board_at + tile_board::bytes
                              : 8 * panel_barriers) <= Shape::word_bytes);
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
  /// Of all panels, when to send them, where they are sent.
  __device__ ptx::barrier& d_full() const { return full()[panel_barriers]; }
  __device__ ptx::barrier& d_free() const { return full()[panel_barriers + 1]; }
  __device__ stages_asked asked() const {
    return stages_asked(full() + asked_at);
  }
  __device__ tile_board board() const { return tile_board(full() + board_at); }
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

/// Sends D from its panels, by one thread: boxes of a warp group's 64 rows and
/// 128 bytes, one at a time, and where K is long, one with each stage of the
/// next tile, from the third on. All at once, they would keep that tile's
/// operands waiting. Where tiles come from a board, writes it, two tiles ahead
/// of that whose panels are awaited: who has left the panels before those has
/// read all up to it, so that the slot of the one before is free. Were it one,
/// all could wait for each other: for a box of the tile the next one's stages
/// are awaited, and the products that free them for the tile after.
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
    if constexpr (finds_ahead<Shape, Grouped>) {
      shared.board().write(found++, t, is_there);
    }
    return is_there;
  };
  gemm_tile t{}, next{}, after{};
  bool more = find(next), still_more = ahead && more && find(after);
  int before = 0;  // stages of the tiles before the next
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
