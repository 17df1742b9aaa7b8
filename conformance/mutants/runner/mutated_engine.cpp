// The mutated fast paths, and operators of a model, behind tables of functions:
// as mutated.cpp has the core.

#include "conformance/checks/model/model_functions.hpp"
#include "conformance/tests/engine/engine_calls.hpp"

#define ZEROULP_SHOWN extern "C" __attribute__((visibility("default")))

namespace zm {
extern const char* const keys[];
extern const int count;
extern bool flags[];
extern bool reached[];
}  // namespace zm

ZEROULP_SHOWN void zeroulp_mutated_engine(
    zeroulp::conformance::engine_calls* calls) {
  *calls = zeroulp::conformance::compiled_calls();
}

/// By hardware, or by the core's arithmetic.
ZEROULP_SHOWN void zeroulp_mutated_model(
    bool by_core, zeroulp::conformance::model_functions* functions) {
  *functions = by_core ? zeroulp::conformance::core_model()
                       : zeroulp::conformance::engine_model();
}

ZEROULP_SHOWN int zeroulp_engine_mutants() { return zm::count; }

ZEROULP_SHOWN const char* zeroulp_engine_key(int mutant) {
  return zm::keys[mutant];
}

/// Switches one mutant on.
ZEROULP_SHOWN void zeroulp_mutate_engine(int mutant) {
  zm::flags[mutant] = true;
}

/// Returns true iff the place of `mutant` was reached since the last call.
ZEROULP_SHOWN bool zeroulp_engine_reached(int mutant) {
  const bool was = zm::reached[mutant];
  zm::reached[mutant] = false;
  return was;
}
