// Defines the keeper of a plug-in's process: `zeroulp plugin-keeper sealed|
// trusted PROGRAM ARGUMENT...`. It starts the program, sealed (seal.hpp) or
// not, and ends it with the run. It leaves no file, and no process, however
// that parted from its parents. The keeper ends with the process that started
// it. Not for a person to call.
//
//   zeroulp -- keeper -- PROGRAM -- what that starts
//
//   keeper   started PID MISSING   missing parts of the seal; "-": none
//            bad TEXT              it is not started
//   zeroulp  end                   its socket is closed: it is to end by itself
//            kill
//   keeper   ended STATUS LEFT     as waitpid has it; processes that were left
//
// LEFT counts the processes that were still there some time after the program
// ended by itself. The keeper ends them as well.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PROCESS_KEEPER_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PROCESS_KEEPER_HPP_

namespace zeroulp::conformance::plugin {

inline constexpr const char* plugin_keeper_command = "plugin-keeper";

/// Returns the exit status. `arguments`: those of main().
int run_plugin_keeper(int count, char** arguments);

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PROCESS_KEEPER_HPP_
