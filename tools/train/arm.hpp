// Names the library's arms (zeroulp/model_arm.hpp) in this room. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_ARM_HPP_
#define ZEROULP_TOOLS_TRAIN_ARM_HPP_

#include "zeroulp/model_arm.hpp"

namespace zeroulp::train {

using zeroulp::arm;
using zeroulp::linear_rule;
using zeroulp::named_arms;
using zeroulp::parse_arm;
using zeroulp::storage;
using zeroulp::sum_rule;

/// What operands that every arm has are stored as.
namespace detail {

inline constexpr group_shape tile{1, 128};

constexpr storage plain(format f) { return zeroulp::detail::unscaled(f); }
constexpr storage fp8(format f, group_shape g) {
  return {f, true, scale_kind::float32, g};
}

}  // namespace detail

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_ARM_HPP_
