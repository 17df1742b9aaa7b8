// Defines what is made of a mismatch: a finding, small, with its likely causes
// and the word that replays it.

#ifndef ZEROULP_FUZZ_FINDING_HPP_
#define ZEROULP_FUZZ_FINDING_HPP_

#include <optional>

#include "fuzz/campaign.hpp"

namespace zeroulp::fuzz {

/// The first element in which two results differ, or how `right` failed.
struct difference {
  std::string output;
  std::ptrdiff_t row = 0;
  std::ptrdiff_t col = 0;
  format type = integer;
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  std::string failure{};  ///< if this is not empty, there is nothing else
};
std::optional<difference> first_difference(const outputs& left,
                                           const outputs& right);

/// A way to be wrong that gives the bits that were found.
struct cause {
  std::string name;  ///< of the opponent, such as mutant:step.c_last
  std::string what;
  /// So many further cases, of those tried, it gives the same bits, too.
  int agrees = 0;
  int tried = 0;
};

struct finding {
  problem found;
  problem shrunk;
  difference where;     ///< in the shrunk case
  std::string clauses;  ///< that say what is right there
  std::string token;
  std::vector<cause> causes;  ///< the likeliest first; may be empty
};

/// Returns the likely causes of what `right` makes of `p`, on which it differs
/// from the core: those fingerprints that give the same bits here, told apart
/// on `more` other cases. Only the ones that agree longest are named.
std::vector<cause> name_causes(const problem& p, const opponent& right,
                               std::uint64_t seed, int more,
                               const pins& pinned = {});

/// Returns a small case on which the two differ, as they do on `p`. What is
/// pinned stays.
problem shrink_case(const problem& p, const opponent& left,
                    const opponent& right, const pins& pinned = {});

/// Shrinks a case on which the two differ, and explains it. If `left` is not
/// the core, causes are not looked for. `failure`: how `right` failed there, if
/// it did; it need not do it again.
finding investigate(const problem& p, const opponent& left,
                    const opponent& right, const pins& pinned = {},
                    const std::string& failure = "");

/// How a mutant shows.
struct exposure {
  std::string mutant;  ///< e.g. step.c_last
  std::string what;
  target found_by = target::encode;
  std::optional<std::uint64_t> cases;  ///< needed; nothing: not found
  std::optional<finding> small;
  std::size_t rank = 0;  ///< 1: the first cause named is the mutant; 0: none is
};

/// Holds every mutant, or one of `stride`, against the core, up to `most` cases
/// a target.
/// `each` sees the rows as they come.
std::vector<exposure> expose_mutants(
    std::uint64_t seed, std::uint64_t most, std::size_t stride = 1,
    const std::function<void(const exposure&)>& each = {});

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_FINDING_HPP_
