// Defines the bins of `step`, in bins.cpp; coverage.cpp counts them.

#ifndef ZEROULP_FUZZ_TARGETS_STEP_BINS_HPP_
#define ZEROULP_FUZZ_TARGETS_STEP_BINS_HPP_

#include "fuzz/targets/parts.hpp"

namespace zeroulp::fuzz::step_bin {

enum family : std::uint8_t {
  shift_13,      ///< term, bits of shift, sign; F = 13
  shift_25,      ///< the same; F = 25
  shift_other,   ///< term, shift by F, sign
  lowest_cut,    ///< F, term, position of the lowest bit that is cut
  highest_cut,   ///< F, term, position of the highest bit that is cut
  c_place,       ///< F, c against the largest product, sign
  c_kind,        ///< kind, sign
  lost_13,       ///< leading bits lost, whether bits were cut
  lost_25,       ///< the same
  zero_sum,      ///< F, why
  conversion,    ///< output, position, what it gives, sign
  floor_place,   ///< which floor, the largest place against it
  special,       ///< what made the sum special
  infinite_sum,  ///< from what, sign
  subnormal,     ///< which factor, whether at the largest place
  largest_at,    ///< k
  joined,        ///< lowering or c_last, position of the last sum
  halves,        ///< lowering, which halves have terms
  count,         ///< how many products
  named_path,
  what_if,  ///< F
};

/// F as the bins distinguish it: 13, 25, other.
constexpr int cut_of(const accumulator& acc) {
  return acc.fraction_bits == 13 ? 0 : acc.fraction_bits == 25 ? 1 : 2;
}

/// Positions below the cut that the bins distinguish.
inline constexpr int lowest_positions = 24;
inline constexpr int highest_positions = 6;

/// A distance `d` >= 0 against F: 0, 1, between, F - 1 to F + 1, more.
constexpr int by_fraction_bits(int d, int f) {
  return d < 2 ? d : d < f - 1 ? 2 : d > f + 1 ? 6 : d - f + 4;
}

/// The ways in which NaN, Inf and 0 * Inf make a sum special.
enum special_term : std::uint8_t {
  nan_a,
  nan_b,
  nan_c,
  zero_times_infinity,
  infinity_times_zero,
  opposite_products,
  product_against_c,
};

const bin_table& table();

}  // namespace zeroulp::fuzz::step_bin

#endif  // ZEROULP_FUZZ_TARGETS_STEP_BINS_HPP_
