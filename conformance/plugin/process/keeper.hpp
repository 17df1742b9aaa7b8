// Defines the keeper of a plug-in's process: `zeroulp plugin-keeper sealed|
// trusted PROGRAM ARGUMENT...`, which starts the program, sealed (seal.hpp) or
// not, and sees to it that nothing of it outlives the run: no process, however
// it parted from its parents, and no file. It ends with whoever started it. Not
// for a person to call.
//
//   zeroulp -- keeper -- PROGRAM -- what that starts
//
//   keeper   started PID MISSING   what the seal lacks here; "-": nothing
//            bad TEXT              it is not started
//   zeroulp  end                   its socket is closed: it is to end by itself
//            kill
//   keeper   ended STATUS LEFT     as waitpid has it; processes that were left
//
// LEFT counts those that were there some time after a program that ended by
// itself; they are ended as well.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PROCESS_KEEPER_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PROCESS_KEEPER_HPP_

namespace zeroulp::conformance::plugin {

inline constexpr const char* plugin_keeper_command = "plugin-keeper";

/// Returns the exit status. `arguments`: those of main().
int run_plugin_keeper(int count, char** arguments);

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PROCESS_KEEPER_HPP_
