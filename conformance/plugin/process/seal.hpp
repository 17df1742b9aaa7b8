// Defines the seal of a plug-in's process: no network, no writes but in a
// folder of its own, no other processes but its own, and limits. It is put on
// before the program starts that loads the plug-in, stays for good, and holds
// for every process that it starts.
//
//   Landlock    writes, devices
//   seccomp     sockets, signals, ptrace, chmod (syscall_filter.hpp)
//   limits      memory and file size of a process; threads and processes are
//               the supervisor's to count (supervisor.hpp)
//
// What it can read it may read.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PROCESS_SEAL_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PROCESS_SEAL_HPP_

#include <cstdint>
#include <string>
#include <vector>

namespace zeroulp::conformance::plugin {

/// Bytes of a file that a sealed plug-in writes.
inline constexpr std::uint64_t most_file_bytes = std::uint64_t{1} << 30;

/// Bytes of memory of its own that a process of a sealed plug-in may have: a
/// quarter of the machine's, and at least 4 GiB. Address space alone, which
/// CUDA reserves by the terabyte, does not count.
std::uint64_t most_memory_bytes();

struct seal_result {
  /// What this kernel cannot do, for a line; empty: all of it holds.
  std::string missing;
  int listener = -1;  ///< of the supervisor
};

/// Seals this process, which has one thread. It may write in `folder`, to
/// `files`, to the null devices and those of NVIDIA's GPUs, and to what /proc
/// has of its own threads.
seal_result seal_this_process(const std::string& folder,
                              const std::vector<std::string>& files);

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PROCESS_SEAL_HPP_
