// Defines how a matrix becomes a tensor map, by which TMA loads and stores
// boxes of it. Internal.

#ifndef ZEROULP_CUDA_COMMON_TENSOR_MAP_HPP_
#define ZEROULP_CUDA_COMMON_TENSOR_MAP_HPP_

#include <cuda.h>

#include <cstddef>

#include "cuda/common/argument_checks.hpp"

namespace zeroulp::cuda {

/// The memory that a tensor map describes: `matrices` times `rows` rows of
/// `cols` elements, and the box size.
struct boxes {
  CUtensorMapDataType type;
  int bytes;  ///< of an element
  const void* data;
  std::ptrdiff_t matrices, rows, cols, stride;
  int box_rows, box_cols;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  /// How many bytes of memory the L2 fetches at least.
  CUtensorMapL2promotion l2 = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
};

/// The bytes from one row, or one matrix, to the next must be fewer than this.
constexpr std::ptrdiff_t most_map_bytes = std::ptrdiff_t{1} << 40;

/// Makes the tensor map. Rows must start on multiples of 16 bytes.
CUtensorMap make_tensor_map(const argument_checks& r, const boxes& x);

/// A dimension of a tensor: its elements, and the elements from one to the
/// next; of the first that is 1.
struct map_dimension {
  std::ptrdiff_t size, stride;
  int box = 1;
};
/// The tensor map of BF16 elements with four dimensions, in boxes of 128 bytes
/// along the first, in the 128-byte swizzle.
CUtensorMap make_bf16_map(const argument_checks& r, const void* data,
                          const map_dimension (&all)[4]);

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_TENSOR_MAP_HPP_
