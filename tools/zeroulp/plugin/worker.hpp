// Defines the processes of a plug-in, from their own side: `zeroulp
// plugin-worker LIB` loads the library and does what it is told through the
// socket that it was started with; `zeroulp plugin-keeper` keeps it (keeper.hpp
// of conformance/plugin). Not for a person to call.

#ifndef ZEROULP_TOOLS_ZEROULP_PLUGIN_WORKER_HPP_
#define ZEROULP_TOOLS_ZEROULP_PLUGIN_WORKER_HPP_

namespace zeroulp::program {

inline constexpr const char* plugin_worker_command = "plugin-worker";

/// Returns true iff these arguments of main() are those of one of them.
bool is_plugin_process(int count, char** arguments);

/// Runs it. Returns the exit status.
int run_plugin_process(int count, char** arguments);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_PLUGIN_WORKER_HPP_
