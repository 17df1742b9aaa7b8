// Defines the ONE registry of checks: cases x implementation x oracle.
// GoogleTest, `zeroulp conform` and the mutants' runner are thin drivers of it.
// What needs a GPU is listed in conformance/device, of the same type.

#ifndef ZEROULP_CONFORMANCE_CONTRACT_REGISTRY_HPP_
#define ZEROULP_CONFORMANCE_CONTRACT_REGISTRY_HPP_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "conformance/contract/implementation.hpp"
#include "conformance/contract/output_sums.hpp"

namespace zeroulp::conformance {

/// How much a check may take: 0 seconds in all, 1 a minute or two, 2 tens of
/// minutes, 3 exhaustive, hours.
struct effort {
  int level = 0;
  std::uint64_t seed = 1;
  /// Stop at the first failure: what the mutants' runner wants.
  bool stop_early = false;
};

/// A sum over outputs that depends on their number and bits, not on their
/// order.
class output_digest {
 public:
  /// `output`: an integer, or a range of integers.
  template <class Output>
  void add(const Output& output) {
    if constexpr (requires { output.begin(); }) {
      for (const auto word : output) add(word);
    } else {
      sum_ += output_summand(static_cast<std::uint64_t>(output));
    }
  }
  /// Adds the outputs of another digest.
  void add_sum(std::uint64_t sum) { sum_ += sum; }
  /// 0: no outputs.
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

/// What a check found.
struct verdict {
  std::uint64_t cases = 0;
  std::uint64_t failures = 0;
  /// What the implementation gave, and what it should have given, in all cases
  /// that `compare` counted.
  output_digest got;
  output_digest expected;
  /// True if the cases are all there are.
  bool exhaustive = false;
  /// Inputs and both outputs in hex.
  std::string first_failure;
  /// Why nothing was checked; empty if something was.
  std::string skipped;
  /// What was found besides, a sentence each.
  std::vector<std::string> notes{};
  /// Why what held says too little to be a pass; empty if it does not.
  std::string vacuous{};

  /// Counts a case; `describe()` is called for the first failure.
  template <class Describe>
  void count(bool held, Describe describe) {
    ++cases;
    if (held) return;
    if (failures++ == 0) first_failure = describe();
  }

  /// Counts a case that holds if both outputs are the same.
  template <class Got, class Expected, class Describe>
  void compare(const Got& result, const Expected& right, Describe describe) {
    got.add(result);
    expected.add(right);
    count(result == right, describe);
  }

  /// Adds the outputs that a GPU has compared; it has counted them.
  void add(const output_sums& sums) {
    got.add_sum(sums.got);
    expected.add_sum(sums.expected);
  }

  /// Adds what another part of the same check found.
  void operator+=(const verdict& part) {
    exhaustive = part.exhaustive && (exhaustive || cases == 0);
    cases += part.cases;
    if (failures == 0) first_failure = part.first_failure;
    failures += part.failures;
    got.add_sum(part.got.sum());
    expected.add_sum(part.expected.sum());
    notes.insert(notes.end(), part.notes.begin(), part.notes.end());
    if (vacuous.empty()) vacuous = part.vacuous;
  }
};

/// A check: a sentence, the clauses it checks, the lowest level at which it
/// runs. It may do more at higher levels.
struct check {
  std::string name;     ///< e.g. "DecodeEqualsTheDefinition"
  std::string clauses;  ///< e.g. "F1 F2 F5"
  std::string oracle;   ///< e.g. "MPFR", "definition", "property"
  int level;
  std::function<verdict(const implementation&, const effort&)> run;
};

using check_list = std::vector<check>;

// One list a subject, each in its own file.
check_list convert_checks();
check_list arithmetic_checks();
check_list step_checks();
check_list quantize_checks();
check_list division_checks();
check_list retile_checks();
check_list gemm_checks();
check_list case_checks();
check_list vector_checks();
check_list training_checks();

/// Every check, in the order of the subjects.
check_list all_checks();

/// Returns `check.run`, with an exception turned into a failure; and no case
/// at all too, as such a check cannot fail.
verdict run_check(const check& c, const implementation& i, const effort& e);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CONTRACT_REGISTRY_HPP_
