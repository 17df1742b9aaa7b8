// Defines mbarriers and shared-memory addresses.
//
// Source: PTX ISA 9.0.

#ifndef ZEROULP_CUDA_PTX_BARRIER_CUH_
#define ZEROULP_CUDA_PTX_BARRIER_CUH_

#include <cstdint>

namespace zeroulp::cuda::ptx {

/// An address in the shared memory of this block.
using shared_address = std::uint32_t;

__device__ inline shared_address address_of(const void* in_shared) {
  return static_cast<shared_address>(__cvta_generic_to_shared(in_shared));
}

/// An mbarrier. A wait names the parity of the phase that is to complete. On a
/// fresh barrier phase 1 counts as complete.
struct alignas(8) barrier {
  std::uint64_t state;
};

__device__ inline void initialize(barrier& b, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(&b)),
               "r"(arrivals));
}

/// Makes initialized barriers visible to TMA.
__device__ inline void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void wait(barrier& b, unsigned parity) {
  asm volatile(
      "{\n.reg .pred over;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
      "@over bra done;\n"
      "bra again;\n"
      "done:\n}" ::"r"(address_of(&b)),
      "r"(parity)
      : "memory");
}

/// Adds bytes that TMA will write to the barrier's expected count, without
/// arriving.
__device__ inline void expect_tx(barrier& b, unsigned bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(
                   address_of(&b)),
               "r"(bytes)
               : "memory");
}

/// Arrives and adds bytes that TMA will write to the expected count.
__device__ inline void arrive_expect_tx(barrier& b, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   address_of(&b)),
               "r"(bytes)
               : "memory");
}

__device__ inline void arrive(barrier& b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address_of(&b))
               : "memory");
}

}  // namespace zeroulp::cuda::ptx

#endif  // ZEROULP_CUDA_PTX_BARRIER_CUH_
