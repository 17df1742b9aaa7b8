#include "tools/zeroulp/json_input.hpp"

#include <fmt/format.h>

#include "src/base/json_levels.hpp"

namespace zeroulp::program {

json parse_json(std::string_view text) {
  const json value = parse_json_to<json>(text, most_json_levels, [] {
    throw input_error(
        fmt::format("is JSON nested deeper than {} levels", most_json_levels));
  });
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
