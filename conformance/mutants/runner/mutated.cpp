// The mutated core behind the table of an implementation. This file, and the
// table of the suite compiled against the headers that generate.py writes, make
// a library that shows nothing else, so that its functions never mix with the
// suite's own.

#include "conformance/contract/implementation.hpp"

#define ZEROULP_SHOWN extern "C" __attribute__((visibility("default")))

namespace zm {
extern const char* const keys[];
extern const int count;
extern bool flags[];
extern bool reached[];
}  // namespace zm

ZEROULP_SHOWN void zeroulp_mutated_core(
    zeroulp::conformance::implementation* table) {
  *table = zeroulp::conformance::core_implementation();
}

ZEROULP_SHOWN int zeroulp_mutated_count() { return zm::count; }

ZEROULP_SHOWN const char* zeroulp_mutated_key(int mutant) {
  return zm::keys[mutant];
}

/// Switches one mutant on.
ZEROULP_SHOWN void zeroulp_mutate(int mutant) { zm::flags[mutant] = true; }

/// Returns true iff the place of `mutant` was reached since the last call.
ZEROULP_SHOWN bool zeroulp_mutated_reached(int mutant) {
  const bool was = zm::reached[mutant];
  zm::reached[mutant] = false;
  return was;
}
