// Defines `parse_strict`: JSON that a person wrote, where a mistake has a place
// and a key that is given twice is one. Internal.

#ifndef ZEROULP_TOOLS_PARITY_STRICT_JSON_HPP_
#define ZEROULP_TOOLS_PARITY_STRICT_JSON_HPP_

#include <nlohmann/json.hpp>
#include <string_view>

namespace zeroulp::parity {

/// Throws input_error: no JSON, with line and column; a key twice; more than
/// `most` levels.
nlohmann::ordered_json parse_strict(std::string_view text, int most);

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_PARITY_STRICT_JSON_HPP_
