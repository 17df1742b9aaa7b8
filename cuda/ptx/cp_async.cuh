// Defines cp.async copies into shared memory and prefetches into the L2.
//
// Source: PTX ISA 9.0.

#ifndef ZEROULP_CUDA_PTX_CP_ASYNC_CUH_
#define ZEROULP_CUDA_PTX_CP_ASYNC_CUH_

#include "cuda/ptx/barrier.cuh"

namespace zeroulp::cuda::ptx {

/// Arrives once this thread's cp.async copies (cp_async_4, cp_async_16) have
/// landed.
__device__ inline void arrive_after_cp_async(barrier& b) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(
                   address_of(&b))
               : "memory");
}

/// Copies 4 bytes to shared memory by cp.async; zeros unless `inside`.
__device__ inline void cp_async_4(void* to, const void* from, bool inside) {
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address_of(to)),
      "l"(__cvta_generic_to_global(from)), "r"(inside ? 4 : 0)
      : "memory");
}

/// Copies 16 bytes to shared memory by cp.async; the L2 fetches the 256 bytes
/// around them.
__device__ inline void cp_async_16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(
                   address_of(to)),
               "l"(__cvta_generic_to_global(from))
               : "memory");
}

/// Prefetches the line at `at`, in this GPU's memory, into the L2. Preceding
/// kernels may still write there: all their writes meet in the same L2.
__device__ inline void prefetch_l2(const void* at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(at))
               : "memory");
}

}  // namespace zeroulp::cuda::ptx

#endif  // ZEROULP_CUDA_PTX_CP_ASYNC_CUH_
