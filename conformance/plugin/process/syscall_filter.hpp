// Defines the system-call filter of a sealed plug-in. It refuses what Landlock
// does not govern: sockets, signals, chmod.
//
// Refused calls fail with EPERM; calls newer than this list fail with ENOSYS. A
// supervisor (supervisor.hpp) decides on new threads and processes, and on
// signals to other processes.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PROCESS_SYSCALL_FILTER_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PROCESS_SYSCALL_FILTER_HPP_

#include <linux/filter.h>
#include <sys/types.h>

#include <vector>

namespace zeroulp::conformance::plugin {

/// The BPF program for process `self`, which may signal itself. Unless
/// `supervised`, it may signal no other, and its processes are not counted.
std::vector<sock_filter> syscall_filter(pid_t self, bool supervised);

/// Puts the filter on this process for good; sets no_new_privs. Returns the
/// file on which a supervisor listens. -1: there is a filter, but nobody can
/// listen. Below -1: there is no filter, and errno says why.
int install_syscall_filter();

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PROCESS_SYSCALL_FILTER_HPP_
