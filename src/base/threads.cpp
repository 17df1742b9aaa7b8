#include "src/base/threads.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <limits>
#include <mutex>

namespace zeroulp {
namespace {

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

int threads_for(bool large) {
#ifdef _OPENMP
  if (large && omp_in_parallel() == 0) {
    return startable_threads(omp_get_max_threads());
  }
#endif
  (void)large;
  return 1;
}

}  // namespace zeroulp
