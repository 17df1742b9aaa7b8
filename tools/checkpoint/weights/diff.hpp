// Defines the comparison of two checkpoints, tensor by tensor: bytes, numbers,
// and whether one is the other's numbers by a rule of rounding.

#ifndef ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_DIFF_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_DIFF_HPP_

#include <optional>
#include <string>
#include <vector>

#include "tools/checkpoint/weights/change.hpp"
#include "tools/checkpoint/weights/work.hpp"

namespace zeroulp::checkpoint {

enum class likeness : std::uint8_t {
  same_bytes,   ///< those of its scales, too
  same_values,  ///< fl32(code * scale), or the numbers themselves
  by_rule,      ///< one is the other's numbers, rounded by a named rule
  different,
  only_in_a,
  only_in_b,
  other_shape,
};
const char* name_of(likeness l);

struct tensor_diff {
  std::string name;
  likeness like = likeness::same_bytes;
  std::string rule;  ///< by which rule
  std::string a;     ///< types, for a person
  std::string b;
  std::uint64_t count = 0;
  std::uint64_t different = 0;
  std::uint64_t max_ulps = 0;  ///< of `unit`; NaN against a number is none
  std::uint64_t nans = 0;      ///< NaN against a number
  std::string unit;            ///< the format whose ulps these are
  changed_number first;
  double largest = 0;  ///< relative difference

  bool is_same() const {
    return like == likeness::same_bytes || like == likeness::same_values ||
           like == likeness::by_rule;
  }
};

/// A side of the comparison.
struct diff_side {
  const checkpoint& files;
  const pairs& scales;
};

/// All tensors by name; scales belong to their weights.
std::vector<tensor_diff> diff(const diff_side& a, const diff_side& b,
                              const work_options& options);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_DIFF_HPP_
