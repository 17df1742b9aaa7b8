// Defines digests of tensors: of their bytes, and of their numbers, which are
// the same whatever the shards and the format.
//
//   values = SHA-256("zeroulp values 1\n" SHAPE "\n" FP32 numbers, little
//            endian, row-major; NaN as 7fffffff)
//
// A quantized weight's numbers are fl32(code * scale). Tensors that FP32 does
// not hold (integers, F64) have their type and bytes instead of numbers.

#ifndef ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_HASH_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_HASH_HPP_

#include <string>
#include <vector>

#include "tools/checkpoint/weights/numbers.hpp"
#include "tools/checkpoint/weights/work.hpp"

namespace zeroulp::checkpoint {

struct tensor_hash {
  const tensor* of = nullptr;
  std::string bytes;
  std::string values;  ///< empty: a scale, whose weight has it
};

/// The name of the numbers: that of the weight, without what says how its
/// codes are stored.
std::string value_name(const tensor& t, const quantized* q);

/// A hash for each tensor, in the order of their names.
std::vector<tensor_hash> hash_tensors(const checkpoint& c, const pairs& p,
                                      const work_options& options);

/// The SHA-256 of lines "HASH NAME" of all tensors: of bytes, or of values.
std::string total_of(const checkpoint& c, const pairs& p,
                     const std::vector<tensor_hash>& hashes, bool values);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_HASH_HPP_
