// Defines how `train` and `tensors` take the name of a size or of an arm.

#ifndef ZEROULP_TOOLS_ZEROULP_TRAIN_NAMES_HPP_
#define ZEROULP_TOOLS_ZEROULP_TRAIN_NAMES_HPP_

#include <fmt/format.h>

#include <string>

#include "src/base/near_names.hpp"
#include "tools/train/arm.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {

template <class Rows>
std::string names_of(const Rows& rows) {
  return fmt::format("{}", fmt::join(names_in(rows), ", "));
}

/// The row of that name. Throws input_error, which says what there is.
template <class Rows>
const auto& row_named(const Rows& rows, const std::string& name,
                      const char* what) {
  for (const auto& row : rows) {
    if (name == row.name) return row;
  }
  throw input_error(
      fmt::format("{} '{}': there are {}", what, name, names_of(rows)));
}

inline std::string arm_names() { return names_of(train::named_arms); }

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_TRAIN_NAMES_HPP_
