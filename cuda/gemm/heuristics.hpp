// Defines how the kernel for a GEMM is chosen. All kernels give the same bits.

#ifndef ZEROULP_CUDA_GEMM_HEURISTICS_HPP_
#define ZEROULP_CUDA_GEMM_HEURISTICS_HPP_

#include <cstddef>

#include "cuda/gemm/instances.hpp"

namespace zeroulp::cuda {

/// The sizes of a GEMM.
struct gemm_sizes {
  std::ptrdiff_t m, n, k;  ///< of one matrix; m: of all, with groups of rows
  std::ptrdiff_t a_matrices, b_matrices, d_matrices;
};

/// Returns the instance of the least cost: waves of tiles times the clocks of a
/// tile. `can_overlap`: an instance with overlaps_epilogue can serve the
/// request (see gemm_instance).
const gemm_instance& choose_instance(const gemm_instances& all,
                                     const gemm_partition& g,
                                     const gemm_sizes& s, bool can_overlap,
                                     int processors);

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_HEURISTICS_HPP_
