// Defines how a difference is explained. Fingerprints are the ways to be wrong
// that have a name; habits are the ways to answer without computing.

#ifndef ZEROULP_FUZZ_ENGINE_CAUSES_HPP_
#define ZEROULP_FUZZ_ENGINE_CAUSES_HPP_

#include "fuzz/engine/campaign.hpp"

namespace zeroulp::fuzz {

/// A way to be wrong that gives the bits found.
struct cause {
  std::string name;  ///< of the opponent, such as mutant:step.c_last
  std::string what;
  /// It gives the same bits on so many of the further cases tried.
  int agrees = 0;
  int tried = 0;
};

/// Returns the likely causes of what `right` makes of `p`, where it differs
/// from the core in kind `k`. These are the fingerprints with the same bits at
/// the first such difference; `more` other cases tell them apart. Only those
/// that agree longest are returned. The kinds `others`, which were seen
/// besides, may have causes of their own: a fingerprint need not give those.
std::vector<cause> name_causes(const problem& p, const opponent& right,
                               mismatch_kind k, const kind_set& others,
                               int more, const pins& pinned);

/// Returns how `right`, which may refuse, answers without computing; empty: it
/// does not. It may answer zeros, the same whatever is asked, its input, or the
/// outputs of the call before. Or only its small sizes are right.
std::vector<cause> name_habits(const problem& p, const opponent& right,
                               int more);

/// Returns true iff `right` answers the case differently after another case was
/// asked in between.
bool is_stateful(const problem& p, const opponent& right);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_CAUSES_HPP_
