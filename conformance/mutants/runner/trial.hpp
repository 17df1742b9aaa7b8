// Defines `run_trials`: each candidate against the checks, in a process of its
// own, so that a mutant may crash, hang or trample on memory.

#ifndef ZEROULP_CONFORMANCE_MUTANTS_RUNNER_TRIAL_HPP_
#define ZEROULP_CONFORMANCE_MUTANTS_RUNNER_TRIAL_HPP_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "conformance/contract/registry.hpp"
#include "conformance/mutants/runner/candidate.hpp"

namespace zeroulp::conformance {

/// A check and the CPU seconds that it takes on an implementation without
/// fault.
struct timed_check {
  check value;
  subject list;
  double seconds = 0;
  std::vector<bool> reaches{};  ///< which generated places
};

enum class fate : int { running, survived, killed, crashed, timed_out };

struct outcome {
  fate what = fate::running;
  int check = 0;  ///< index of the check that killed, or was running
  std::uint64_t cases = 0;
  double seconds = 0;
  std::array<char, 400> first_failure{};
};

struct trial_options {
  int jobs = 2;
  int level = 0;
  double limit = 20;   ///< CPU seconds a candidate
  double slack = 0.5;  ///< CPU seconds that a check may take besides
  double brief = 0.5;  ///< CPU seconds of checks for those that are `brief`
};

/// Candidates, and what they are held against.
struct suite {
  const char* name;
  candidate_list candidates;
  std::vector<timed_check> (*checks)();
  /// The generated code with no mutant switched on.
  implementation (*baseline)();
  /// Returns which places of the generated code were reached since the last
  /// call: one flag a generated candidate.
  std::vector<bool> (*reached)();
};

/// Mutants of the core against the registry of checks.
suite core_suite();  // candidates.cpp
/// Mutants of the fast paths against the core.
suite engine_suite();  // engine_candidates.cpp

/// What to do with the outcome of candidate i, as soon as it is there.
using use_outcome = std::function<void(std::size_t i, const outcome&)>;

double cpu_seconds();

/// Tries each candidate. At level 0 a check may take ten times as long as it
/// did without fault, and only those run that reach the candidate's place.
void run_trials(const std::vector<timed_check>& checks,
                const std::vector<const candidate*>& candidates,
                const trial_options& options, const use_outcome& use);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_MUTANTS_RUNNER_TRIAL_HPP_
