// What the places of differing elements have in common.

#include <fmt/format.h>

#include <algorithm>

#include "fuzz/explain/explain.hpp"

namespace zeroulp::fuzz {
namespace {

using counts = std::vector<std::ptrdiff_t>;

/// Where a count is not zero: [first, last], and how many there are.
struct extent_of_hits {
  std::ptrdiff_t first = 0;
  std::ptrdiff_t last = 0;
  std::ptrdiff_t lines = 0;
};

extent_of_hits extent(const counts& hits) {
  extent_of_hits e;
  for (std::ptrdiff_t i = 0; i < std::ssize(hits); ++i) {
    if (hits[static_cast<std::size_t>(i)] == 0) continue;
    if (e.lines++ == 0) e.first = i;
    e.last = i;
  }
  return e;
}

/// Describes lines (rows or columns) of which each has `across` elements.
void describe(const counts& hits, std::ptrdiff_t across, const char* line,
              const char* lines, std::vector<std::string>& patterns) {
  const auto length = std::ssize(hits);
  const extent_of_hits e = extent(hits);
  if (e.lines == 0 || length < 2) return;
  if (e.lines == 1) {
    patterns.push_back(fmt::format("only {} {}", line, e.first));
  } else if (e.lines <= 4) {
    std::string list;
    for (std::ptrdiff_t i = e.first; i <= e.last; ++i) {
      if (hits[static_cast<std::size_t>(i)] == 0) continue;
      list += fmt::format("{}{}", list.empty() ? "" : ", ", i);
    }
    patterns.push_back(fmt::format("only {} {}", lines, list));
  } else if (e.last - e.first + 1 < length - length / 16) {
    patterns.push_back(fmt::format("only {} {} to {}{}", lines, e.first, e.last,
                                   e.last == length - 1 ? ", the last" : ""));
  }
  const bool full = std::all_of(hits.begin(), hits.end(), [&](auto count) {
    return count == 0 || count == across;
  });
  if (full && across > 1 && e.lines < length) {
    patterns.push_back(fmt::format("whole {}", lines));
  }
  if (e.lines <= 4) return;
  // One residue, the largest period first.
  for (std::ptrdiff_t period = 256; period >= 2; period /= 2) {
    if (length < 4 * period) continue;
    std::vector<bool> seen(static_cast<std::size_t>(period));
    for (std::ptrdiff_t i = e.first; i <= e.last; ++i) {
      if (hits[static_cast<std::size_t>(i)] > 0) {
        seen[static_cast<std::size_t>(i % period)] = true;
      }
    }
    const auto residues = std::count(seen.begin(), seen.end(), true);
    // Few hits fall on few residues by chance.
    if (2 * residues > period || e.lines < 4 * residues) continue;
    if (residues == 1) {
      const auto at = std::find(seen.begin(), seen.end(), true) - seen.begin();
      patterns.push_back(
          fmt::format("only {} that are {} modulo {}", lines, at, period));
      return;
    }
    const auto first = std::find(seen.begin(), seen.end(), true);
    const auto low = first - seen.begin();
    if (std::all_of(first, first + residues, [](bool b) { return b; })) {
      patterns.push_back(fmt::format("only {} that are {} to {} modulo {}",
                                     lines, low, low + residues - 1, period));
      return;
    }
  }
}

}  // namespace

std::vector<std::string> patterns_of(const std::vector<bool>& hit,
                                     std::ptrdiff_t rows, std::ptrdiff_t cols) {
  counts by_row(static_cast<std::size_t>(rows));
  counts by_col(static_cast<std::size_t>(cols));
  std::size_t at = 0, all = 0;
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    for (std::ptrdiff_t j = 0; j < cols; ++j, ++at) {
      if (!hit[at]) continue;
      ++all;
      ++by_row[static_cast<std::size_t>(i)];
      ++by_col[static_cast<std::size_t>(j)];
    }
  }
  if (all == 0) return {};
  if (all == hit.size()) return {"all elements"};
  std::vector<std::string> patterns;
  describe(by_row, cols, "row", "rows", patterns);
  describe(by_col, rows, "column", "columns", patterns);
  return patterns;
}

}  // namespace zeroulp::fuzz
