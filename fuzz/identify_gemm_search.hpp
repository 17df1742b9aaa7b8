// Defines the search of identify_gemm: the grid, cut so that what chains of
// steps give is computed once for all that is done with it.
//
//   chain (accumulator, elements of K) -> p -> plan (interval, splits, update,
//   scales) -> FP32 sum -> epilogue
//
// Internal.

#ifndef ZEROULP_FUZZ_IDENTIFY_GEMM_SEARCH_HPP_
#define ZEROULP_FUZZ_IDENTIFY_GEMM_SEARCH_HPP_

#include <string>
#include <vector>

#include "fuzz/identify_gemm.hpp"
#include "zeroulp/core/gemm.hpp"

namespace zeroulp::fuzz {

struct gemm_accumulator {
  std::string name;
  accumulator value;
};

/// How a matrix of scales may be read.
struct scale_cover {
  granularity covers;
  bool transposed;
};

inline constexpr promotion grid_updates[] = {
    promotion::add, promotion::product_of_scales, promotion::one_then_other,
    promotion::one_then_other};  // the last: scale of B first
inline constexpr std::size_t b_first_update = 3;
inline constexpr std::int32_t grid_splits[] = {1, 2, 3, 4, 5, 6, 7, 8, 16};
inline constexpr epilogue grid_ends[] = {epilogue::store, epilogue::accumulate};
inline constexpr std::size_t end_count = std::size(grid_ends);

/// What is done with the partial sums p of a chain, before the epilogue. All
/// are indices of the grid.
struct gemm_plan {
  std::size_t interval;
  std::vector<std::size_t> splits;  ///< all that cut this K in the same way
  std::size_t update;
  std::size_t a;
  std::size_t b;
};

/// Chains from +0 over each `width` elements of K.
struct gemm_chain {
  std::size_t acc;
  std::ptrdiff_t width;
  std::vector<gemm_plan> plans;
};

struct gemm_grid {
  std::vector<gemm_accumulator> accumulators;
  std::vector<std::int32_t> intervals;
  std::vector<scale_cover> a;
  std::vector<scale_cover> b;
  std::vector<gemm_chain> chains;
};

/// A plan with an epilogue that is among the best.
struct judged_plan {
  std::size_t chain;
  std::size_t plan;
  std::size_t end;
  tally result;
};

struct gemm_search {
  gemm_grid grid;
  std::vector<judged_plan> best;  ///< all with the fewest differences
};

/// Checks shapes; throws input_error.
gemm_grid make_gemm_grid(const gemm_evidence& e);

/// Returns the recipe of a plan; of its splits, the first.
recipe recipe_of(const gemm_grid& grid, const gemm_evidence& e,
                 const gemm_chain& c, const gemm_plan& p, epilogue end);

gemm_search search_gemms(const gemm_evidence& e);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_GEMM_SEARCH_HPP_
