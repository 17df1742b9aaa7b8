// Defines how much the tests do: ZEROULP_LEVEL, 0 where it is not set.

#ifndef ZEROULP_CONFORMANCE_TESTS_LEVEL_HPP_
#define ZEROULP_CONFORMANCE_TESTS_LEVEL_HPP_

#include <cstdlib>

namespace zeroulp::test {

/// 0: seconds, and what sanitizers run; 1: what CI runs; 2 and 3: longer
/// sweeps.
inline int level() {
  const char* text = std::getenv("ZEROULP_LEVEL");
  return text != nullptr ? std::atoi(text) : 0;
}

}  // namespace zeroulp::test

#endif  // ZEROULP_CONFORMANCE_TESTS_LEVEL_HPP_
