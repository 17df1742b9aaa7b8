// Defines TMA loads, stores and prefetches.
//
// Source: PTX ISA 9.0.

#ifndef ZEROULP_CUDA_PTX_TMA_CUH_
#define ZEROULP_CUDA_PTX_TMA_CUH_

#include <cuda.h>

#include "cuda/ptx/barrier.cuh"

namespace zeroulp::cuda::ptx {

/// Prefetches a tensor map for TMA.
__device__ inline void prefetch_tensor_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// TMA load of the box at (column, row) of a matrix to shared memory; `b`
/// counts its bytes. Elements outside the matrix are zeros.
__device__ inline void tma_load(void* to, const CUtensorMap& map, barrier& b,
                                int column, int row, int matrix) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::"
      "bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(address_of(to)),
      "l"(&map), "r"(address_of(&b)), "r"(column), "r"(row), "r"(matrix)
      : "memory");
}

/// The same of a matrix of a batch with an inner and an outer index.
__device__ inline void tma_load_of_batch(void* to, const CUtensorMap& map,
                                         barrier& b, int column, int row,
                                         int inner, int outer) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::"
      "bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(address_of(to)),
      "l"(&map), "r"(address_of(&b)), "r"(column), "r"(row), "r"(inner),
      "r"(outer)
      : "memory");
}

/// The L2 policy evict_first, for data that is read once.
__device__ inline std::uint64_t evict_first_policy() {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

/// The same TMA load with an L2 policy.
__device__ inline void tma_load(void* to, const CUtensorMap& map, barrier& b,
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

/// Prefetches a box into the L2, under the conditions of prefetch_l2.
__device__ inline void tma_prefetch(const CUtensorMap& map, int column, int row,
                                    int matrix) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.3d.L2.global [%0, {%1, %2, %3}];" ::"l"(
          &map),
      "r"(column), "r"(row), "r"(matrix)
      : "memory");
}

/// TMA store of a box from shared memory to its place in a matrix. It omits
/// rows outside the matrix and, along a row, whole pieces of 16 bytes. The same
/// thread may reuse the shared memory after `tma_store_wait`.
__device__ inline void tma_store(const CUtensorMap& map, const void* from,
                                 int column, int row, int matrix) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, "
      "%4}], [%1];" ::"l"(&map),
      "r"(address_of(from)), "r"(column), "r"(row), "r"(matrix)
      : "memory");
}

/// The same to a matrix of a batch with an inner and an outer index.
__device__ inline void tma_store_of_batch(const CUtensorMap& map,
                                          const void* from, int column, int row,
                                          int inner, int outer) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, "
      "%4, %5}], [%1];" ::"l"(&map),
      "r"(address_of(from)), "r"(column), "r"(row), "r"(inner), "r"(outer)
      : "memory");
}

__device__ inline void tma_store_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until all but the `Pending` newest committed groups of this thread
/// have read shared memory.
template <int Pending = 0>
__device__ void tma_store_wait() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}
/// Waits until all committed groups of this thread have been written.
__device__ inline void tma_store_wait_written() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/// Proxy fence: orders this thread's shared memory accesses before later ones
/// by TMA.
__device__ inline void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// TMA load of `bytes` contiguous bytes to shared memory; `full` counts them.
/// Both addresses and `bytes` are multiples of 16.
__device__ inline void tma_load_bytes(void* to, const void* from, int bytes,
                                      barrier& full) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1], %2, [%3];" ::"r"(address_of(to)),
      "l"(from), "r"(bytes), "r"(address_of(&full))
      : "memory");
}
/// TMA store of `bytes` contiguous bytes from shared memory, under the same
/// conditions. Commit and wait as for `tma_store`.
__device__ inline void tma_store_bytes(void* to, const void* from, int bytes) {
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
      "r"(address_of(from)), "r"(bytes)
      : "memory");
}

}  // namespace zeroulp::cuda::ptx

#endif  // ZEROULP_CUDA_PTX_TMA_CUH_
