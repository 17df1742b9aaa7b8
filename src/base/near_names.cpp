#include "src/base/near_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

namespace zeroulp {
namespace {

std::string plain(std::string_view text) {
  std::string all(text);
  for (char& c : all) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  return all;
}

/// How many characters to add, to leave out, to replace, or pairs of neighbours
/// to exchange (none of them twice).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view text,
                         const std::vector<std::string_view>& known) {
  const std::string given = plain(text.substr(0, 64));
  std::size_t least = std::max<std::size_t>(given.size() / 4, 1);
  if (given.size() < 2) return "";
  std::vector<std::string_view> near;
  for (const auto name : known) {
    const std::size_t d = distance(given, plain(name));
    if (d > least) continue;
    if (d < least) near.clear();
    least = d;
    near.push_back(name);
  }
  if (near.empty() || near.size() > 3) return "";
  return fmt::format("did you mean '{}'? ", fmt::join(near, "' or '"));
}

std::string use_one_of(std::string_view text,
                       const std::vector<std::string_view>& known) {
  return fmt::format("{}use one of {}", did_you_mean(text, known),
                     fmt::join(known, ", "));
}

}  // namespace zeroulp
