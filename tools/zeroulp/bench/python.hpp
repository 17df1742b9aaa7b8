// Defines `ml_dtypes`: Python's package of that name as a peer, in a process
// that stays, so that its runs take turns with ours.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_PYTHON_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_PYTHON_HPP_

#include <sys/types.h>

#include <memory>
#include <string>

#include "tools/zeroulp/bench/bench.hpp"

namespace zeroulp::program {

class ml_dtypes {
 public:
  /// Starts python3. Throws std::runtime_error if it, numpy or ml_dtypes is
  /// absent.
  ml_dtypes();
  ~ml_dtypes();
  ml_dtypes(const ml_dtypes&) = delete;
  ml_dtypes& operator=(const ml_dtypes&) = delete;

  /// Sends a request, see python.cpp, and the data that it announces.
  void send(const std::string& line);
  void send(const void* data, std::size_t bytes);
  /// Waits for `bytes` of an answer.
  void receive(void* data, std::size_t bytes);
  /// The number of the next request for a job.
  int next_job() { return jobs_++; }

 private:
  int socket_ = -1;
  pid_t child_ = -1;
  int jobs_ = 0;
};

/// The package, started when first asked for; null and a word in `how.absent`
/// where it is not there.
std::shared_ptr<ml_dtypes> python_peer(bench_context& how);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_PYTHON_HPP_
