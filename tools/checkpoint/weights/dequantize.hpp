// Defines the conversion of quantized weights to BF16, FP16 or FP32, by one
// rounding or two (numbers.hpp).

#ifndef ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_DEQUANTIZE_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_DEQUANTIZE_HPP_

#include <functional>
#include <mutex>
#include <string>

#include "tools/checkpoint/weights/convert.hpp"

namespace zeroulp::checkpoint {

struct dequantize_request {
  element to = element::bf16;
  reading how;
  std::string only;  ///< an expression that names of weights match; "": all
};

/// Numbers that became NaN, of codes that are none.
struct nan_count {
  std::uint64_t numbers = 0;
  std::string first;  ///< a weight that has some
  std::mutex guard;
};

/// Whether the weight is one of a request with this `only`. Throws input_error
/// where that is no expression.
std::function<bool(const std::string& weight)> matcher(const std::string& only,
                                                       const char* option);

/// Refers to its arguments.
conversion dequantization(const checkpoint& c, const pairs& p,
                          const dequantize_request& q, nan_count& nans);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_DEQUANTIZE_HPP_
