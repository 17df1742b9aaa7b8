// Defines a finding: a mismatch of one kind, shrunk, with its likely causes and
// the token that replays it.

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
  std::string clauses;  ///< of SPEC.md, on the output that differs
  std::string token;
  std::vector<cause> causes;  ///< the likeliest first; may be empty
};

/// Returns a small case on which the two sides of a campaign differ in kind
/// `k`, as they do on `p`. Pinned settings stay.
problem shrink_case(const campaign& c, const problem& p, mismatch_kind k);

/// Shrinks and explains the first case that differs in kind `k`. If the
/// campaign's left side is not the core, it looks for no causes.
finding investigate(const campaign& c, const campaign_result& r,
                    mismatch_kind k);

/// Returns a finding for each kind that was seen, in their order.
std::vector<finding> investigate(const campaign& c, const campaign_result& r);

/// How a mutant was found.
struct exposure {
  std::string mutant;  ///< e.g. step.c_last
  std::string what;
  target found_by = target::encode;
  std::optional<std::uint64_t> cases;  ///< needed to find it; empty: not found
  std::optional<finding> small;
  std::size_t rank = 0;  ///< of the mutant among the named causes; 0: not named
};

/// Compares every `stride`-th mutant with the core, up to `most` cases for each
/// target. `each` receives the rows as they come.
std::vector<exposure> expose_mutants(
    std::uint64_t seed, std::uint64_t most, std::size_t stride = 1,
    const std::function<void(const exposure&)>& each = {});

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_FINDING_HPP_
