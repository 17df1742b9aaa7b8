// Defines how the keeper starts a plug-in's program: sealed before the program
// begins.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PROCESS_PLUGIN_START_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PROCESS_PLUGIN_START_HPP_

#include <sys/types.h>

#include <string>

namespace zeroulp::conformance::plugin {

struct started_plugin {
  pid_t process = 0;
  int listener = -1;    ///< for the supervisor; -1: none
  int threads = -1;     ///< its folder of threads, to be kept open
  std::string missing;  ///< parts of the seal
};

/// Starts `program` (its words, then NULL) with socket_fd and memory_fd, which
/// this process then no longer has. `folder` is where it may write; empty: it
/// is not sealed. Throws input_error if there is no such program.
started_plugin start_plugin(char** program, const std::string& folder);

/// Removes the file that LLVM's OpenMP leaves in /dev/shm for each process that
/// does not end by itself.
void remove_openmp_mark(pid_t process);

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PROCESS_PLUGIN_START_HPP_
