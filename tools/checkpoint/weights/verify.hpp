// Defines what a checkpoint's numbers are held against: `verify`.
//
//   scales    positive, finite; powers of two where the config says ue8m0
//   codes     no NaN
//   sizes     mean |w| within a factor of 64 of that of its neighbours: a lost
//             scale is 200 to 3,000 times off
//
// Also the share of groups whose amax reaches the format's largest number: all
// do after amax / max in FP32, few do under powers of two.

#ifndef ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_VERIFY_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_VERIFY_HPP_

#include <string>
#include <vector>

#include "tools/checkpoint/weights/numbers.hpp"
#include "tools/checkpoint/weights/work.hpp"

namespace zeroulp::checkpoint {

/// What is wrong with the scales of all weights: a fault a tensor. Reads scales
/// alone.
std::vector<fault> check_scales(const checkpoint& c, const pairs& p);

/// What a weight's numbers say.
struct weight_facts {
  const tensor* of = nullptr;
  const quantized* q = nullptr;  ///< null: not quantized
  std::uint64_t groups = 0;
  std::uint64_t full_groups = 0;  ///< whose amax reaches the format's largest
  double mean = 0;                ///< of |w|
};

struct verification {
  std::vector<fault> faults;
  std::vector<weight_facts> weights;
  std::uint64_t tensors = 0;
};

/// Checks everything. The faults of `p` come first. Throws input_error where a
/// file cannot be read.
verification verify(const checkpoint& c, const pairs& p,
                    const work_options& options);

/// One line on what the shares of full groups say, or nothing.
std::string fingerprint(const verification& v);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_VERIFY_HPP_
