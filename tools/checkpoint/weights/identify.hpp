// Defines which convention turned the numbers of one checkpoint into the codes
// and scales of another, tensor by tensor and to the bit.
//
// The format and the groups are the checkpoint's own, so every named convention
// is tried with every kind of scale: on the first tiles to find those that may
// be, then on all.

#ifndef ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_IDENTIFY_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_IDENTIFY_HPP_

#include <string>
#include <vector>

#include "tools/checkpoint/weights/diff.hpp"

namespace zeroulp::checkpoint {

/// A convention with a kind of scale, and what it does not give.
struct candidate {
  std::string name;
  scale_kind scale{};
  std::uint64_t wrong_codes = 0;
  std::uint64_t wrong_scales = 0;
  bool is_exact() const { return wrong_codes == 0 && wrong_scales == 0; }
};

struct identified {
  std::string name;
  std::string why_not;  ///< empty: it was looked at
  std::uint64_t codes = 0;
  std::uint64_t scales = 0;
  std::vector<candidate> exact;  ///< that give every bit
  candidate nearest;             ///< else; of the first tile
  std::uint64_t looked_at = 0;   ///< codes that the nearest was held against
};

/// `numbers`: BF16, FP16 or FP32 weights; `codes`: their quantization.
std::vector<identified> identify(const diff_side& numbers,
                                 const diff_side& codes,
                                 const std::string& only,
                                 const work_options& options);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_IDENTIFY_HPP_
