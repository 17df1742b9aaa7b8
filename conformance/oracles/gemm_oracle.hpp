// Defines the oracle of the promoted GEMM: SPEC clauses G1 to G10. Partial sums
// come from the rational oracle; FP32 operations are the host's, one float
// operation or std::fma each, so this must not be compiled with -ffast-math.
// Nothing of the core is called.

#ifndef ZEROULP_CONFORMANCE_ORACLES_GEMM_ORACLE_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_GEMM_ORACLE_HPP_

#include <cstdint>

#include "zeroulp/core/gemm.hpp"

namespace zeroulp::oracle {

using gemm_codes = matrix_view<const std::uint32_t>;

/// G2, the first half: may a GEMM follow this recipe?
bool is_valid_recipe(const recipe& r);

/// Writes D of A B^T; `c` may be null unless the epilogue accumulates.
void promoted_gemm(const recipe& r, const gemm_operand<std::uint32_t>& a,
                   const gemm_operand<std::uint32_t>& b, gemm_codes c,
                   matrix_view<std::uint32_t> d);

/// Writes the exact product of E4M3 codes, rounded once to FP32, by Eigen in
/// FP64. Every product is a multiple of 2^-18 below 2^18, so that sums are
/// exact for K up to 2^17. Finite codes only; a zero is +0.
void exact_e4m3_product(gemm_codes a, gemm_codes b,
                        matrix_view<std::uint32_t> d);

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_GEMM_ORACLE_HPP_
