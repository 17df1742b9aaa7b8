// Defines what an error about an unknown name says of those that there are.

#ifndef ZEROULP_SRC_BASE_NEAR_NAMES_HPP_
#define ZEROULP_SRC_BASE_NEAR_NAMES_HPP_

#include <string>
#include <string_view>
#include <vector>

namespace zeroulp {

/// "did you mean 'a' or 'b'? ", or nothing if none is near: at most a character
/// in four is added, left out, another, or exchanged with its neighbour;
/// capital letters are those of any size, and - is _.
std::string did_you_mean(std::string_view text,
                         const std::vector<std::string_view>& known);

/// "did you mean 'a'? use one of a, b, c".
std::string use_one_of(std::string_view text,
                       const std::vector<std::string_view>& known);

/// The names of a table's rows.
template <class Table>
std::vector<std::string_view> names_in(const Table& table) {
  std::vector<std::string_view> known;
  for (const auto& row : table) known.push_back(row.name);
  return known;
}

template <class Table>
std::string use_one_of(std::string_view text, const Table& table) {
  return use_one_of(text, names_in(table));
}

}  // namespace zeroulp

#endif  // ZEROULP_SRC_BASE_NEAR_NAMES_HPP_
