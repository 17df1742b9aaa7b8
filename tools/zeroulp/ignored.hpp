// Defines --ignore of `compare` and `fuzz`: classes of differences that do not
// count, by name.

#ifndef ZEROULP_TOOLS_ZEROULP_IGNORED_HPP_
#define ZEROULP_TOOLS_ZEROULP_IGNORED_HPP_

#include <string>
#include <vector>

#include "zeroulp/metrics.hpp"

namespace zeroulp::cli {
class app;
}

namespace zeroulp::program {

inline bool contains(const difference_set& set, difference_class c) {
  return set[static_cast<std::size_t>(c)];
}

/// Adds --ignore: a class, several between commas, or the option again.
void add_ignore(cli::app* command, std::vector<std::string>& names);
/// Each is some classes between commas. Throws input_error, also where nothing
/// would be left to compare.
difference_set parse_ignored(const std::vector<std::string>& names);
/// "nan-bits,zero-sign": the names in order, each once; "" of none.
std::string to_text(const difference_set& set);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_IGNORED_HPP_
