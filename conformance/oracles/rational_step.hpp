// Defines the exact oracle of the tensor-core step: SPEC clauses T1 to T19,
// word for word, in integers of any size. It reads the fields of formats and
// paths and calls nothing of the core.

#ifndef ZEROULP_CONFORMANCE_ORACLES_RATIONAL_STEP_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_RATIONAL_STEP_HPP_

#include <cstddef>
#include <cstdint>

#include "zeroulp/core/block_scaled.hpp"

namespace zeroulp::oracle {

/// Returns D of one instruction step, a code of p.acc.stored; `a` and `b` are
/// `count` codes of p.a and p.b. The stochastic modes have no definition here.
std::uint64_t rational_step(const path& p, const std::uint64_t* a,
                            const std::uint64_t* b, std::ptrdiff_t count,
                            std::uint64_t c);

/// Returns D of the steps over `count` products, each D the next c (T9).
std::uint64_t rational_chain(const path& p, const std::uint64_t* a,
                             const std::uint64_t* b, std::ptrdiff_t count,
                             std::uint64_t c);

/// Returns D of one step with block scales (T17 to T19): a code of the path's
/// `stored`. The scales are codes, one for each p.block elements.
std::uint64_t rational_step(const block_scaled_path& p, const std::uint64_t* a,
                            const std::uint64_t* b,
                            const std::uint64_t* scales_a,
                            const std::uint64_t* scales_b, std::ptrdiff_t count,
                            std::uint64_t c);

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_RATIONAL_STEP_HPP_
