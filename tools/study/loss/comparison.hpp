// Defines `comparison`: an arm beside another one, as text.
//
//   ARM              beside BF16
//   ARM/ARM          beside the other
//
// where an ARM is one of arm.hpp by its name, or changed by fields:
//
//   per_tensor+fraction_bits:10+interval:0
//
//   fraction_bits:N   Hopper's FP8 accumulator with N fraction bits, 8 to 34
//   interval:N        elements of K between promotions; 0: none
//   splits:N          of K
//
// Internal.

#ifndef ZEROULP_TOOLS_STUDY_LOSS_COMPARISON_HPP_
#define ZEROULP_TOOLS_STUDY_LOSS_COMPARISON_HPP_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/study/loss/arm.hpp"

namespace zeroulp::loss {

/// Throws input_error.
arm parse_arm(std::string_view text);

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
