// Defines the families of quantized checkpoints as a table: how the scale of a
// weight is called, what both hold, and what groups share a scale.
//
//   value = code * scale                   one scale
//   value = code * (scale OP second)       two, OP is * or /
//
// A new family is a row. Source: configs and files of DeepSeek-V3 and V4,
// compressed-tensors, ModelOpt, gpt-oss, ComfyUI.

#ifndef ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_FAMILIES_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_FAMILIES_HPP_

#include <span>

#include "tools/checkpoint/files/element.hpp"
#include "zeroulp/core/scale.hpp"

namespace zeroulp::checkpoint {

/// How codes lie in the weight's elements.
enum class packing : std::uint8_t {
  none,    ///< a code an element
  pairs,   ///< two E2M1 codes a byte, the first in the low half
  blocks,  ///< the same; the last two dimensions are blocks and their bytes
};

enum class second_use : std::uint8_t { none, multiply, divide };

struct family_row {
  const char* name;
  const char* weight;  ///< ending of the weight's name, which is replaced ...
  const char* scale;   ///< ... by this one
  element_set weights;
  element_set scales;
  group_shape group;  ///< {-1, -1}: as declared, or by the scale's rank
  packing packed = packing::none;
  const char* second = "";  ///< ending of the second scale's name
  second_use use = second_use::none;
  /// A tensor of this ending and these types that has no weight is a fault.
  element_set lonely = {};

  bool is_declared() const { return group.rows < 0; }
};

/// All rows; of those that fit a weight and its scale the first is taken.
std::span<const family_row> families();

/// Types of weights that are codes: one of them without a scale is unscaled.
inline constexpr element_set fp8_types = {element::f8_e4m3, element::f8_e5m2,
                                          element::f8_e4m3fnuz,
                                          element::f8_e5m2fnuz};
inline constexpr element_set fp4_types = {element::u8, element::i8,
                                          element::f4};

/// Whether a tensor of this name is a scale of something else than a weight:
/// activations, caches.
bool is_companion(std::string_view name);

/// What the elements of a scale are: bytes are exponents.
format scale_format(element type);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_FAMILIES_HPP_
