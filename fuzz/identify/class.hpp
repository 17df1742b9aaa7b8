// Defines the result of an identification: a class of definitions that give the
// same bits on the data. It has the values of each field, and so shows what the
// data cannot tell apart.
//
// Also here: a search that runs on all cores. Its results do not depend on
// their number.

#ifndef ZEROULP_FUZZ_IDENTIFY_CLASS_HPP_
#define ZEROULP_FUZZ_IDENTIFY_CLASS_HPP_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/threads.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::fuzz {

/// A field of a definition, and those of the values tried that the members of a
/// class have.
struct fitting_field {
  std::string name;
  std::vector<std::string> values;
};

/// Definitions that give the same bits on the data.
struct definition_class {
  std::vector<std::string> names;  ///< the named rows in it
  std::vector<fitting_field> fields;
  std::uint64_t members = 0;
  bool any_combination = true;  ///< every combination of the values is in it
};

/// Collects members, each given by one value index for every field.
class class_builder {
 public:
  /// `all`: fields with every value that was tried, at most 64 each.
  explicit class_builder(std::vector<fitting_field> all)
      : all_(std::move(all)), seen_(all_.size(), 0) {}

  void add(std::initializer_list<std::size_t> values) {
    std::size_t field = 0;
    for (const std::size_t v : values) seen_[field++] |= std::uint64_t{1} << v;
    ++members_;
  }
  /// Returns the class, without names.
  definition_class result() const;
  /// The number of combinations of all values.
  std::uint64_t combinations() const;

 private:
  std::vector<fitting_field> all_;
  std::vector<std::uint64_t> seen_;
  std::uint64_t members_ = 0;
};

/// An output where a definition and the data differ.
struct wrong_word {
  std::ptrdiff_t i = 0;
  std::ptrdiff_t j = 0;
  std::uint64_t given = 0;     ///< in the data
  std::uint64_t expected = 0;  ///< by the definition
};

/// The outputs of a definition compared with the data. Two definitions with the
/// same digest give the same bits: it has all their differences from the data.
struct tally {
  std::uint64_t differ = 0;
  std::uint64_t digest = 0;
  wrong_word first;  ///< of smallest (i, j)

  /// Counts output (i, j); the order of calls does not matter.
  void add(const wrong_word& d) {
    if (d.given == d.expected) return;
    const auto at =
        static_cast<std::uint64_t>(d.i) << 32 ^ static_cast<std::uint64_t>(d.j);
    merge({1, mix64(mix64(at * golden + 1) ^ d.expected), d});
  }
  /// Adds a tally of other outputs.
  void merge(const tally& t) {
    if (t.differ == 0) return;
    const bool earlier = differ == 0 || t.first.i < first.i ||
                         (t.first.i == first.i && t.first.j < first.j);
    if (earlier) first = t.first;
    differ += t.differ;
    digest += t.digest;
  }
};

/// Measures the time of a search.
class stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(clock::now() - start_).count();
  }

 private:
  using clock = std::chrono::steady_clock;
  clock::time_point start_ = clock::now();
};

/// Lowers `bound` to `x`, if that is less.
inline void lower(std::atomic<std::uint64_t>& bound, std::uint64_t x) {
  std::uint64_t old = bound.load();
  while (x < old && !bound.compare_exchange_weak(old, x)) {
  }
}

/// Calls use(i) for each i below `count`, on all cores, in no order. Rethrows
/// an exception of `use`.
template <class Use>
void for_each_index(std::size_t count, Use use) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex guard;
  const auto work = [&] {
    try {
      for (std::size_t i; (i = next++) < count;) use(i);
    } catch (...) {
      const std::lock_guard lock(guard);
      error = std::current_exception();
      next = count;
    }
  };
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  on_threads(std::clamp<std::size_t>(count, 1, cores), work);
  if (error) std::rethrow_exception(error);
}

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_CLASS_HPP_
