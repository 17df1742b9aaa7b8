#include "tools/checkpoint/weights/work.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "src/base/threads.hpp"
#include "zeroulp/threads.hpp"

namespace zeroulp::checkpoint {
namespace {

/// While it lives, a call of the library takes one thread: the jobs have all.
class one_thread_a_call {
 public:
  one_thread_a_call() { engine::use_threads(1); }
  one_thread_a_call(const one_thread_a_call&) = delete;
  ~one_thread_a_call() { engine::use_threads(0); }
};

}  // namespace

void run_jobs(const std::vector<job>& jobs, const work_options& options,
              work_state& state) {
  const one_thread_a_call single;
  std::atomic<std::size_t> next{0};
  std::mutex guard;
  std::exception_ptr error;
  std::size_t where = jobs.size();
  const auto work = [&] {
    for (std::size_t i; (i = next++) < jobs.size();) {
      try {
        jobs[i].run();
      } catch (...) {
        const std::lock_guard lock(guard);
        if (i < where) {
          where = i;
          error = std::current_exception();
        }
        next = jobs.size();
        return;
      }
      const std::lock_guard lock(guard);
      state.done += jobs[i].bytes;
      if (options.tell) options.tell(state.done, state.total);
    }
  };
  const auto most = std::max<std::size_t>(jobs.size(), 1);
  on_threads(
      std::clamp<std::size_t>(
          static_cast<std::size_t>(std::max(options.threads, 1)), 1, most),
      work);
  if (error) std::rethrow_exception(error);
}

}  // namespace zeroulp::checkpoint
