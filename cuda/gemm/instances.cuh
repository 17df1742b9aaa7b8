// Defines `make_instance`: a kernel of kernel.cuh as a value.

#ifndef ZEROULP_CUDA_GEMM_INSTANCES_CUH_
#define ZEROULP_CUDA_GEMM_INSTANCES_CUH_

#include "cuda/gemm/instances.hpp"
#include "cuda/gemm/kernel.cuh"
#include "cuda/ptx/wgmma.cuh"

namespace zeroulp::cuda {

template <class Shape, class Scaling, ptx::fp8_types Types,
          bool Grouped = false>
constexpr gemm_instance make_instance(int clocks, int clocks_once,
                                      int clocks_last = 0) {
  return {gemm_kernel<Shape, Scaling, Types, Grouped>,
          Shape::m,
          Shape::n,
          Shape::threads,
          Shape::shared_bytes,
          Shape::has_store_thread,
          Shape::overlaps_epilogue,
          clocks,
          clocks_once,
          clocks_last};
}

/// Calls find(types) with the formats of A and B as a compile-time constant.
template <class Find>
gemm_instances with_types(const gemm_kind& kind, Find find) {
  using ptx::fp8_types;
  if (kind.a_is_e5m2) {
    return kind.b_is_e5m2
               ? find(std::integral_constant<fp8_types, fp8_types::e5m2_e5m2>())
               : find(
                     std::integral_constant<fp8_types, fp8_types::e5m2_e4m3>());
  }
  return kind.b_is_e5m2
             ? find(std::integral_constant<fp8_types, fp8_types::e4m3_e5m2>())
             : find(std::integral_constant<fp8_types, fp8_types::e4m3_e4m3>());
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_INSTANCES_CUH_
