// Defines how work gets threads: as many as are asked for where the system
// starts them, else fewer, and the calling thread always. A runtime of OpenMP
// that cannot start a thread ends the process: its regions ask here before.
// Internal.

#ifndef ZEROULP_SRC_BASE_THREADS_HPP_
#define ZEROULP_SRC_BASE_THREADS_HPP_

#include <cstddef>
#include <exception>
#include <future>
#include <limits>
#include <thread>
#include <vector>

namespace zeroulp {

/// How many threads a parallel region may have, of `wanted` ones: fewer where
/// the system does not start so many for this thread.
int startable_threads(int wanted);

/// The threads of a parallel region: as many as use_threads() or OpenMP say, if
/// each has `worth_a_thread` of the work at least. One for less: on a busy
/// machine a region waits until the system has run its last thread.
int threads_for(double nanoseconds = std::numeric_limits<double>::infinity());

/// In nanoseconds: some hundred times what it takes to wake a thread.
inline constexpr double worth_a_thread = 1e6;

/// Nanoseconds of one thread, roughly: a number of a line of vectors, the same
/// with exponentials and quotients, by the core; and a product of a GEMM.
inline constexpr double line_work = 1;
inline constexpr double training_work = 4;
inline constexpr double core_work = 30;
inline constexpr double product_work = 0.05;

/// For tests: any work is worth a thread.
void share_small_work(bool on);

/// Starts `count` threads that do `work`, or as many as the system starts.
template <class Work>
std::vector<std::jthread> start_threads(std::size_t count, const Work& work) {
  std::vector<std::jthread> started;
  try {
    while (started.size() < count) started.emplace_back(work);
  } catch (const std::exception&) {
    // No more: not enough memory, or too many processes.
  }
  return started;
}

/// Does `work`, which does not throw, on `count` threads or fewer, this one
/// among them.
template <class Work>
void on_threads(std::size_t count, const Work& work) {
  const auto others = start_threads(count - 1, work);
  work();
}

/// The result of compute(), from a thread of its own; where none is started,
/// from the one that asks for it.
template <class Compute>
auto beside(const Compute& compute) {
  try {
    return std::async(std::launch::async, compute);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, compute);
  }
}

}  // namespace zeroulp

#endif  // ZEROULP_SRC_BASE_THREADS_HPP_
