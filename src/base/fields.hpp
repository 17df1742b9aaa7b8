// Defines how a value is text by a table of its fields: a JSON object, or
// +FIELD:VALUE for each that is to be another. Internal.

#ifndef ZEROULP_SRC_BASE_FIELDS_HPP_
#define ZEROULP_SRC_BASE_FIELDS_HPP_

#include <fmt/format.h>

#include <algorithm>

#include "src/base/near_names.hpp"
#include "src/base/whole_number.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp {

/// `name` as text that lives as long as the process.
const char* kept_name(std::string name);

/// Adds the fields of a member, their names after `prefix`.
template <class T, class Member>
void add_member(std::vector<value_field<T>>& all, const std::string& prefix,
                Member T::*member,
                const std::vector<value_field<Member>>& fields) {
  for (const auto& f : fields) {
    all.push_back(
        {prefix + f.name, f.of, [=](const T& x) { return f.text(x.*member); },
         [=](T& x, std::string_view text) { f.set(x.*member, text); }});
  }
}

/// A whole number from `least` to `most`.
template <class T, class Count>
value_field<T> whole_field(const char* name, Count T::*member, Count least,
                           Count most) {
  return {name, field_kind::count,
          [=](const T& x) { return fmt::format("{}", x.*member); },
          [=](T& x, std::string_view text) {
            const auto n = whole_number<Count>(text);
            if (!n || *n < least || *n > most) {
              throw input_error(
                  fmt::format("use a whole number from {} to {}", least, most));
            }
            x.*member = *n;
          }};
}

/// Sets a field. Throws input_error that names it, its value and what is taken.
template <class T>
void set_field(T& value, const std::vector<value_field<T>>& fields,
               std::string_view name, std::string_view text) {
  for (const auto& f : fields) {
    if (f.name != name) continue;
    try {
      return f.set(value, text);
    } catch (const input_error& e) {
      throw input_error(fmt::format("{} is '{}': {}", name, text, e.what()));
    }
  }
  throw input_error(
      fmt::format("unknown field '{}': {}", name, use_one_of(name, fields)));
}

/// Sets the fields of +FIELD:VALUE+FIELD:VALUE.
template <class T>
void set_fields(T& value, const std::vector<value_field<T>>& fields,
                std::string_view changes) {
  while (!changes.empty()) {
    const auto end = std::min(changes.find('+', 1), changes.size());
    const auto change = changes.substr(1, end - 1);
    const auto colon = std::min(change.find(':'), change.size());
    set_field(value, fields, change.substr(0, colon),
              change.substr(std::min(colon + 1, change.size())));
    changes.remove_prefix(end);
  }
}

/// All fields as a JSON object without blanks: equal for equal values alone.
template <class T>
std::string fields_as_json(const T& value,
                           const std::vector<value_field<T>>& fields) {
  std::string all;
  for (const auto& f : fields) {
    const char* const quote = f.of == field_kind::word ? "\"" : "";
    all += fmt::format("{}\"{}\":{}{}{}", all.empty() ? "" : ",", f.name, quote,
                       f.text(value), quote);
  }
  return fmt::format("{{{}}}", all);
}

/// The row of that name in a table of named values.
template <class Table>
const auto& row_named(const Table& table, std::string_view what,
                      std::string_view name) {
  for (const auto& row : table) {
    if (row.name == name) return row;
  }
  throw input_error(
      fmt::format("unknown {} '{}': {}", what, name, use_one_of(name, table)));
}

}  // namespace zeroulp

#endif  // ZEROULP_SRC_BASE_FIELDS_HPP_
