// Defines the settings of a problem as text: one table of options, shared by
// the command line, replay tokens, reports and the shrinker.

#ifndef ZEROULP_FUZZ_CASES_OPTIONS_HPP_
#define ZEROULP_FUZZ_CASES_OPTIONS_HPP_

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/cases/problem.hpp"

namespace zeroulp::fuzz {

struct option {
  const char* name;
  const char* about;
  /// Throws input_error if the text is no value of this option.
  void (*read)(settings&, std::string_view);
  std::string (*write)(const settings&);
  /// Values in text, the simplest first: what a shrinker may try.
  std::vector<std::string> simplest;
};

/// Returns the option called `name`. Throws input_error.
const option& option_of(std::string_view name);

/// Sets an option of target `t`. Throws input_error if it has none such.
void set(settings& s, target t, std::string_view name, std::string_view text);

/// Returns "from=fp32,to=e4m3,...": every option of the target.
std::string to_text(const settings& s, target t);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_CASES_OPTIONS_HPP_
