// Defines D = A B^T on Hopper's tensor cores, bit-equal to core/gemm.hpp and to
// cuda::emulate_gemm:
//
//   cuda::gemm(recipe, a, b, c, d, stream)
//   cuda::gemm(recipe, groups, a, b, c, d, stream)          several at once
//
// Fprop is X W^T, Dgrad dY (W^T)^T, Wgrad dY^T (X^T)^T, each operand K-major.
// The bits of an output depend on its row of A, its row of B and the recipe.
// They do not depend on M, other outputs, the tile configuration or the run.
// Recipes: see `gemm`. Source: SPEC, G1 to G13.

#ifndef ZEROULP_CUDA_GEMM_HPP_
#define ZEROULP_CUDA_GEMM_HPP_

#include "zeroulp/cuda.hpp"

namespace zeroulp::cuda {

/// How several GEMMs share a launch; only with promotion::product_of_scales.
/// `table` is in device memory, so that the host need not know its contents.
enum class gemm_groups : std::uint8_t {
  /// One GEMM: A m x k, B n x k, D m x n.
  none,
  /// Experts, contiguous (M-grouped). A is m x k, B count n x k, D m x n. Rows
  /// [table[g], table[g + 1]) of A and D use rows [g n, (g + 1) n) of B. Rows
  /// in no range are not written. A range that is invalid, or not within A, is
  /// empty. Where ranges overlap, a row of D has the result of either.
  m_contiguous,
  /// Experts, padded (masked). A is count m x k, B count n x k, D count m x n.
  /// Rows [g m, g m + table[g]) of A and D use rows [g n, (g + 1) n) of B.
  /// Other rows are not written.
  m_masked,
  /// Experts' Wgrad (K-grouped). A is m x k, B n x k, D count m x n. Rows [g m,
  /// (g + 1) m) of D are the product over elements [table[g], table[g + 1]) of
  /// K. The table's entries are multiples of 128, or k; otherwise D is NaN. An
  /// empty range gives +0, or C.
  k_contiguous,
  // Earlier names.
  rows = m_contiguous,
  first_rows = m_masked,
  k_ranges = k_contiguous,
};

struct gemm_partition {
  gemm_groups kind = gemm_groups::none;
  std::ptrdiff_t count = 1;             ///< up to 65535
  const std::int32_t* table = nullptr;  ///< count + 1 (m_masked: count)
};

/// D = A B^T by `r`, with the accumulator hopper_fp8_f32 and one split:
///
///   interval 128, A 1x128, B 128x128 or 1x128, either promotion of scales
///                 deepgemm.1d2d: Fprop and Dgrad; deepgemm.1d1d: Wgrad;
///                 cublaslt.1x128_128x128, cublaslt.1x128_1x128, ...
///   any interval from 32 (a power of two), or 0, promotion::add, a scale for
///                 the whole matrix or none: unpromoted, cublaslt.tensorwise
///
/// A and B are e4m3 or e5m2; their rows start on multiples of 16 bytes. Each
/// needs an FP32 scale for each of its groups; no stride is negative. Where an
/// operand holds several matrices, groups begin anew in each.
///
/// D is of r.output, fp32 or bf16. C is FP32, as large as D, and may be D
/// itself if D is FP32. Fastest if rows of C and D start on multiples of 16
/// bytes and N is a multiple of 8. Rows and K are below 2^30.
///
/// The kernel may begin before the preceding kernel in the stream has ended,
/// but reads and writes nothing until then (programmatic dependent launch). A
/// kernel of yours that is launched the same way right after it must wait for
/// it, too.
void gemm(const recipe& r, const gemm_partition& groups, const operand& a,
          const operand& b, const const_matrix& c, const matrix& d,
          CUstream_st* stream = nullptr);

inline void gemm(const recipe& r, const operand& a, const operand& b,
                 const const_matrix& c, const matrix& d,
                 CUstream_st* stream = nullptr) {
  gemm(r, {}, a, b, c, d, stream);
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_HPP_
