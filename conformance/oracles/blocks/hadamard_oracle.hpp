// Defines the Hadamard transform as clause Q21 reads: halves of a block, each
// transformed, in the host's FP32, or the exact steps of a path.

#ifndef ZEROULP_CONFORMANCE_ORACLES_BLOCKS_HADAMARD_ORACLE_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_BLOCKS_HADAMARD_ORACLE_HPP_

#include "conformance/oracles/grid.hpp"
#include "zeroulp/core/hadamard.hpp"

namespace zeroulp::oracle {

/// A whole matrix of codes of t.from; `by` and `signs` may be null.
grid hadamard(const hadamard_transform& t, const path* by,
              const std::int8_t* signs, const grid& x);

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_BLOCKS_HADAMARD_ORACLE_HPP_
