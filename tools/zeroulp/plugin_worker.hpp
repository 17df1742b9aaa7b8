// Defines the process that runs a plug-in, from its own side: `zeroulp
// plugin-worker LIB` loads the library and does what it is told through the
// socket that it was started with. Not for a person to call.

#ifndef ZEROULP_TOOLS_PLUGIN_WORKER_HPP_
#define ZEROULP_TOOLS_PLUGIN_WORKER_HPP_

namespace zeroulp::program {

inline constexpr const char* plugin_worker_command = "plugin-worker";

/// Returns the exit status.
int run_plugin_worker(const char* file);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_PLUGIN_WORKER_HPP_
