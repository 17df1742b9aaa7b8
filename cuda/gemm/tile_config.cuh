// Defines the tile configuration of a GEMM and its shared memory: the mbarrier
// pipeline of operand stages (the ring), the D panels, and the words that warps
// exchange.

#ifndef ZEROULP_CUDA_GEMM_TILE_CONFIG_CUH_
#define ZEROULP_CUDA_GEMM_TILE_CONFIG_CUH_

#include "cuda/gemm/params.cuh"
#include "cuda/ptx/ptx.cuh"

namespace zeroulp::cuda {

/// How the epilogue stores D.
enum class gemm_end {
  /// Each warp has one panel. It issues the TMA store itself and waits until
  /// the panel has been read before it writes the panel again.
  stores,
  /// A store thread issues the TMA stores while the next tile is computed.
  /// Panels hold all of a BF16 tile; for FP32, the first 64 rows of each warp
  /// group.
  sends,
  /// As `sends`, and wgmma is in flight while the panels are written. D is
  /// BF16.
  flows
};

/// The tile configuration. Template parameters: consumer warp groups, 64-row
/// units of each, tile N, and those named below.
template <int Groups, int Rows, int Width, int Partials = 1,
          int Line = Partials, gemm_end End = gemm_end::stores, int Copiers = 2>
struct gemm_shape {
  static constexpr int groups = Groups;  ///< consumer (math) warp groups
  static constexpr int threads = 128 * (Groups + 1);
  static constexpr int rows = Rows;  ///< a warp group's rows / 64
  static constexpr int m = 64 * Groups * Rows;
  static constexpr int n = Width;
  static constexpr int k = 128;
  /// `partials`: wgmma accumulators that a warp group has in flight. `line`: K
  /// blocks in one straight-line piece of code. None may be in flight at its
  /// end, or the assembler waits after each wgmma (ptxas note C7514).
  static constexpr int partials = Partials, line = Line;
  /// Load threads (producers), which take stages in turn. Issuing the loads of
  /// one stage takes a thread 350 to 480 clocks, whatever its size (LESSONS.md,
  /// lesson 12).
  static constexpr int copiers = Copiers;
  static constexpr bool sends = End != gemm_end::stores;
  static constexpr bool flows = End == gemm_end::flows;
  /// The store thread takes the fourth warp of the producer warp group, where
  /// otherwise the second scale-load warp runs. C fills an even number of
  /// stages, so a load thread has the same turns (stages_asked) in each tile.
  static_assert(!sends || (Copiers == 2 && Rows == 2 && Width % 64 == 0));
  /// Scale-load warps, which take stages in turn.
  static constexpr int scalers = sends ? 1 : Copiers;

  static constexpr int a_bytes = m * k;
  static constexpr int b_bytes = n * k;
  /// Shared memory starts on a multiple of 1024 bytes: first the panels (the
  /// shared-memory tile of D), then the ring of stages. A panel is 16 rows of
  /// 128 bytes of one warp.
  static constexpr int panel_bytes = 16 * 128;
  static constexpr int panels = sends ? rows * n / 64 : 1;  ///< panels per warp
  static constexpr int out_bytes =
      n % 64 == 0 ? 4 * groups * panels * panel_bytes : 0;
  static constexpr int scale_bytes = (m + n) * 4;
  static constexpr int stage_bytes = a_bytes + b_bytes + scale_bytes;
  /// Bytes for the barriers, stages_asked and tile_board.
  static constexpr int word_bytes = 256;
  static constexpr int ring_bytes = (227 - 1) * 1024 - word_bytes - out_bytes;
  static constexpr int stages =
      ring_bytes / stage_bytes > 16 ? 16 : ring_bytes / stage_bytes;
  /// With fewer stages, a load thread could mistake a stage's phase for the one
  /// before.
  static_assert(stages >= copiers);
  static constexpr int shared_bytes =
      1024 + out_bytes + stages * stage_bytes + word_bytes;

  /// Tiles of 64 rows: if A has no more rows, each element of B is read once.
  static constexpr bool reads_b_once = m == 64;

