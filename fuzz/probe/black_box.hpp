// Defines `black_box`: an instruction of which only the outputs are known, and
// `experiments`: what it was asked, with its answers.

#ifndef ZEROULP_FUZZ_PROBE_BLACK_BOX_HPP_
#define ZEROULP_FUZZ_PROBE_BLACK_BOX_HPP_

#include <functional>
#include <string>
#include <vector>

#include "conformance/cases/step_cases.hpp"

namespace zeroulp::fuzz {

using conformance::step_case;

struct black_box {
  std::string name;
  format a;
  format b;
  format stored;        ///< of c and D
  int length = 0;       ///< products of a call, as many in each case
  bool takes_c = true;  ///< else c is +0 in every case
  /// D of each case. A call costs a launch or more: ask for many at once.
  std::function<std::vector<std::uint64_t>(const std::vector<step_case>&)> run;
};

struct experiment {
  step_case inputs;
  std::uint64_t d = 0;    ///< what the box gave
  std::vector<int> used;  ///< the products that are not +0 * +0
};

/// Everything that a box was asked, in order.
class experiments {
 public:
  explicit experiments(const black_box& box) : box_(box) {}

  const black_box& box() const { return box_; }
  const std::vector<experiment>& all() const { return all_; }

  /// Asks the box, keeps its answers and returns the index of the first. A box
  /// without c is asked with +0.
  std::size_t ask(std::vector<step_case> cases);

 private:
  const black_box& box_;
  std::vector<experiment> all_;
};

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_PROBE_BLACK_BOX_HPP_
