// Defines the filter of system calls that a sealed plug-in runs under: what it
// may not ask of the kernel whatever Landlock says, which knows no sockets, no
// signals, no chmod.
//
// Refused calls fail with EPERM; calls that are newer than this list are not
// there (ENOSYS). A supervisor (supervisor.hpp) is asked about new threads and
// processes, and about signals to others.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PROCESS_SYSCALL_FILTER_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PROCESS_SYSCALL_FILTER_HPP_

#include <linux/filter.h>
#include <sys/types.h>

#include <vector>

namespace zeroulp::conformance::plugin {

/// The program, for a process that may signal itself. `supervised`: otherwise
/// it may signal nobody else, and its processes are not counted.
std::vector<sock_filter> syscall_filter(pid_t self, bool supervised);

/// Puts the filter on this process, for good; sets no_new_privs. Returns the
/// file that a supervisor listens to; -1: there is a filter, but nobody can
/// listen; below: there is none, and errno says why.
int install_syscall_filter();

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PROCESS_SYSCALL_FILTER_HPP_
