// Defines `mutant`: a deliberately wrong implementation, the core with one
// function replaced. The suite must kill each of them; later the same mutants
// serve the fuzzer as fingerprints of faults that have been shipped.

#ifndef ZEROULP_CONFORMANCE_MUTANTS_MUTANT_HPP_
#define ZEROULP_CONFORMANCE_MUTANTS_MUTANT_HPP_

#include <string>
#include <vector>

#include "conformance/contract/model_operators.hpp"

namespace zeroulp::conformance {

/// A fault. `what` completes "the result is ...": a fingerprint, such as "as if
/// c were added last".
struct mutant {
  std::string name;
  const char* what;
  model_implementation table;
};

using mutant_list = std::vector<mutant>;

// One list a subject, each in its own file.
mutant_list conversion_mutants();
mutant_list arithmetic_mutants();
mutant_list step_mutants();
mutant_list gemm_mutants();
mutant_list quantizer_mutants();
mutant_list training_mutants();
mutant_list model_mutants();

/// Every mutant, in the order of the subjects, which begin their names:
/// step.c_last.
mutant_list all_mutants();

/// Returns the core with `name` and one function replaced.
template <class Function>
mutant core_but(const char* name, const char* what,
                Function implementation::*member, Function replacement) {
  mutant m{name, what, core_implementation()};
  m.table.name = name;
  m.table.*member = replacement;
  return m;
}
template <class Function>
mutant core_but(const char* name, const char* what,
                Function model_operators::*member, Function replacement) {
  mutant m{name, what, core_implementation()};
  m.table.name = name;
  m.table.model.*member = replacement;
  return m;
}

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_MUTANTS_MUTANT_HPP_
