// Defines the searches at the ends of the range: the floor of the alignment,
// zeros, subnormals, overflow, NaN.

#ifndef ZEROULP_FUZZ_PROBE_RANGE_HPP_
#define ZEROULP_FUZZ_PROBE_RANGE_HPP_

#include <functional>
#include <vector>

#include "fuzz/probe/black_box.hpp"
#include "fuzz/probe/mechanism.hpp"

namespace zeroulp::fuzz {

/// Sets what single outputs say at once: flushes_operands and nan.
/// Needs the formats alone.
void find_specials(experiments& asked, mechanism& m);

/// Floors that may matter: at `low` and below, none does.
struct floor_range {
  int low;
  int high;
};
floor_range floors_of(const mechanism& m);

/// Steps near the lowest places and results, where floors and the rules of
/// zeros and subnormals show.
std::vector<step_case> range_cases(const black_box& box, const mechanism& m);

/// Whether no floor up to 0 and no rule of zeros and subnormals changes what
/// `m` gives.
bool is_within_range(const mechanism& m, const experiment& e);

/// Calls use(m with another floor and other rules), no floor first, until it
/// returns true. Returns whether it did.
bool any_range(mechanism m, const std::function<bool(const mechanism&)>& use);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_PROBE_RANGE_HPP_
