// Defines the environment of a plug-in's process.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PROCESS_ENVIRONMENT_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PROCESS_ENVIRONMENT_HPP_

#include <string>
#include <string_view>
#include <vector>

namespace zeroulp::conformance::plugin {

/// Returns true iff a sealed plug-in is told this variable: those by which
/// programs are found and started, of locale, of compilers, of OpenMP, BLAS,
/// CUDA, Python, sanitizers, and ZEROULP_*. Others may hold secrets. ($TMPDIR
/// tells the keeper where the folder is to be that becomes the plug-in's.)
bool is_passed_on(std::string_view name);

/// `ours` (NAME=VALUE), and of this process's variables all others (`sealed`:
/// those that are passed on). Threads of OpenMP are told not to wait by
/// computing, and sanitizers to leave signals as they are.
std::vector<std::string> environment_with(std::vector<std::string> ours,
                                          bool sealed);

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PROCESS_ENVIRONMENT_HPP_
