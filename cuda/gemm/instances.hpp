// Defines the table entries of the compiled GEMM kernels.

#ifndef ZEROULP_CUDA_GEMM_INSTANCES_HPP_
#define ZEROULP_CUDA_GEMM_INSTANCES_HPP_

#include "cuda/gemm/params.cuh"

namespace zeroulp::cuda {

struct gemm_instance {
  void (*kernel)(gemm_job);
  int m, n;  ///< tile size
  int threads, shared_bytes;
  bool sends;  ///< there is a store thread: TMA also stores D of FP32, as far
               ///< as panels hold it
  /// The epilogue overlaps wgmma. Requires that TMA stores D (BF16), that there
  /// are neither C nor ranges of K, and that K is more than 128.
  bool flows;
  /// Approximate tensor clocks, measured once (LESSONS.md, lesson 15): for 128
  /// elements of K of a tile, for the rest of a tile, and after the last tile.
  int clocks, clocks_once, clocks_last;
};

/// All instances of one scaling.
struct gemm_instances {
  const gemm_instance* first;
  int count;
};
struct gemm_kind {
  promotion update;
  bool a_is_e5m2, b_is_e5m2;  ///< else e4m3
  bool grouped;
};
gemm_instances gemm_by_blocks(const gemm_kind& kind);
gemm_instances gemm_by_columns(const gemm_kind& kind);
gemm_instances gemm_by_matrix(const gemm_kind& kind);

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_INSTANCES_HPP_
