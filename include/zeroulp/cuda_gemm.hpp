// Defines D = A B^T on Hopper's tensor cores, bit-equal to core/gemm.hpp and to
// cuda::emulate_gemm:
//
//   cuda::gemm(recipe, a, b, c, d, stream)
//   cuda::gemm(recipe, groups, a, b, c, d, stream)          several at once
//
// Fprop is X W^T, Dgrad dY (W^T)^T, Wgrad dY^T (X^T)^T, each operand K-major.
// The bits of an output depend on its row of A, its row of B and the recipe:
// not on M, on the other outputs, on the tiles that were chosen, or on the run.
// Recipes: see `gemm`. Source: SPEC, G1 to G13.

#ifndef ZEROULP_CUDA_GEMM_HPP_
#define ZEROULP_CUDA_GEMM_HPP_

#include "zeroulp/cuda.hpp"

namespace zeroulp::cuda {

/// How several GEMMs share a launch (of promotion::product_of_scales alone);
/// `table` is in device memory, so that the host need not know it.
enum class gemm_groups : std::uint8_t {
  /// One GEMM: A m x k, B n x k, D m x n.
  none,
  /// Experts, contiguous: rows [table[g], table[g + 1]) of A (m x k) and D
  /// (m x n) have rows [g n, (g + 1) n) of B (count n x k). Rows in no range
  /// are left alone; a range that is none, or not within A, is empty. Of ranges
  /// that share rows D has either's.
  rows,
  /// Experts, padded: of A (count m x k) and D (count m x n), rows
  /// [g m, g m + table[g]) have rows [g n, (g + 1) n) of B (count n x k). Other
  /// rows are left alone.
  first_rows,
  /// Experts' Wgrad: D (count m x n) has in rows [g m, (g + 1) m) the product
  /// over elements [table[g], table[g + 1]) of K of A (m x k) and B (n x k).
  /// These are multiples of 128, or k; where they are not, D is NaN. An empty
  /// range gives +0, or C.
  k_ranges,
};

struct gemm_partition {
  gemm_groups kind = gemm_groups::none;
  std::ptrdiff_t count = 1;             ///< up to 65535
  const std::int32_t* table = nullptr;  ///< count + 1 (first_rows: count)
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
/// needs a scale (FP32; no stride is negative) for each of its groups; with
/// several B's in one, groups begin anew in each. D is of r.output, fp32 or
/// bf16; C is FP32, as large as D, and may be D itself if that is FP32. Fastest
/// where rows of C and D start on multiples of 16 bytes and N is a multiple of
/// 8. Rows and K are below 2^30.
///
/// It may begin before the kernel ahead of it in the stream has ended, but
/// reads and writes nothing until then (programmatic dependent launch). A
/// kernel of yours that is launched the same way right after it has to wait for
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
