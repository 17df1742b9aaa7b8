#include "ignored.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

/// By difference_class.
constexpr const char* names[] = {"values", "nan", "nan-bits", "zero-sign"};
static_assert(std::size(names) == difference_classes);

constexpr const char* known =
    "values, nan (NaN against a number), nan-bits (NaNs of other bits), "
    "zero-sign";

}  // namespace

const char* name_of(difference_class c) {
  return names[static_cast<std::size_t>(c)];
}

difference_class parse_difference(std::string_view name) {
  for (std::size_t i = 0; i < difference_classes; ++i) {
    if (name == names[i]) return static_cast<difference_class>(i);
  }
  throw input_error(
      fmt::format("unknown class of differences '{}': use {}", name, known));
}

void add_ignore(CLI::App* command, std::vector<std::string>& list) {
  command
      ->add_option(
          "--ignore", list,
          fmt::format("differences that do not count, some of {}", known))
      ->delimiter(',')
      ->take_all()
      ->type_name("CLASS")
      ->expected(1)
      ->allow_extra_args(false);
}

difference_set parse_ignored(const std::vector<std::string>& list) {
  difference_set set;
  for (const auto& name : list) {
    try {
      set.set(static_cast<std::size_t>(parse_difference(name)));
    } catch (const input_error& e) {
      throw input_error(fmt::format("--ignore: {}", e.what()));
    }
  }
  if (set.all()) {
    throw input_error(
        "--ignore: every class is ignored: nothing would be compared");
  }
  return set;
}

std::string to_text(const difference_set& set) {
  std::string text;
  for (std::size_t i = 0; i < difference_classes; ++i) {
    if (set[i]) text += fmt::format("{}{}", text.empty() ? "" : ",", names[i]);
  }
  return text;
}

}  // namespace zeroulp::program
