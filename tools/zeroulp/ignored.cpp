#include "tools/zeroulp/ignored.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/near_names.hpp"
#include "tools/zeroulp/cli.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

constexpr const char* ignorable_kinds =
    "values, nan (NaN against a number), nan-bits (NaNs of other bits), "
    "zero-sign";

/// Its index. Throws input_error.
std::size_t parse_class(std::string_view name) {
  for (std::size_t i = 0; i < difference_classes; ++i) {
    if (name == difference_names[i]) return i;
  }
  throw input_error(fmt::format(
      "--ignore: unknown class of differences '{}': {}use {}", name,
      did_you_mean(name, {difference_names.begin(), difference_names.end()}),
      ignorable_kinds));
}

}  // namespace

void add_ignore(cli::app* command, std::vector<std::string>& list) {
  command
      ->add_option("--ignore", list,
                   fmt::format("differences that do not count, some of {}",
                               ignorable_kinds))
      ->take_all()
      ->type_name("CLASS")
      ->expected(1)
      ->allow_extra_args(false);
}

difference_set parse_ignored(const std::vector<std::string>& lists) {
  difference_set set;
  for (const auto& list : lists) {
    for (std::size_t at = 0; at <= list.size();) {
      const auto end = std::min(list.find(',', at), list.size());
      set.set(parse_class(std::string_view(list).substr(at, end - at)));
      at = end + 1;
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
    if (set[i])
      text += fmt::format("{}{}", text.empty() ? "" : ",", difference_names[i]);
  }
  return text;
}

}  // namespace zeroulp::program
