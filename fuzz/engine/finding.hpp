// Defines what is made of a mismatch of one kind: a finding, small, with its
// likely causes and the word that replays it.

#ifndef ZEROULP_FUZZ_ENGINE_FINDING_HPP_
#define ZEROULP_FUZZ_ENGINE_FINDING_HPP_

#include <optional>

#include "fuzz/engine/causes.hpp"

namespace zeroulp::fuzz {

struct finding {
  mismatch_kind kind = mismatch_kind::values;
  std::uint64_t index = 0;  ///< of the case in which it was found
  problem found;
  problem shrunk;
  difference where;     ///< in the shrunk case
  std::string clauses;  ///< that say what is right there
  std::string token;
  std::vector<cause> causes;  ///< the likeliest first; may be empty
};

/// Returns a small case on which the two sides of a campaign differ in this
/// way, as they do on `p`. What is pinned stays.
problem shrink_case(const campaign& c, const problem& p, mismatch_kind k);

/// Shrinks the first case that differs in this way, and explains it. If the
/// campaign's left side is not the core, causes are not looked for.
finding investigate(const campaign& c, const campaign_result& r,
                    mismatch_kind k);

/// A finding of each kind that was seen, in their order.
std::vector<finding> investigate(const campaign& c, const campaign_result& r);

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

#endif  // ZEROULP_FUZZ_ENGINE_FINDING_HPP_
