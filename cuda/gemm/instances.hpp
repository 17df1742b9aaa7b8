// Defines the table entries of the compiled GEMM kernels.

#ifndef ZEROULP_CUDA_GEMM_INSTANCES_HPP_
#define ZEROULP_CUDA_GEMM_INSTANCES_HPP_

#include "cuda/gemm/params.hpp"

namespace zeroulp::cuda {

struct gemm_instance {
  void (*kernel)(gemm_params);
  int m, n;  ///< tile size
  int threads, shared_bytes;
  /// TMA also stores D of FP32, as far as smem_d holds it.
  bool has_store_thread;
  /// The epilogue overlaps wgmma. Requires that TMA stores D (BF16), that there
  /// are neither C nor ranges of K, and that K is more than 128.
  bool overlaps_epilogue;
  /// Approximate tensor clocks, measured once (LESSONS.md, lesson 15): for 128
  /// elements of K of a tile, for the rest of a tile, and after the last tile.
  int clocks, clocks_once, clocks_last;
};

/// All instances of one scaling.
struct gemm_instances {
  const gemm_instance* first;
  int count;
};
/// All rows of a table.
template <int Count>
gemm_instances all_of(const gemm_instance (&table)[Count]) {
  return {table, Count};
}
struct gemm_kind {
  promotion update;
  bool a_is_e5m2, b_is_e5m2;  ///< else e4m3
  bool grouped;
};
gemm_instances gemm_1d2d(const gemm_kind& kind);
gemm_instances gemm_1d1d(const gemm_kind& kind);
gemm_instances gemm_tensorwise(const gemm_kind& kind);

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_INSTANCES_HPP_
