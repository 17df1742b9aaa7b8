// Defines the tables of tensors that stand in SPEC_TRAINING.md: `zeroulp
// tensors
// --markdown` prints them, a test holds the SPEC against them. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_SPEC_TABLES_HPP_
#define ZEROULP_TOOLS_TRAIN_SPEC_TABLES_HPP_

#include <string>

#include "tools/train/arm.hpp"

namespace zeroulp::train {

/// "e4m3", "1x128", "pow2"; of what has no scales, "-".
std::string group_text(const storage& s);
std::string scale_text(const storage& s);

/// The table of `full`, and the tensors that other arms store otherwise.
std::string tensor_tables();

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_SPEC_TABLES_HPP_
