#include "tools/train/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "src/base/sha256.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::train {
namespace {

constexpr std::uint64_t most_held = 4 << 20;
/// Batches of the source from here on are held out.
constexpr std::uint64_t held_batches = std::uint64_t{1} << 40;

/// The windows in so many bytes: each needs one byte more than its length.
std::uint64_t windows_in(std::uint64_t bytes, const model_shape& s) {
  return bytes == 0 ? 0 : (bytes - 1) / static_cast<std::uint64_t>(s.length);
}

}  // namespace

training_data::training_data(const model_shape& s, std::uint64_t seed)
    : shape_(s),
      name_(seed == 1 ? "source" : fmt::format("source:{}", seed)),
      source_(source{}) {
  source_->vocabulary = static_cast<int>(s.vocabulary);
  source_->seed = seed;
}

training_data::training_data(const std::string& file, const model_shape& s,
                             std::uint64_t seed)
    : shape_(s), file_(file) {
  const auto bytes = read_file(file);
  bytes_ = std::make_shared<const std::string>(as_text(bytes));
  divide(seed);
  name_ = "sha256:" + sha256_hex(*bytes_);
}

training_data training_data::with(const model_shape& s,
                                  std::uint64_t seed) const {
  if (source_) return training_data(s, seed);
  training_data other = *this;
  other.shape_ = s;
  other.divide(seed);
  return other;
}

void training_data::divide(std::uint64_t seed) {
  const std::uint64_t held = std::min(most_held, bytes_->size() / 8);
  held_from_ = bytes_->size() - held;
  const auto length = static_cast<std::uint64_t>(shape_.length);
  const std::uint64_t count = windows_in(held_from_, shape_);
  const auto needed = static_cast<std::uint64_t>(shape_.sequences);
  if (count < needed || held < length + 1) {
    throw input_error(fmt::format(
        "{}: {} bytes; a step takes {} windows of {}, and an eighth is held "
        "out",
        file_, bytes_->size(), needed, length + 1));
  }
  counter_rng rng(seed, 0xda7a);
  do {
    a_ = 2 * rng.below(static_cast<std::uint32_t>(
                 std::min<std::uint64_t>(count, 0x7fffffff))) +
         1;
  } while (std::gcd(a_, count) != 1);
  c_ = rng.below(
      static_cast<std::uint32_t>(std::min<std::uint64_t>(count, 0x7fffffff)));
}

batch training_data::windows(std::uint64_t first, std::uint64_t bytes_from,
                             std::uint64_t count, bool permuted) const {
  const auto length = static_cast<std::uint64_t>(shape_.length);
  batch b{shape_.sequences, shape_.length, {}, {}};
  const std::string& bytes = *bytes_;
  for (std::ptrdiff_t s = 0; s < shape_.sequences; ++s) {
    const std::uint64_t k = first + static_cast<std::uint64_t>(s);
    const std::uint64_t window =
        permuted ? (a_ * (k % count) + c_) % count : k % count;
    const std::uint64_t at = bytes_from + window * length;
    for (std::uint64_t i = at; i < at + length; ++i) {
      b.inputs.push_back(static_cast<unsigned char>(bytes[i]));
      b.targets.push_back(static_cast<unsigned char>(bytes[i + 1]));
    }
  }
  return b;
}

batch training_data::training(std::int64_t index) const {
  const auto step = static_cast<std::uint64_t>(index);
  if (source_) return source_->make(step, shape_.sequences, shape_.length);
  return windows(step * static_cast<std::uint64_t>(shape_.sequences), 0,
                 windows_in(held_from_, shape_), true);
}

batch training_data::held_out(std::int64_t index) const {
  const auto n = static_cast<std::uint64_t>(index);
  if (source_) {
    return source_->make(held_batches + n, shape_.sequences, shape_.length);
  }
  return windows(n * static_cast<std::uint64_t>(shape_.sequences), held_from_,
                 windows_in(bytes_->size() - held_from_, shape_), false);
}

}  // namespace zeroulp::train
