// Defines `conversion_table`: a conversion from FP32 as runs of equal results,
// so that all 2^32 inputs can be held against the oracle by walking.
//
// Rounding is monotone on either side of zero (R), hence few runs. The oracle
// finds both ends of each: no result in the table is interpolated.

#ifndef ZEROULP_CONFORMANCE_ORACLES_CONVERSION_TABLE_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_CONVERSION_TABLE_HPP_

#include <cstdint>
#include <vector>

#include "zeroulp/core/convert.hpp"

namespace zeroulp::oracle {

/// FP32 codes from `first` to before the next run's give `result`.
struct run {
  std::uint32_t first;
  std::uint32_t result;
};

/// Runs in ascending order of the FP32 code, the first at 0.
using conversion_table = std::vector<run>;

/// Returns the table of one rounding (stochastic: of one random number). `to`
/// has at most 32 bits.
conversion_table make_conversion_table(format to, rounder r, policy p);

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_CONVERSION_TABLE_HPP_
