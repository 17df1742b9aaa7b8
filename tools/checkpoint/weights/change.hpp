// Defines what a conversion of codes changes: `change`, summed over tiles.

#ifndef ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_CHANGE_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_CHANGE_HPP_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tools/checkpoint/weights/numbers.hpp"

namespace zeroulp::checkpoint {

/// A number that is another: where, and both as FP32 or FP64 values.
struct changed_number {
  std::uint64_t row = 0;  ///< of all matrices
  std::uint64_t col = 0;
  double before = 0;
  double after = 0;
};

struct change {
  const tensor* of = nullptr;
  std::uint64_t count = 0;   ///< numbers looked at
  std::uint64_t codes = 0;   ///< that are others
  std::uint64_t values = 0;  ///< numbers that are others
  double largest = 0;        ///< relative difference
  changed_number first;      ///< if there are such numbers
  group_shape group{};       ///< of the new scales

  bool is_exact() const { return values == 0; }
  /// The group of the first number that is another, "(2, 3)".
  std::string group_text() const;

  /// Counts a number.
  void add(const changed_number& n);
  /// Adds the change of other tiles.
  void merge(const change& other);
};

/// A change that several threads add to.
struct shared_change {
  change sum;
  std::mutex guard;
  void merge(const change& part) {
    const std::lock_guard lock(guard);
    sum.merge(part);
  }
};

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_CHANGE_HPP_
