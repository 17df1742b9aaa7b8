// Defines wrappers, each once, of the PTX instructions that C++ does not offer:
// mbarriers, TMA and cp.async copies, fences and register allocation. wgmma
// itself is in wgmma.cuh.
//
// Source: PTX ISA 9.0.

#ifndef ZEROULP_CUDA_PTX_PTX_CUH_
#define ZEROULP_CUDA_PTX_PTX_CUH_

#include <cuda.h>

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
__device__ inline void fence_barriers() {
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
__device__ inline void expect(barrier& b, unsigned bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(
                   address_of(&b)),
               "r"(bytes)
               : "memory");
}
/// Arrives and adds bytes that TMA will write to the expected count.
__device__ inline void arrive_expecting(barrier& b, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   address_of(&b)),
               "r"(bytes)
               : "memory");
}
__device__ inline void arrive(barrier& b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address_of(&b))
               : "memory");
}
/// Arrives once this thread's cp.async copies (copy_word, copy_sixteen) have
/// landed.
__device__ inline void arrive_after_copies(barrier& b) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(
                   address_of(&b))
               : "memory");
}

/// True in one lane of a warp (elect.sync). All lanes must call it.
__device__ inline bool is_elected() {
  std::uint32_t is;
  asm volatile(
      "{\n.reg .pred one;\n"
      "elect.sync _|one, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, one;\n}"
      : "=r"(is));
  return is != 0;
}

/// Prefetches a tensor map for TMA.
__device__ inline void prefetch(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// Copies 4 bytes to shared memory by cp.async; zeros unless `inside`.
__device__ inline void copy_word(void* to, const void* from, bool inside) {
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address_of(to)),
      "l"(__cvta_generic_to_global(from)), "r"(inside ? 4 : 0)
      : "memory");
}

/// Copies 16 bytes to shared memory by cp.async; the L2 fetches the 256 bytes
/// around them.
__device__ inline void copy_sixteen(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(
                   address_of(to)),
               "l"(__cvta_generic_to_global(from))
               : "memory");
}

/// Prefetches the line at `at`, in this GPU's memory, into the L2. Preceding
/// kernels may still write there: all their writes meet in the same L2.
__device__ inline void prefetch_line(const void* at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(at))
               : "memory");
}

/// TMA load of the box at (column, row) of a matrix to shared memory; `b`
/// counts its bytes. Elements outside the matrix are zeros.
__device__ inline void copy_box(void* to, const CUtensorMap& map, barrier& b,
                                int column, int row, int matrix) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::"
      "bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(address_of(to)),
      "l"(&map), "r"(address_of(&b)), "r"(column), "r"(row), "r"(matrix)
      : "memory");
}
/// The L2 policy evict_first, for data that is read once.
__device__ inline std::uint64_t policy_of_one_use() {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
/// The same TMA load with an L2 policy.
__device__ inline void copy_box(void* to, const CUtensorMap& map, barrier& b,
                                int column, int row, int matrix,
                                std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::"
      "bytes.L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(
          address_of(to)),
      "l"(&map), "r"(address_of(&b)), "r"(column), "r"(row), "r"(matrix),
      "l"(policy)
      : "memory");
}
/// Prefetches a box into the L2, under the conditions of prefetch_line.
__device__ inline void prefetch_box(const CUtensorMap& map, int column, int row,
                                    int matrix) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.3d.L2.global [%0, {%1, %2, %3}];" ::"l"(
          &map),
      "r"(column), "r"(row), "r"(matrix)
      : "memory");
}
/// TMA store of a box from shared memory to its place in a matrix. It omits
/// rows outside the matrix and, along a row, whole pieces of 16 bytes. The same
/// thread may reuse the shared memory after `wait_for_stores`.
__device__ inline void store_box(const CUtensorMap& map, const void* from,
                                 int column, int row, int matrix) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, "
      "%4}], [%1];" ::"l"(&map),
      "r"(address_of(from)), "r"(column), "r"(row), "r"(matrix)
      : "memory");
}
__device__ inline void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ inline void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
/// Proxy fence: orders this thread's shared memory accesses before later ones
/// by TMA.
__device__ inline void fence_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// Stores four 8 x 8 matrices of 16-bit elements in the layout of wgmma's
/// results (stmatrix). Lane 8 i + r passes the address of row r of matrix i.
__device__ inline void store_matrices(shared_address to,
                                      const std::uint32_t (&word)[4]) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
          to),
      "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3])
      : "memory");
}

/// Loads the same four matrices as wgmma's operand A (ldmatrix).
__device__ inline void load_matrices(std::uint32_t (&word)[4],
                                     shared_address from) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
      : "r"(from)
      : "memory");
}

/// Waits until the preceding kernels in the stream have ended and their writes
/// are visible, if this kernel was launched to begin earlier. Then lets the
/// next kernel begin.
__device__ inline void wait_for_kernels_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// Set the registers of each thread of this warp group (setmaxnreg).
template <int Count>
__device__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}
template <int Count>
__device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

}  // namespace zeroulp::cuda::ptx

#endif  // ZEROULP_CUDA_PTX_PTX_CUH_
