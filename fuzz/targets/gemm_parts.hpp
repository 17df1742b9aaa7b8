// Defines what the files of the target `gemm` share.

#ifndef ZEROULP_FUZZ_TARGETS_GEMM_PARTS_HPP_
#define ZEROULP_FUZZ_TARGETS_GEMM_PARTS_HPP_

#include "fuzz/targets/matrix_parts.hpp"

namespace zeroulp::fuzz {

/// Elements of K whose products the tensor core sums before a sum is rounded to
/// FP32 and added: an interval, a step, or all of K.
inline std::ptrdiff_t gemm_grain(const recipe& r, std::ptrdiff_t k) {
  return r.interval > 0 ? r.interval : r.acc.length > 0 ? r.acc.length : k;
}

std::vector<operand_spec> gemm_operands(const settings&);
void fill_gemm(problem&, int profile, counter_rng&);
std::vector<std::string> gemm_bins();
void cover_gemm(const problem&, const outputs&, bin_counts);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_TARGETS_GEMM_PARTS_HPP_
