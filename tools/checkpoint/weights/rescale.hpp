// Defines the change of FP32 scales to powers of two, and what it changes.
//
//   s' = 2^ceil(log2(s)),  code' = encode(code * s / s'), one rounding
//
// code * s / s' is exact: s / s' is, as s' is a power of two.

#ifndef ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_RESCALE_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_RESCALE_HPP_

#include <memory>
#include <string>
#include <vector>

#include "tools/checkpoint/weights/change.hpp"
#include "tools/checkpoint/weights/convert.hpp"

namespace zeroulp::checkpoint {

struct rescaled {
  const quantized* q = nullptr;
  std::shared_ptr<shared_change> changes;
};

/// The weights of codes in bytes with a scale of FP32, BF16 or FP16. Throws
/// input_error if there is none.
std::vector<rescaled> rescaled_of(const checkpoint& c, const pairs& p,
                                  const std::string& only);

/// What would change.
void prove(const checkpoint& c, const std::vector<rescaled>& weights,
           const work_options& options);

/// `scales`: f32 or f8_e8m0. Refers to its arguments.
conversion rescaling(const checkpoint& c, const std::vector<rescaled>& weights,
                     element scales, const std::string& only);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_RESCALE_HPP_
