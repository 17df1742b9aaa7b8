// Defines what explain() and its search for causes share. Internal.

#ifndef ZEROULP_FUZZ_EXPLAIN_LIKELY_HPP_
#define ZEROULP_FUZZ_EXPLAIN_LIKELY_HPP_

#include "fuzz/explain/explain.hpp"

namespace zeroulp::fuzz {

/// A problem, or a window of it, with both results.
struct question {
  problem p;
  outputs claimed;
  outputs given;
};

/// The order of the codes of an output; integers are ordered as such.
code_order order_for(format f);

/// How two codes of an output differ, if they do.
std::optional<mismatch_kind> kind_of(format f, std::uint64_t claimed,
                                     std::uint64_t given);

/// True iff they differ in a kind that is not ignored.
bool differs(format f, std::uint64_t claimed, std::uint64_t given,
             const kind_set& ignored);

/// Runs every suspect and adds those that are likely.
void find_likely(const question& all, const explain_options& how,
                 explanation& found);

/// Returns a case of the fuzzer with the problem's settings for which `tied`
/// suspects give the most different results; empty if none was found.
std::optional<distinguishing_case> find_distinguishing_case(
    const problem& p, const outputs& given,
    const std::vector<const suspect*>& tied);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_EXPLAIN_LIKELY_HPP_
