// Defines the quantization of a checkpoint's weights: of numbers, or of weights
// in other groups and formats, by a convention; and the proof, number by
// number, of what it changes.

#ifndef ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_REQUANTIZE_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_REQUANTIZE_HPP_

#include <memory>
#include <vector>

#include "tools/checkpoint/weights/change.hpp"
#include "tools/checkpoint/weights/convert.hpp"

namespace zeroulp::checkpoint {

struct requantize_request {
  element to = element::f8_e4m3;
  group_shape group{128, 128};
  scale_kind scale = scale_kind::float32;
  named_convention how{};
  const family_row* family = nullptr;  ///< that says how scales are called
  element scales = element::f32;       ///< or f8_e8m0, of powers of two
  std::string only;
  std::string except;
  bool except_codes = true;  ///< false: `except` is of numbers alone
  reading read;
};

/// Names of weights that stay numbers, unless asked for otherwise.
inline constexpr const char* usually_kept =
    "embed|lm_head|norm|router|[.]gate[.]weight$|(^|[.])head[.]weight$";

/// A weight that is quantized.
struct requantized {
  const tensor* from = nullptr;
  const quantized* q = nullptr;  ///< what it was; null: numbers
  quantizer rule{};
  std::string name;
  std::string scale_name;
  shape_t shape;
  shape_t grid;  ///< shape of the scales
  std::uint64_t outer = 1;
  std::uint64_t rows = 1;
  std::uint64_t cols = 1;
  std::shared_ptr<shared_change> changes;
};

/// The weights of a request. Throws input_error where one cannot be quantized,
/// or there is none.
std::vector<requantized> requantized_of(const checkpoint& c, const pairs& p,
                                        const requantize_request& q);

/// Quantizes without writing: what changes.
void prove(const checkpoint& c, const requantize_request& q,
           const std::vector<requantized>& weights,
           const work_options& options);

/// Refers to its arguments.
conversion requantization(const checkpoint& c, const pairs& p,
                          const requantize_request& q,
                          const std::vector<requantized>& weights,
                          const work_options& options);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_REQUANTIZE_HPP_
