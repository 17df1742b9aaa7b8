// Names the library's arms (zeroulp/model_arm.hpp) in this room. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_ARM_HPP_
#define ZEROULP_TOOLS_TRAIN_ARM_HPP_

#include "zeroulp/model_arm.hpp"

namespace zeroulp::train {

using zeroulp::arm;
using zeroulp::linear_rule;
using zeroulp::named_arms;
using zeroulp::storage;
using zeroulp::sum_rule;

/// What the loss study's arms are made of.
namespace detail {

inline constexpr group_shape tile{1, 128};
inline constexpr group_shape block{128, 128};
inline constexpr group_shape tensor{0, 0};

constexpr storage plain(format f) { return zeroulp::detail::unscaled(f); }
constexpr storage fp8(format f, group_shape g) {
  return {f, true, scale_kind::float32, g};
}
constexpr storage cache(format f) { return zeroulp::detail::cache_in(f); }

}  // namespace detail

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_ARM_HPP_
