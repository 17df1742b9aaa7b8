// Defines how a search reports its progress. Internal.

#ifndef ZEROULP_FUZZ_IDENTIFY_PROGRESS_HPP_
#define ZEROULP_FUZZ_IDENTIFY_PROGRESS_HPP_

#include <functional>
#include <mutex>
#include <utility>

namespace zeroulp::fuzz {

/// Called now and then with how much of the work is done: from any thread, but
/// one at a time. `total` is an estimate and changes.
using identify_progress = std::function<void(double done, double total)>;

/// Counts work done on several threads.
class work_meter {
 public:
  explicit work_meter(identify_progress tell) : tell_(std::move(tell)) {}

  /// Sets how much work is still to come.
  void expect(double work) {
    const std::lock_guard lock(guard_);
    total_ = done_ + work;
  }
  void add(double work) {
    const std::lock_guard lock(guard_);
    done_ += work;
    if (tell_) tell_(done_, total_);
  }
  /// Ends the work: nothing more is to come.
  void end() {
    expect(0);
    add(0);
  }

 private:
  identify_progress tell_;
  std::mutex guard_;
  double done_ = 0;
  double total_ = 0;
};

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_PROGRESS_HPP_
