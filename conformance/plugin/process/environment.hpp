// Defines the environment of a plug-in's process.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PROCESS_ENVIRONMENT_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PROCESS_ENVIRONMENT_HPP_

#include <string>
#include <string_view>
#include <vector>

namespace zeroulp::conformance::plugin {

/// Returns true iff a sealed plug-in gets this variable. It gets those by which
/// programs are found and started, those of locale, compilers, OpenMP, BLAS,
/// CUDA, Python and sanitizers, and ZEROULP_*. Others may hold secrets. (By
/// $TMPDIR the keeper knows where to make the plug-in's folder.)
bool is_passed_on(std::string_view name);

/// `ours` (NAME=VALUE), then all other variables of this process (`sealed`:
/// only those that are passed on). They tell idle OpenMP threads not to spin,
/// and sanitizers to leave signals as they are.
std::vector<std::string> environment_with(std::vector<std::string> ours,
                                          bool sealed);

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PROCESS_ENVIRONMENT_HPP_
