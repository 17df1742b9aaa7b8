// JSON with the places of its mistakes.

#include "tools/parity/strict_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "zeroulp/io.hpp"

namespace zeroulp::parity {
namespace {

using json = nlohmann::ordered_json;

std::string place_text(std::string_view text, std::size_t byte) {
  const auto before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto start = before.rfind('\n');
  const auto column =
      before.size() - (start == std::string_view::npos ? 0 : start + 1);
  return fmt::format("line {}, column {}", line, column);
}

}  // namespace

json parse_strict(std::string_view text, int most) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int around, json::parse_event_t event, json& value) {
    using event_t = json::parse_event_t;
    const bool opens =
        event == event_t::array_start || event == event_t::object_start;
    if (opens && around >= most) throw input_error("nested too deep");
    if (event == event_t::object_start) keys.emplace_back();
    if (event == event_t::object_end) keys.pop_back();
    if (event == event_t::key) {
      const auto key = value.get<std::string>();
      if (!keys.back().insert(key).second) {
        throw input_error(fmt::format("'{}' is given twice", key));
      }
    }
    return true;
  };
  try {
    return json::parse(text, watch, true);
  } catch (const json::parse_error& e) {
    throw input_error(
        fmt::format("{}: is no JSON from here", place_text(text, e.byte)));
  }
}

}  // namespace zeroulp::parity
