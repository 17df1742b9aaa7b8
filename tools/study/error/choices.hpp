// Defines how a setting that is one of a few, or a number, is read and named.
// Internal.

#ifndef ZEROULP_TOOLS_STUDY_ERROR_CHOICES_HPP_
#define ZEROULP_TOOLS_STUDY_ERROR_CHOICES_HPP_

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>

#include "src/base/near_names.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::study {

template <class T>
struct choice {
  const char* name;
  T value;
};

template <class T, std::size_t N>
std::string name_in(const choice<T> (&table)[N], T value) {
  for (const auto& row : table) {
    if (row.value == value) return row.name;
  }
  return "?";
}

template <class T, std::size_t N>
T find(const choice<T> (&table)[N], std::string_view text) {
  for (const auto& row : table) {
    if (row.name == text) return row.value;
  }
  throw input_error(fmt::format("'{}': {}", text, use_one_of(text, table)));
}

/// The row of this name; errors call it a `what`.
template <class Table>
const auto& find_named(const Table& table, const char* what,
                       std::string_view name) {
  for (const auto& row : table) {
    if (row.name == name) return row;
  }
  throw input_error(
      fmt::format("{} '{}': {}", what, name, use_one_of(name, table)));
}

template <class T>
T number(std::string_view text, T low, T high) {
  T value{};
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(value >= low && value <= high)) {
    throw input_error(
        fmt::format("'{}': use a number from {} to {}", text, low, high));
  }
  return value;
}

}  // namespace zeroulp::study

#endif  // ZEROULP_TOOLS_STUDY_ERROR_CHOICES_HPP_
