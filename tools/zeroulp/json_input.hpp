// Defines how JSON is read: by one function, which limits how deep values nest,
// since copies, comparisons and texts of a value recurse.

#ifndef ZEROULP_TOOLS_ZEROULP_JSON_INPUT_HPP_
#define ZEROULP_TOOLS_ZEROULP_JSON_INPUT_HPP_

#include <filesystem>
#include <string_view>

#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

/// Levels of arrays and objects; what the program writes has less than ten.
inline constexpr int most_json_levels = 64;

/// The value of `text`. Throws input_error: no JSON, or more levels.
json parse_json(std::string_view text);

/// The value in a file. Throws input_error that names it and says `remedy`.
json read_json(const std::filesystem::path& file, std::string_view remedy);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_JSON_INPUT_HPP_
