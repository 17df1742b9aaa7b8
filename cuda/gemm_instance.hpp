// Defines the GEMM kernels that were compiled, as values.

#ifndef ZEROULP_CUDA_GEMM_INSTANCE_HPP_
#define ZEROULP_CUDA_GEMM_INSTANCE_HPP_

#include "cuda/gemm_job.cuh"

namespace zeroulp::cuda {

struct gemm_instance {
  void (*kernel)(gemm_job);
  int m, n;  ///< of a tile
  int threads, shared_bytes;
  bool sends;  ///< D of FP32 goes by boxes, too, as far as there are panels
  /// D flows: it leaves by the copy engine, there are neither C nor ranges of
  /// K, and K is more than 128.
  bool flows;
  /// Tensor clocks, about, of 128 elements of K of a tile, beside them, and
  /// after the last tile: measured once (LESSONS.md, lesson 15).
  int clocks, clocks_once, clocks_last;
};

/// Those of a scaling.
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

#endif  // ZEROULP_CUDA_GEMM_INSTANCE_HPP_
