// Defines what a run is trained on: bytes of a corpus, or a source of known
// entropy. A batch is a function of (data, seed, index). SPEC N24. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_DATA_HPP_
#define ZEROULP_TOOLS_TRAIN_DATA_HPP_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tools/train/shape.hpp"
#include "tools/train/source.hpp"

namespace zeroulp::train {

class training_data {
 public:
  /// A source over the shape's vocabulary.
  explicit training_data(const model_shape& s, std::uint64_t seed = 1);
  /// The bytes of a file. Throws input_error if it cannot be read or has too
  /// few for a step and for what is held out.
  training_data(const std::string& file, const model_shape& s,
                std::uint64_t seed);

  /// The same source or bytes as batches of another shape and seed. Throws
  /// input_error if a step has too few bytes.
  training_data with(const model_shape& s, std::uint64_t seed) const;

  /// The batch of step `index`, from 0.
  batch training(std::int64_t index) const;
  /// Batch `index` of what no step sees.
  batch held_out(std::int64_t index) const;
  /// Which data these are: in a run's settings.
  const std::string& name() const { return name_; }
  /// The source; null if these are the bytes of a file.
  const source* known() const { return source_ ? &*source_ : nullptr; }

 private:
  /// Of the bytes: what is held out, and the order of windows.
  void divide(std::uint64_t seed);
  batch windows(std::uint64_t first, std::uint64_t bytes_from,
                std::uint64_t count, bool permuted) const;

  model_shape shape_;
  std::string name_;
  std::string file_;  ///< in errors
  std::optional<source> source_;
  std::shared_ptr<const std::string> bytes_;
  std::uint64_t held_from_ = 0;  ///< the first byte that is held out
  std::uint64_t a_ = 1;          ///< window k is at (a k + c) mod their number
  std::uint64_t c_ = 0;
};

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_DATA_HPP_
