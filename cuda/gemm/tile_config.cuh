// Defines the tile configuration of a GEMM kernel and what follows from it.

#ifndef ZEROULP_CUDA_GEMM_TILE_CONFIG_CUH_
#define ZEROULP_CUDA_GEMM_TILE_CONFIG_CUH_

#include <cstdint>

namespace zeroulp::cuda {

/// Who issues the TMA stores of D.
enum class store_policy : std::uint8_t {
  /// Each math warp, box by box. It waits until its box in shared memory has
  /// been read before it writes the next one there.
  each_warp,
  /// A store thread, while the next tile is computed. Shared memory holds all
  /// of
  /// a BF16 tile; for FP32, the first 64 rows of each warp group.
  store_thread,
  /// A store thread, and wgmma is in flight while math warps write D to shared
  /// memory. D is BF16.
  overlapped
};

/// The choices of a GEMM kernel.
struct tile_config {
  int math_warpgroups;
  int m_waves;  ///< 64-row pieces of a warp group's rows
  int block_n;  ///< columns of a tile
  /// wgmma accumulators that a warp group has in flight.
  int accumulators_in_flight = 1;
  /// K blocks in one straight-line piece of code. No wgmma may be in flight at
  /// its end, or the assembler waits after each wgmma (ptxas note C7514).
  int k_unroll = 1;
  store_policy store = store_policy::each_warp;
  /// Producers, which take stages in turn. Issuing the loads of one stage takes
  /// a thread 350 to 480 clocks, whatever its size (LESSONS.md, lesson 12).
  int load_threads = 2;
};

/// What follows from a tile configuration: sizes, counts and the layout of
/// shared memory.
template <tile_config Config>
struct tile_shape {
  static constexpr int math_warpgroups = Config.math_warpgroups;
  static constexpr int threads = 128 * (math_warpgroups + 1);
  static constexpr int m_waves = Config.m_waves;
  static constexpr int m = 64 * math_warpgroups * m_waves;
  static constexpr int n = Config.block_n;
  static constexpr int k = 128;
  static constexpr int accumulators_in_flight = Config.accumulators_in_flight;
  static constexpr int k_unroll = Config.k_unroll;
  static constexpr int load_threads = Config.load_threads;
  static constexpr bool has_store_thread =
      Config.store != store_policy::each_warp;
  static constexpr bool overlaps_epilogue =
      Config.store == store_policy::overlapped;
  /// The store thread takes the fourth warp of the producer warp group, where
  /// otherwise the second scale-load warp runs. C fills an even number of
  /// stages, so a load thread has the same turns (issued_stages) in each tile.
  static_assert(!has_store_thread ||
                (load_threads == 2 && m_waves == 2 && n % 64 == 0));
  /// Scale-load warps, which take stages in turn.
  static constexpr int scale_warps = has_store_thread ? 1 : load_threads;

  static constexpr int a_bytes = m * k;
  static constexpr int b_bytes = n * k;
  /// Shared memory starts on a multiple of 1024 bytes: first smem_d (D, or a
  /// part of it), then the stages of the pipeline. smem_d consists of boxes: 16
  /// rows of 128 bytes of one math warp.
  static constexpr int d_box_bytes = 16 * 128;
  /// Boxes of one math warp.
  static constexpr int d_boxes = has_store_thread ? m_waves * n / 64 : 1;
  static constexpr int smem_d_bytes =
      n % 64 == 0 ? 4 * math_warpgroups * d_boxes * d_box_bytes : 0;
  static constexpr int scale_bytes = (m + n) * 4;
  static constexpr int stage_bytes = a_bytes + b_bytes + scale_bytes;
  /// Bytes for the barriers, issued_stages and tile_queue.
  static constexpr int sync_bytes = 256;
  static constexpr int pipeline_bytes =
      (227 - 1) * 1024 - sync_bytes - smem_d_bytes;
  static constexpr int stages =
      pipeline_bytes / stage_bytes > 16 ? 16 : pipeline_bytes / stage_bytes;
  /// With fewer stages, a load thread could mistake a stage's phase for the one
  /// before.
  static_assert(stages >= load_threads);
  static constexpr int shared_bytes =
      1024 + smem_d_bytes + stages * stage_bytes + sync_bytes;

  /// Tiles of 64 rows: if A has no more rows, each element of B is read once.
  static constexpr bool reads_b_once = m == 64;

  /// Boxes of C (m rows of 128 bytes) also pass through the pipeline. They
  /// follow the operands and use a stage's space of A.
  static constexpr int c_columns = 32;  ///< columns of C in a stage
  /// Large tiles prefetch C into the L2 beforehand.
  static constexpr bool prefetches_c = m_waves == 2 && !overlaps_epilogue;
};

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_TILE_CONFIG_CUH_
