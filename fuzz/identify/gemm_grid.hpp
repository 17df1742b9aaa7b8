// Defines the grid of identify_gemm, by chains of steps: the partial sums of a
// chain are computed once for all its plans. Internal.

#ifndef ZEROULP_FUZZ_IDENTIFY_GEMM_GRID_HPP_
#define ZEROULP_FUZZ_IDENTIFY_GEMM_GRID_HPP_

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "fuzz/identify/gemm.hpp"
#include "zeroulp/core/gemm.hpp"

namespace zeroulp::fuzz {

/// About the cost of a product in the core, where it costs the engine 1.
inline constexpr double core_cost = 60;

struct gemm_accumulator {
  std::string name;
  accumulator value;
};

/// A way to read the scales of an operand.
struct scale_cover {
  granularity covers;
  std::string note;     ///< the layout, if not row by row
  oracle::grid scales;  ///< FP32 bits, mn x k groups of `covers`
};

inline constexpr promotion grid_updates[] = {
    promotion::add, promotion::product_of_scales, promotion::one_then_other,
    promotion::other_then_one};
inline constexpr std::int32_t grid_splits[] = {1, 2, 3, 4, 5, 6, 7, 8, 16};
inline constexpr epilogue grid_ends[] = {epilogue::store, epilogue::accumulate};
inline constexpr std::size_t end_count = std::size(grid_ends);

/// How the partial sums p of a chain are used, before the epilogue. All members
/// are indices into the grid.
struct gemm_plan {
  std::size_t interval;
  std::vector<std::size_t> splits;  ///< all that divide this K in the same way
  std::size_t update;
  std::size_t a;
  std::size_t b;
};

/// Chains of steps from +0 over each `width` elements of K.
struct gemm_chain {
  std::size_t acc;
  std::ptrdiff_t width;
  std::vector<gemm_plan> plans;
};

struct gemm_grid {
  std::vector<gemm_accumulator> accumulators;
  std::vector<std::int32_t> intervals;
  std::vector<scale_cover> a;  ///< one without scales where A has none
  std::vector<scale_cover> b;
  std::vector<gemm_chain> chains;

  /// The number of definitions.
  std::uint64_t size() const {
    std::uint64_t plans = 0;
    for (const auto& c : chains) {
      for (const auto& p : c.plans) plans += p.splits.size();
    }
    return plans * end_count;
  }
};

/// A plan that may be among the best, and its wrong outputs with each epilogue.
struct gemm_contender {
  std::size_t chain;
  std::size_t plan;
  std::array<std::uint64_t, end_count> on_probes{};
  std::array<tally, end_count> on_d{};

  /// Those with the better epilogue.
  std::uint64_t fewest() const {
    return std::min(on_probes[0] + on_d[0].differ,
                    on_probes[1] + on_d[1].differ);
  }
};

/// Throws input_error if shapes do not fit, codes are none of their formats, or
/// there are no products.
void check_gemm_shapes(const gemm_evidence& e);

/// Checks shapes; throws input_error.
gemm_grid make_gemm_grid(const gemm_evidence& e);

/// Returns the recipe of a plan, with the first of its splits and without its
/// epilogue: FP32 sums.
recipe recipe_of(const gemm_grid& grid, const gemm_chain& c,
                 const gemm_plan& p);

/// Returns the scales of a cover; without data if there are none.
inline matrix_view<const std::uint32_t> scales_of(const scale_cover& c) {
  if (c.scales.words.empty()) return {};
  return {c.scales.words.data(), c.scales.rows, c.scales.cols};
}

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_GEMM_GRID_HPP_
