// Defines what generate_engine.py writes into scalar code besides schemata.hpp.

#ifndef ZEROULP_CONFORMANCE_MUTANTS_RUNNER_ENGINE_SCHEMATA_HPP_
#define ZEROULP_CONFORMANCE_MUTANTS_RUNNER_ENGINE_SCHEMATA_HPP_

#include <algorithm>
#include <initializer_list>

#include "conformance/mutants/runner/schemata.hpp"

namespace zm {

/// `value`, doubled under the mutant, or 1 for 0.
template <class T>
T real(T value, int mutant) {
  return !on(mutant) ? value : value == 0 ? T{1} : 2 * value;
}

template <class T, class U>
auto min(site s, T a, U b) {
  return (b < a) != on(s.mutant) ? b : a;
}
template <class T, class U>
auto max(site s, T a, U b) {
  return (a < b) != on(s.mutant) ? b : a;
}
template <class T>
T min(site s, std::initializer_list<T> list) {
  return on(s.mutant) ? std::max(list) : std::min(list);
}

}  // namespace zm

#endif  // ZEROULP_CONFORMANCE_MUTANTS_RUNNER_ENGINE_SCHEMATA_HPP_
