// Defines the settings of a problem as a user writes them: "name=value,...".

#ifndef ZEROULP_FUZZ_EXPLAIN_SETTINGS_TEXT_HPP_
#define ZEROULP_FUZZ_EXPLAIN_SETTINGS_TEXT_HPP_

#include <fmt/format.h>

#include <string_view>

#include "fuzz/cases/problem.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {

/// Calls `use` for each part of a list with commas.
template <class Use>
void for_each_part(std::string_view rest, Use use) {
  while (!rest.empty()) {
    const auto end = rest.find(',');
    use(rest.substr(0, end));
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  }
}

/// Calls `use(name, value)` for each setting. Throws input_error.
template <class Use>
void for_each_setting(std::string_view text, Use use) {
  for_each_part(text, [&use](std::string_view one) {
    const auto equals = one.find('=');
    if (equals == std::string_view::npos) {
      throw input_error(fmt::format("settings: '{}': use name=value", one));
    }
    use(one.substr(0, equals), one.substr(equals + 1));
  });
}

/// The settings of a claim: the usual ones (BF16 into E4M3 by tiles of 1x128,
/// deepgemm.1d2d), changed by `text`. recipe=NAME of a gemm comes before its
/// other settings. Throws input_error.
settings settings_of(target t, std::string_view text);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_EXPLAIN_SETTINGS_TEXT_HPP_
