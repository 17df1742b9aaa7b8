// Defines who is suspected of a difference: fingerprints, the ways to be wrong
// that have a name, and habits, the ways to answer without computing.

#ifndef ZEROULP_FUZZ_ENGINE_CAUSES_HPP_
#define ZEROULP_FUZZ_ENGINE_CAUSES_HPP_

#include "fuzz/engine/campaign.hpp"

namespace zeroulp::fuzz {

/// A way to be wrong that gives the bits that were found.
struct cause {
  std::string name;  ///< of the opponent, such as mutant:step.c_last
  std::string what;
  /// So many further cases, of those tried, it gives the same bits, too.
  int agrees = 0;
  int tried = 0;
};

/// Returns the likely causes of what `right` makes of `p`, on which it differs
/// from the core in kind `k`: those fingerprints that give the same bits where
/// that shows, told apart on `more` other cases. Only the ones that agree
/// longest are named. Where `others`, kinds that were seen besides, have causes
/// of their own, a fingerprint need not give those.
std::vector<cause> name_causes(const problem& p, const opponent& right,
                               mismatch_kind k, const kind_set& others,
                               int more, const pins& pinned);

/// Returns how `right`, which may refuse, answers without computing: zeros, the
/// same whatever is asked, its input, the outputs of the call before, only
/// small sizes right. Empty: it does not.
std::vector<cause> name_habits(const problem& p, const opponent& right,
                               int more);

/// Whether `right` makes something else of the case when it was asked another
/// one in between.
bool is_stateful(const problem& p, const opponent& right);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_CAUSES_HPP_
