// Defines the search of identify_gemm: the grid, and the members that come
// nearest.
//
//   chain (accumulator, elements of K) -> p -> plan (interval, splits, update,
//   scales) -> FP32 sum -> epilogue
//
// Every plan is tested on a few outputs (gemm_probe.hpp), and those that remain
// on blocks of D (gemm_blocks.hpp). Internal.

#ifndef ZEROULP_FUZZ_IDENTIFY_GEMM_SEARCH_HPP_
#define ZEROULP_FUZZ_IDENTIFY_GEMM_SEARCH_HPP_

#include <vector>

#include "fuzz/identify/gemm.hpp"
#include "fuzz/identify/gemm_control.hpp"
#include "fuzz/identify/gemm_grid.hpp"

namespace zeroulp::fuzz {

/// A plan with an epilogue that is among the best.
struct judged_plan {
  std::size_t chain;
  std::size_t plan;
  std::size_t end;
  tally result;
};

struct gemm_search {
  gemm_grid grid;
  gemm_control control;
  std::vector<judged_plan> best;  ///< all with the fewest differences
  std::uint64_t outputs = 0;      ///< of D, compared with these
};

/// Throws input_error.
gemm_search search_gemms(const gemm_evidence& e, const identify_progress& tell,
                         double most_products);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_GEMM_SEARCH_HPP_
