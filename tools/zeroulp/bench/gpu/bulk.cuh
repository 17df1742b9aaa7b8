// Defines copies of plain bytes by the copy engine, for the bench's kernels.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_GPU_BULK_CUH_
#define ZEROULP_TOOLS_ZEROULP_BENCH_GPU_BULK_CUH_

#include "cuda/ptx/ptx.cuh"

namespace zeroulp::program {

/// Both are aligned to 16 bytes, of which `bytes` is a multiple; `full` counts
/// them.
__device__ inline void copy_in(const void* from, void* to, int bytes,
                               cuda::ptx::barrier& full) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1], %2, [%3];" ::"r"(cuda::ptx::address_of(to)),
      "l"(from), "r"(bytes), "r"(cuda::ptx::address_of(&full))
      : "memory");
}

/// The same out of shared memory; see ptx::commit_stores.
__device__ inline void copy_out(const void* from, void* to, int bytes) {
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
      "r"(cuda::ptx::address_of(from)), "r"(bytes)
      : "memory");
}

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_GPU_BULK_CUH_
