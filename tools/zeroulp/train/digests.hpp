// Defines the digests of a run's tensors, a line each: written to a CSV, or
// held against one.

#ifndef ZEROULP_TOOLS_ZEROULP_TRAIN_DIGESTS_HPP_
#define ZEROULP_TOOLS_ZEROULP_TRAIN_DIGESTS_HPP_

#include <string>
#include <vector>

#include "tools/train/step.hpp"

namespace zeroulp::program {

/// A run that goes on keeps the lines of the steps that were done, and compares
/// those that follow.
class tensor_digests {
 public:
  /// `file`: of --digests; `compared`: of --compare; either may be empty.
  /// `done`: steps before those that follow. Throws input_error.
  tensor_digests(std::string file, std::string compared, std::int64_t done);

  /// For a step; empty if nothing is wanted.
  train::tracer of(std::int64_t step);
  void write() const;
  /// Says what was compared; returns the exit status.
  int report() const;

 private:
  void compare(const std::string& line);

  std::string file_;
  std::string compared_;
  std::vector<std::string> expected_;
  std::string lines_;
  std::size_t count_ = 0;
  std::string difference_;
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_TRAIN_DIGESTS_HPP_
