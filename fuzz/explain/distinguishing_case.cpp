// Looks for a case that tells causes apart which this data does not.

#include <algorithm>

#include "fuzz/cases/token.hpp"
#include "fuzz/explain/likely.hpp"

namespace zeroulp::fuzz {
namespace {

constexpr std::uint64_t cases_tried = 200;
/// A token longer than this is no line that somebody copies.
constexpr std::size_t longest_token = 2000;

/// The outputs that the user has: those without words were not given.
outputs those_given(outputs made, const outputs& given) {
  for (std::size_t n = 0; n < made.size() && n < given.size(); ++n) {
    if (given[n].words.empty()) made[n].words.clear();
  }
  return made;
}

std::size_t different_results(const std::vector<const suspect*>& tied,
                              const problem& p, const outputs& given) {
  std::vector<outputs> results;
  for (const suspect* s : tied) {
    outputs made = those_given(s->answer(p), given);
    if (std::find(results.begin(), results.end(), made) == results.end()) {
      results.push_back(std::move(made));
    }
  }
  return results.size();
}

}  // namespace

std::optional<distinguishing_case> find_distinguishing_case(
    const problem& p, const outputs& given,
    const std::vector<const suspect*>& tied) {
  std::vector<const suspect*> asked;
  std::copy_if(tied.begin(), tied.end(), std::back_inserter(asked),
               [](const suspect* s) { return !s->of_this_data; });
  std::optional<distinguishing_case> best;
  if (asked.size() < 2) return best;
  const pins same_settings = [&p](settings& s) { s = p.with; };
  for (std::uint64_t i = 0; i < cases_tried; ++i) {
    const problem next = generate(p.what, -1, 1, i, same_settings);
    if (!refuse_operands(next).empty()) continue;
    const std::size_t results = different_results(asked, next, given);
    if (results < 2 || (best && results < best->results)) continue;
    std::string token = to_token(next);
    if (token.size() > longest_token) continue;
    const bool better =
        !best || results > best->results || token.size() < best->token.size();
    if (better) best = {std::move(token), results};
  }
  return best;
}

}  // namespace zeroulp::fuzz
