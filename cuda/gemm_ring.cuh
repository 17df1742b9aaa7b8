// Defines the shape of a GEMM's tiles, the ring of stages in shared memory
// through which its operands pass, and what else its warps share.

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
  /// whatever it holds (LESSONS.md, lesson 12).
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
  __device__ void set(int stage) const {
    write(last_ + stage % Copiers, stage);
  }
  __device__ void wait(int stage) const {
    while (read(last_ + stage % Copiers) < stage) {
    }
  }

 private:
  // Read while they may be written: racecheck takes that from atomics alone.
#ifdef ZEROULP_RACECHECK
  __device__ static void write(volatile int* to, int stage) {
    atomicExch(const_cast<int*>(to), stage);
  }
  __device__ static int read(volatile int* from) {
    return atomicOr(const_cast<int*>(from), 0);
  }
#else
  __device__ static void write(volatile int* to, int stage) { *to = stage; }
  __device__ static int read(const volatile int* from) { return *from; }
#endif
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
