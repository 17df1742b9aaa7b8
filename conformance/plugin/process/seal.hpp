// Defines the seal of a plug-in's process: no network, no writes outside a
// folder of its own, no access to other processes, and limits. It is put on
// before the program that loads the plug-in starts. It stays for good, and
// holds for every process that the plug-in starts.
//
//   Landlock    writes, devices
//   seccomp     sockets, signals, ptrace, chmod (syscall_filter.hpp)
//   limits      memory and file size of a process; the supervisor counts
//               threads and processes (supervisor.hpp)
//
// The seal does not restrict reading.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PROCESS_SEAL_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PROCESS_SEAL_HPP_

#include <cstdint>
#include <string>
#include <vector>

namespace zeroulp::conformance::plugin {

/// Largest file that a sealed plug-in may write, in bytes.
inline constexpr std::uint64_t most_file_bytes = std::uint64_t{1} << 30;

/// Bytes of private memory that a process of a sealed plug-in may have: a
/// quarter of the machine's, and at least 4 GiB. Address space alone, which
/// CUDA reserves by the terabyte, does not count.
std::uint64_t most_memory_bytes();

struct seal_result {
  /// The parts of the seal that this kernel lacks, in one line; empty: none.
  std::string missing;
  int listener = -1;  ///< for the supervisor: install_syscall_filter's result
};

/// Seals this process, which has one thread. It may then write in `folder`, to
/// `files`, to the null devices, to NVIDIA's GPUs and to the /proc entries of
/// its own threads.
seal_result seal_this_process(const std::string& folder,
                              const std::vector<std::string>& files);

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PROCESS_SEAL_HPP_