  /// Boxes of C (m rows of 128 bytes) also pass through the ring. They follow
  /// the operands and use a stage's space of A.
  static constexpr int c_columns = 32;  ///< columns of C in a stage
  /// Large tiles prefetch C into the L2 beforehand.
  static constexpr bool prefetches_c = Rows == 2 && !flows;
};

namespace detail {

/// The last stage that each load thread has issued. The store thread uses it
/// for timing only; it guards no data.
template <int Copiers>
class stages_asked {
 public:
  static constexpr int bytes = Copiers * static_cast<int>(sizeof(int));
  __device__ explicit stages_asked(void* words)
      : last_(static_cast<volatile int*>(words)) {}
  __device__ void clear() const {
    for (int i = 0; i < Copiers; ++i) last_[i] = -1;
  }
  /// Called by the load thread whose turn the stage is.
  __device__ void set(int stage) const {
    write(last_ + stage % Copiers, stage);
  }
  __device__ void wait(int stage) const {
    while (read(last_ + stage % Copiers) < stage) {
    }
  }

 private:
  // Words are read while they may be written. racecheck accepts that only from
  // atomics.
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
  volatile int* last_;  ///< one word for each load thread
};

/// The tile queue: one thread finds tiles and publishes them to the consumers.
/// Used if finds_ahead; otherwise wgmma would idle while consumers search.
class tile_board {
 public:
  static constexpr int slots = 3;
  struct slot {
    gemm_tile tile;
    int is_there;  ///< 0: there are no more tiles
  };
  static constexpr int bytes =
      slots * static_cast<int>(sizeof(ptx::barrier) + sizeof(slot));
  __device__ explicit tile_board(ptx::barrier* full) : full_(full) {}
  __device__ void initialize() const {
    for (int i = 0; i < slots; ++i) ptx::initialize(full_[i], 1);
  }
  /// Writes tile `index`. All consumers must have read tile `index` - `slots`.
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
  ptx::barrier* full_;  ///< one for each slot; the slots follow
};

template <class Shape>
struct gemm_shared {
  static constexpr int stages = Shape::stages;
  using stages_asked = detail::stages_asked<Shape::copiers>;
  /// Offsets in words of 8 bytes: full and empty barriers of the stages first.
  /// With Shape::sends, the two panel barriers, stages_asked and tile_board
  /// follow.
  static constexpr int panel_barriers = 2 * stages;
  static constexpr int asked_at = panel_barriers + 2;
  static constexpr int board_at = asked_at + (stages_asked::bytes + 7) / 8;
  static_assert((Shape::sends ? 8 * board_at + tile_board::bytes
                              : 8 * panel_barriers) <= Shape::word_bytes);
  /// Consumer warps.
  static constexpr int warps = 4 * Shape::groups;
  char* outs;  ///< starts on a multiple of 1024
  char* ring;

  __device__ explicit gemm_shared(char* raw) {
    const auto at = ptx::address_of(raw);
    outs = raw + ((at + 1023) / 1024 * 1024 - at);
    ring = outs + Shape::out_bytes;
  }
  /// Bytes from one panel of a warp to its next.
  static constexpr int panel_step = warps * Shape::panel_bytes;
  /// One warp's panel of D, in the 128-byte swizzle. Panels of a warp group
  /// with the same index form one TMA box of D.
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
  /// Full and empty barriers of all panels together, with Shape::sends.
  __device__ ptx::barrier& d_full() const { return full()[panel_barriers]; }
  __device__ ptx::barrier& d_free() const { return full()[panel_barriers + 1]; }
  __device__ stages_asked asked() const {
    return stages_asked(full() + asked_at);
  }
  __device__ tile_board board() const { return tile_board(full() + board_at); }
};

/// The pipeline state: a stage and the parity of its phase.
template <int Stages>
struct ring_place {
  int stage = 0;
  unsigned parity = 0;

  __device__ void advance() {
    if (++stage == Stages) stage = 0, parity ^= 1;
  }
};

/// How many lanes of a warp arrive when it frees a stage. racecheck does not
/// model __syncwarp followed by one lane's arrival, so for it all lanes arrive.
#ifdef ZEROULP_RACECHECK
constexpr int freeing_lanes = 32;
#else
constexpr int freeing_lanes = 1;
#endif

/// A consumer warp signals that it has read the stage, which may then be
/// overwritten.
__device__ inline void free_stage(ptx::barrier& free) {
  __syncwarp();
  if (threadIdx.x % 32 < freeing_lanes) ptx::arrive(free);
}

}  // namespace detail
}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_TILE_CONFIG_CUH_
