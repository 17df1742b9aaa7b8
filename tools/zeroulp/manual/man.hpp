// Defines man pages, troff of the macros `man`, made of the program's commands.

#ifndef ZEROULP_TOOLS_ZEROULP_MANUAL_MAN_HPP_
#define ZEROULP_TOOLS_ZEROULP_MANUAL_MAN_HPP_

#include <string>

#include "tools/zeroulp/manual/tree.hpp"

namespace zeroulp::program {

/// "zeroulp-fuzz-quantize", the name of the page of a command.
std::string page_name_of(const shown_command& c);

/// The page of a command. The same command has the same page: no dates.
std::string man_page_of(const shown_command& c, const std::string& version);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_MANUAL_MAN_HPP_
