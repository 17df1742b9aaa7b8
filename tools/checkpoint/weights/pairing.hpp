// Defines how the weights of a checkpoint find their scales, by the table of
// families, and what is wrong where they do not.

#ifndef ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_PAIRING_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_PAIRING_HPP_

#include <algorithm>
#include <vector>

#include "tools/checkpoint/files/checkpoint.hpp"
#include "tools/checkpoint/weights/families.hpp"

namespace zeroulp::checkpoint {

/// A weight of codes with its scales: `outer` matrices of rows x cols numbers,
/// each with the scales of ceil(rows / height) x ceil(cols / width) groups.
struct quantized {
  const tensor* weight = nullptr;
  const tensor* scale = nullptr;   ///< null: unscaled codes
  const tensor* second = nullptr;  ///< of two scales
  const family_row* family = nullptr;
  format code{};
  packing packed = packing::none;
  group_shape group{};
  std::uint64_t outer = 1;
  std::uint64_t rows = 1;
  std::uint64_t cols = 1;
  shape_t shape;  ///< of the numbers

  std::uint64_t height() const {
    return group.rows > 0 ? static_cast<std::uint64_t>(group.rows)
                          : std::max<std::uint64_t>(rows, 1);
  }
  std::uint64_t width() const {
    return group.cols > 0 ? static_cast<std::uint64_t>(group.cols)
                          : std::max<std::uint64_t>(cols, 1);
  }
  std::uint64_t grid_rows() const { return (rows + height() - 1) / height(); }
  std::uint64_t grid_cols() const { return (cols + width() - 1) / width(); }
  std::uint64_t count() const { return outer * rows * cols; }
};

struct pairs {
  std::vector<quantized> weights;  ///< in the order of the checkpoint's tensors
  std::vector<fault> faults;
  /// For each tensor of the checkpoint: of which weight it is a scale, or -1.
  std::vector<std::ptrdiff_t> scale_of;
  /// For each tensor: which weight it is, or -1.
  std::vector<std::ptrdiff_t> weight_at;
};

/// Pairs all that there is. `allow_unscaled`: FP8 without a scale is a cast.
pairs pair_scales(const checkpoint& c, bool allow_unscaled);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_PAIRING_HPP_
