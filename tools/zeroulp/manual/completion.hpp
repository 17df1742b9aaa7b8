// Defines shell completion as text, made of the program's commands.

#ifndef ZEROULP_TOOLS_ZEROULP_MANUAL_COMPLETION_HPP_
#define ZEROULP_TOOLS_ZEROULP_MANUAL_COMPLETION_HPP_

#include <string>
#include <string_view>

#include "tools/zeroulp/manual/tree.hpp"

namespace zeroulp::program {

/// A script for bash, zsh or fish that completes commands, options and the
/// values that tables have; files elsewhere. Throws input_error.
std::string completion_of(const shown_command& top, std::string_view shell);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_MANUAL_COMPLETION_HPP_
