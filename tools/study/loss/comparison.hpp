// Defines `comparison`: an arm beside another one, as text.
//
//   ARM              beside BF16
//   ARM/ARM          beside the other
//
// where an ARM is a named one, or NAME+FIELD:VALUE (zeroulp/model_arm.hpp).
// Internal.

#ifndef ZEROULP_TOOLS_STUDY_LOSS_COMPARISON_HPP_
#define ZEROULP_TOOLS_STUDY_LOSS_COMPARISON_HPP_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/train/arm.hpp"

namespace zeroulp::loss {

using train::arm;
using train::parse_arm;

/// What the others are compared with.
inline constexpr const char* bf16_name = "bf16";

struct comparison {
  std::string name;  ///< the text
  std::string arm;
  std::string base;
};
/// Throws input_error.
comparison parse_comparison(std::string_view text);

/// The arms that some comparisons need, by name; BF16 is always among them.
std::map<std::string, arm> arms_of(const std::vector<comparison>& all);

}  // namespace zeroulp::loss

#endif  // ZEROULP_TOOLS_STUDY_LOSS_COMPARISON_HPP_
