// Defines how a case becomes large: its elements are repeated.

#ifndef ZEROULP_FUZZ_ENGINE_ENLARGE_HPP_
#define ZEROULP_FUZZ_ENGINE_ENLARGE_HPP_

#include "fuzz/cases/problem.hpp"

namespace zeroulp::fuzz {

/// Returns `p` with its elements repeated up to these lengths. Dimensions that
/// are empty, or longer already, stay. A group takes the value of the group
/// that its first element is copied from.
problem repeated(const problem& p, std::ptrdiff_t m, std::ptrdiff_t n);

inline constexpr int grown_elements = 40000;

/// Returns `p` repeated up to so many elements: several tiles of 128x128, tall
/// or wide, with mostly aligned rows.
problem grown(const problem& p, counter_rng& rng,
              int elements = grown_elements);

/// The same, with so few products that the core needs hardly any time.
problem grown_in_time(const problem& p, counter_rng& rng);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_ENLARGE_HPP_
