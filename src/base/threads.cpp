#include "src/base/threads.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <stdexcept>

#include "zeroulp/threads.hpp"

namespace zeroulp {
namespace {

std::atomic<int> chosen_threads = 0;  ///< 0: as OpenMP says
std::atomic<bool> shares_small_work = false;

/// How many of `count` threads there can be at a time.
int started_of(int count) {
  std::mutex gate;
  std::unique_lock closed(gate);
  const auto started = start_threads(static_cast<std::size_t>(count),
                                     [&gate] { std::scoped_lock open(gate); });
  closed.unlock();
  return static_cast<int>(started.size());
}

}  // namespace

int startable_threads(int wanted) {
  // Of this thread: its regions keep the threads that they had.
  thread_local int enough = 1;
  thread_local int too_many = std::numeric_limits<int>::max();
  if (wanted > enough && wanted < too_many) {
    const int others = started_of(wanted - 1);
    if (others == wanted - 1) {
      enough = wanted;
    } else {
      too_many = wanted;
      // Others need some as well.
      enough = std::max(enough, 1 + others / 2);
    }
  }
  return std::min(wanted, enough);
}

int threads_for(double nanoseconds) {
#ifdef _OPENMP
  if (nanoseconds > 0 && omp_in_parallel() == 0) {
    const int most = engine::current_threads();
    const double worth =
        shares_small_work ? most : nanoseconds / worth_a_thread;
    if (worth < most) {
      return startable_threads(std::max(1, static_cast<int>(worth)));
    }
    return startable_threads(most);
  }
#endif
  (void)nanoseconds;
  return 1;
}

void share_small_work(bool on) { shares_small_work = on; }

namespace engine {

int current_threads() {
  const int chosen = chosen_threads;
  if (chosen > 0) return chosen;
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

void use_threads(int count) {
  if (count < 0) {
    throw std::invalid_argument("threads: a negative number of them");
  }
  chosen_threads = count;
}

}  // namespace engine

}  // namespace zeroulp
