// Defines re-tiling as clauses W1 to W5 and W7 read: values in FP64, where
// code * scale is exact, and one rounding by comparison (nearest_code.hpp).

#ifndef ZEROULP_CONFORMANCE_ORACLES_RETILE_ORACLE_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_RETILE_ORACLE_HPP_

#include "conformance/oracles/grid.hpp"
#include "zeroulp/core/retile.hpp"

namespace zeroulp::oracle {

struct retiled {
  grid codes;
  grid scales;
};

/// W1, W7: the value of a code under its scale.
double retiled_value(const retiling& r, std::uint32_t code,
                     std::uint32_t scale);

/// Re-tiles an m x n matrix of codes with m x ceil(n / tile) scales.
retiled retile(const retiling& r, const grid& codes, const grid& scales);

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_RETILE_ORACLE_HPP_
