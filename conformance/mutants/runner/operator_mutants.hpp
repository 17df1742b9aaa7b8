// Defines `operator_mutant`: a wrong operator of those that a plain step does
// not need (SPEC N27 to N31). The case engine has no target for them, so that
// these are no fingerprints: only the checks of checks/model hold them.

#ifndef ZEROULP_CONFORMANCE_MUTANTS_RUNNER_OPERATOR_MUTANTS_HPP_
#define ZEROULP_CONFORMANCE_MUTANTS_RUNNER_OPERATOR_MUTANTS_HPP_

#include <functional>
#include <vector>

#include "conformance/checks/model/model_functions.hpp"

namespace zeroulp::conformance {

/// `what` completes "the result is ...".
struct operator_mutant {
  const char* name;
  const char* what;
  std::function<void(model_functions&)> put;  ///< replaces one function
};

using operator_mutant_list = std::vector<operator_mutant>;

/// Returns the mutant that has `replacement` for a function of the table.
template <class Member, class Function>
operator_mutant table_but(const char* name, const char* what,
                          Member model_functions::*member,
                          Function replacement) {
  return {name, what, [member, replacement](model_functions& table) {
            table.*member = replacement;
          }};
}

operator_mutant_list latent_mutants();    // N27
operator_mutant_list parallel_mutants();  // N28, N29
operator_mutant_list indexer_mutants();   // N30
operator_mutant_list mtp_mutants();       // N31

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_MUTANTS_RUNNER_OPERATOR_MUTANTS_HPP_
