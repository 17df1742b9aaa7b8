// Defines how a matrix becomes a tensor map, by which the copy engine brings
// boxes of it to shared memory. Internal.

#ifndef ZEROULP_CUDA_BOXES_HPP_
#define ZEROULP_CUDA_BOXES_HPP_

#include <cuda.h>

#include <cstddef>

#include "cuda/request.hpp"

namespace zeroulp::cuda {

/// Rows in memory that one tensor map sees: `matrices` times `rows`, of `cols`
/// elements, in boxes.
struct boxes {
  CUtensorMapDataType type;
  int bytes;  ///< of an element
  const void* data;
  std::ptrdiff_t matrices, rows, cols, stride;
  int box_rows, box_cols;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  /// Bytes of memory that the L2 brings at a time, at least.
  CUtensorMapL2promotion l2 = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
};

/// From one row or matrix to the next there must be fewer bytes.
constexpr std::ptrdiff_t most_map_bytes = std::ptrdiff_t{1} << 40;

/// Rows must start on multiples of 16 bytes.
CUtensorMap make_map(const request& r, const boxes& x);

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_BOXES_HPP_
