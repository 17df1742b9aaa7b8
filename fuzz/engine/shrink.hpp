// Defines how a failing case becomes small: fewer elements, simpler settings,
// simpler bit patterns, as long as it still fails.

#ifndef ZEROULP_FUZZ_ENGINE_SHRINK_HPP_
#define ZEROULP_FUZZ_ENGINE_SHRINK_HPP_

#include "fuzz/cases/problem.hpp"

namespace zeroulp::fuzz {

using predicate = std::function<bool(const problem&)>;

/// The distance of a code from 0 and 1: bits set in the fraction, distance of
/// the exponent from that of 1, sign. Inf and NaN are farther than any number.
int cost_of(format f, std::uint64_t code);

/// Returns a problem without the elements [begin, begin + count) of a
/// dimension. A group takes the value of the group in which its first element
/// was.
problem cut(const problem& p, char dimension, std::ptrdiff_t begin,
            std::ptrdiff_t count);

/// Returns a case that fails and that no single change makes smaller; `p`
/// fails. Deterministic. `tries` bounds the calls of `fails`.
problem shrink(problem p, const predicate& fails, int tries = 20000);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_SHRINK_HPP_
