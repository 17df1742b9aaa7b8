// Defines how a case becomes large: its elements again and again.

#ifndef ZEROULP_FUZZ_ENGINE_ENLARGE_HPP_
#define ZEROULP_FUZZ_ENGINE_ENLARGE_HPP_

#include "fuzz/cases/problem.hpp"

namespace zeroulp::fuzz {

/// Returns `p` with its elements repeated up to these lengths; dimensions that
/// are empty, or longer already, stay. What stands for groups has the value
/// that the group of its first element had.
problem repeated(const problem& p, std::ptrdiff_t m, std::ptrdiff_t n);

inline constexpr int grown_elements = 40000;

/// Returns `p` repeated up to so many elements: several tiles of 128x128, rows
/// that are aligned mostly, tall or wide.
problem grown(const problem& p, counter_rng& rng,
              int elements = grown_elements);

/// The same, but that products are no more than the core does in no time.
problem grown_in_time(const problem& p, counter_rng& rng);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_ENLARGE_HPP_
