// Defines queries of /proc: which processes descend from another, and what they
// are doing.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PROCESS_PROCESSES_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PROCESS_PROCESSES_HPP_

#include <sys/types.h>

#include <vector>

namespace zeroulp::conformance::plugin {

struct process_entry {
  pid_t id = 0;
  pid_t parent = 0;
  pid_t group = 0;
  char state = '?';
  int threads = 0;

  /// A zombie has no thread that could do anything.
  bool is_alive() const {
    return (state != 'Z' && state != 'X') || threads > 1;
  }
};

/// Living descendants: children, their children, and so on.
std::vector<process_entry> descendants_of(pid_t root);

bool descends_from(pid_t process, pid_t root);

/// Threads of a process that run or are ready to run.
int running_threads(pid_t process);
/// 0 if there is no such process.
int thread_count(pid_t process);

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PROCESS_PROCESSES_HPP_
