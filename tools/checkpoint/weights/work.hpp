// Defines how the tiles of a checkpoint are shared among threads: each is taken
// by one, in order, and no result depends on how many there are.

#ifndef ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_WORK_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_WORK_HPP_

#include <functional>
#include <vector>

namespace zeroulp::checkpoint {

/// Told from one thread at a time how many bytes are done of how many.
using tell_progress = std::function<void(double done, double total)>;

struct job {
  double bytes = 0;  ///< of input, for the progress
  std::function<void()> run;
};

struct work_options {
  int threads = 1;
  tell_progress tell;  ///< may be empty
};

/// How far several calls of run_jobs are, for one progress.
struct work_state {
  double done = 0;
  double total = 0;
};

/// Runs the jobs. The first exception that one throws, by its place, ends the
/// work and is thrown.
void run_jobs(const std::vector<job>& jobs, const work_options& options,
              work_state& state);

/// Says that all is done: parts of the bytes may have needed no work.
inline void end_progress(const work_options& options, const work_state& state) {
  if (options.tell && state.total > 0) options.tell(state.total, state.total);
}

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_WORK_HPP_
