// Defines the parameters of a GEMM kernel: operands as tensor maps, scales, D.

#ifndef ZEROULP_CUDA_GEMM_PARAMS_HPP_
#define ZEROULP_CUDA_GEMM_PARAMS_HPP_

#include <cuda.h>

#include <cstdint>

#include "zeroulp/cuda_gemm.hpp"

namespace zeroulp::cuda {

/// FP32 scales of an operand. The scale of row (or block of rows) i and K group
/// g is at data[i * stride + g * k_stride]. `matrix_stride`: elements from one
/// matrix to the next.
struct gemm_scales {
  const float* data;
  std::int64_t stride, k_stride, matrix_stride;
};

struct gemm_params {
  CUtensorMap a_map, b_map;  ///< TMA boxes of codes: K, rows, matrices
  /// TMA boxes of scales, if a_scales_by_tma or b_scales_by_tma: rows of all
  /// matrices, groups of K.
  CUtensorMap a_scale_map, b_scale_map;
  CUtensorMap d_map;       ///< TMA boxes of D: 16 rows of 128 bytes
  CUtensorMap d_tall_map;  ///< 64 rows of 128 bytes, if Shape::has_store_thread
  CUtensorMap c_map;       ///< TMA boxes of C: 32 columns, a tile's rows
  gemm_scales a_scales, b_scales;
  const char* b;  ///< codes
  std::int64_t b_stride;
  void* d;  ///< BF16 or, if is_fp32, FP32
  std::int64_t d_stride, d_matrix_stride;
  const float* c;  ///< added to D, if any
  std::int64_t c_stride, c_matrix_stride;
  const std::int32_t* table;  ///< the groups' table, in device memory
  std::int32_t m, n, k;       ///< m: rows of one A, or of all groups of rows
  std::int32_t count;         ///< number of groups
  std::int32_t interval;      ///< elements of K between promotions; 0: none
  gemm_groups groups;
  bool b_once;           ///< no groups and m <= 64: B is read once
  unsigned a_box_bytes;  ///< bytes of a box of A; fewer than a full tile's if A
                         ///< has fewer rows
  bool a_scales_by_tma, b_scales_by_tma;
  bool is_fp32;
  bool stores_by_tma;    ///< d_map is there
  bool d_is_vectorized;  ///< D is aligned for stores of two BF16 or four FP32
  bool loads_c_by_tma;   ///< c_map is there
};

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_PARAMS_HPP_
