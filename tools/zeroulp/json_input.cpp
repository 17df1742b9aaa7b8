#include "tools/zeroulp/json_input.hpp"

#include <fmt/format.h>

namespace zeroulp::program {

json parse_json(std::string_view text) {
  const auto limit_depth = [](int around, json::parse_event_t event, json&) {
    const bool opens = event == json::parse_event_t::array_start ||
                       event == json::parse_event_t::object_start;
    if (opens && around >= most_json_levels) {
      throw input_error(fmt::format("is JSON nested deeper than {} levels",
                                    most_json_levels));
    }
    return true;
  };
  json value = json::parse(text, limit_depth, false);
  if (value.is_discarded()) throw input_error("is no JSON");
  return value;
}

json read_json(const std::filesystem::path& file, std::string_view remedy) {
  const auto bytes = read_file(file);
  try {
    return parse_json(as_text(bytes));
  } catch (const input_error& e) {
    throw input_error(
        fmt::format("{}: {}: {}", file.string(), e.what(), remedy));
  }
}

}  // namespace zeroulp::program
