// Defines how JSON from outside is parsed: no deeper than a limit, since
// copies, comparisons and texts of a value recurse. Internal.

#ifndef ZEROULP_SRC_BASE_JSON_LEVELS_HPP_
#define ZEROULP_SRC_BASE_JSON_LEVELS_HPP_

#include <string_view>

namespace zeroulp {

/// The value of `text`, of a type of nlohmann's; discarded if it is no JSON.
/// Calls refuse(), which throws, where arrays and objects nest in more than
/// `most` levels.
template <class Json, class Refuse>
Json parse_json_to(std::string_view text, int most, const Refuse& refuse) {
  const auto limit = [&](int around, typename Json::parse_event_t event,
                         Json&) {
    using event_t = typename Json::parse_event_t;
    const bool opens =
        event == event_t::array_start || event == event_t::object_start;
    if (opens && around >= most) refuse();
    return true;
  };
  return Json::parse(text, limit, false);
}

}  // namespace zeroulp

#endif  // ZEROULP_SRC_BASE_JSON_LEVELS_HPP_
