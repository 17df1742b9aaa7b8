// Defines `candidate`: a mutant as the runner sees it, wherever it comes from.

#ifndef ZEROULP_CONFORMANCE_MUTANTS_RUNNER_CANDIDATE_HPP_
#define ZEROULP_CONFORMANCE_MUTANTS_RUNNER_CANDIDATE_HPP_

#include <functional>
#include <string>
#include <vector>

#include "conformance/contract/implementation.hpp"

namespace zeroulp::conformance {

/// The lists of checks, in the order of the registry.
enum class subject {
  convert,
  arithmetic,
  step,
  quantize,
  division,
  retile,
  gemm,
  cases,
  training,
  model,
};

struct candidate {
  std::string group;  ///< "hand-written", "rows" or a header's name
  std::string key;    ///< stable name
  std::string what;   ///< fingerprint, or empty
  subject first;      ///< whose checks should find it
  /// Returns the faulty implementation; called once, in a process of its own.
  std::function<implementation()> make;
  int generated = -1;  ///< its number among the generated ones, or -1
  /// Set for those that no check can kill: all of the suite would be a waste.
  bool brief = false;
};

using candidate_list = std::vector<candidate>;

/// One field of one named row changed, wherever the row is used.
candidate_list row_candidates();

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_MUTANTS_RUNNER_CANDIDATE_HPP_
