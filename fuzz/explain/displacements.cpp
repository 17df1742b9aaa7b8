// Finds outputs that hold the claimed numbers in another place.

#include <map>
#include <optional>
#include <unordered_map>

#include "fuzz/explain/explain.hpp"

namespace zeroulp::fuzz {
namespace {

std::vector<std::uint64_t> row_hashes(const matrix& x) {
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(x.rows));
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    std::uint64_t h = 0;
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) h = mix64(h ^ x(i, j)) + 1;
    hashes[static_cast<std::size_t>(i)] = h;
  }
  return hashes;
}

/// Where row i of a result comes from.
struct move {
  bool exchange;  ///< i ^ by, else i + by
  std::ptrdiff_t by;
  std::ptrdiff_t source(std::ptrdiff_t i) const {
    return exchange ? i ^ by : i + by;
  }
  auto operator<=>(const move&) const = default;
};

/// Returns how rows of `given` that differ from their own in `claimed` are
/// found in other places of it, if one move explains half of them.
std::optional<move> row_move(const matrix& claimed, const matrix& given) {
  const auto theirs = row_hashes(claimed);
  const auto ours = row_hashes(given);
  std::unordered_map<std::uint64_t, std::vector<std::ptrdiff_t>> places;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    places[theirs[i]].push_back(static_cast<std::ptrdiff_t>(i));
  }
  std::map<move, std::ptrdiff_t> votes;
  std::ptrdiff_t differ = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i] == theirs[i]) continue;
    ++differ;
    const auto found = places.find(ours[i]);
    // Rows that are alike, zeros for example, say nothing.
    if (found == places.end() || found->second.size() > 1) continue;
    const auto to = static_cast<std::ptrdiff_t>(i);
    ++votes[{false, found->second[0] - to}];
    ++votes[{true, found->second[0] ^ to}];
  }
  std::optional<move> best;
  std::ptrdiff_t most = 0;
  for (const auto& [how, count] : votes) {
    if (count <= most || 2 * count < differ) continue;
    most = count;
    best = how;
  }
  return best;
}

/// The rows of `claimed`; where those of `given` differ, from where the move
/// has them.
matrix moved(const matrix& claimed, const matrix& given, const move& how) {
  const auto theirs = row_hashes(claimed);
  const auto ours = row_hashes(given);
  matrix y = claimed;
  for (std::ptrdiff_t i = 0; i < y.rows; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::ptrdiff_t from = how.source(i);
    if (ours[at] == theirs[at] || from < 0 || from >= y.rows) continue;
    for (std::ptrdiff_t j = 0; j < y.cols; ++j) y(i, j) = claimed(from, j);
  }
  return y;
}

std::string text_of(const move& how, const char* lines) {
  if (how.exchange) {
    return how.by == 1
               ? std::string("as if neighbouring ") + lines + " were exchanged"
               : std::string("as if ") + lines + " i and i xor " +
                     std::to_string(how.by) + " were exchanged";
  }
  return std::string("as if the ") + lines + " that differ were those " +
         std::to_string(how.by < 0 ? -how.by : how.by) +
         (how.by < 0 ? " before" : " after");
}

suspect replacing(std::string name, std::string what, const outputs& claimed,
                  std::size_t n, matrix by) {
  outputs made = claimed;
  made[n] = std::move(by);
  return {suspicion::displacement, std::move(name), std::move(what),
          [made = std::move(made)](const problem&) { return made; }, true};
}

}  // namespace

std::vector<suspect> displacements(const outputs& claimed,
                                   const outputs& given) {
  std::vector<suspect> all;
  outputs every = claimed;  // all that moved, together
  int moved_outputs = 0;
  std::string told;
  for (std::size_t n = 0; n < claimed.size(); ++n) {
    const matrix& x = claimed[n];
    if (given[n].words.empty() || x == given[n] || x.words.size() < 4) continue;
    const std::string of = std::string(x.name) + ": ";
    bool found = false;
    const auto add = [&](const char* name, const std::string& what, matrix by) {
      if (!found) {
        every[n] = by;
        told += (told.empty() ? "" : "; ") + of + what;
        ++moved_outputs;
      }
      found = true;
      all.push_back(replacing(std::string("place:") + x.name + "." + name,
                              of + what, claimed, n, std::move(by)));
    };
    if (x.rows > 1 && x.cols > 1) {
      matrix relaid = transposed(x);
      relaid.rows = x.rows;
      relaid.cols = x.cols;
      if (relaid == given[n]) {
        add("transposed", "as if they lay transposed", std::move(relaid));
        continue;
      }
    }
    if (const auto how = row_move(x, given[n])) {
      add("rows", text_of(*how, "rows"), moved(x, given[n], *how));
    }
    const matrix across = transposed(x);
    const matrix found_across = transposed(given[n]);
    if (const auto how = row_move(across, found_across)) {
      add("columns", text_of(*how, "columns"),
          transposed(moved(across, found_across, *how)));
    }
  }
  if (moved_outputs > 1) {
    all.push_back({suspicion::displacement, "place:all", told,
                   [every](const problem&) { return every; }, true});
  }
  return all;
}

}  // namespace zeroulp::fuzz
