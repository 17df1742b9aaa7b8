// Defines how a failure of a check looks: a map of where an output differs, and
// the bits of the first element that does.

#ifndef ZEROULP_TOOLS_ZEROULP_CONFORM_PICTURE_HPP_
#define ZEROULP_TOOLS_ZEROULP_CONFORM_PICTURE_HPP_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz/cases/problem.hpp"
#include "tools/study/report/report.hpp"

namespace zeroulp::program {

struct failure_picture {
  std::optional<shown_map> map;
  std::string map_caption;
  shown_bits bits;
  std::string bits_caption;
};

/// The first output of a case in which two results differ. `names` are those of
/// the sides, what is right first. Nothing where they do not differ, or where
/// the call failed.
std::optional<failure_picture> picture_of(
    const fuzz::outputs& right, const fuzz::outputs& got,
    const std::pair<std::string, std::string>& names);

/// The two words that a check's text of its first failure holds against each
/// other, such as "got 7e, expected 7d", "0x7e, not 0x7d", "device 1, host 2".
/// A check gives no more than its text. Nothing where the words are not surely
/// hexadecimal.
std::optional<failure_picture> picture_of(std::string_view first_failure);

/// Pictures of failures by the names of checks: checks with more to show than a
/// verdict holds add to it.
using picture_album = std::map<std::string, failure_picture>;

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_CONFORM_PICTURE_HPP_
