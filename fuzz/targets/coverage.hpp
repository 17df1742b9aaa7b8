// Defines the bins of the targets of single codes, and the functions that count
// them. They are `bins` and `cover` of target_info, in one file for each
// target.

#ifndef ZEROULP_FUZZ_TARGETS_COVERAGE_HPP_
#define ZEROULP_FUZZ_TARGETS_COVERAGE_HPP_

#include "fuzz/cases/problem.hpp"

namespace zeroulp::fuzz {

std::vector<std::string> encode_bins();
void cover_encode(const problem&, const outputs& right, bin_counts);

std::vector<std::string> arith_bins();
void cover_arith(const problem&, const outputs& right, bin_counts);

std::vector<std::string> step_bins();
void cover_step(const problem&, const outputs& right, bin_counts);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_TARGETS_COVERAGE_HPP_
