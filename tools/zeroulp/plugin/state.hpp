// Defines `process_state`: what a plug-in's call has to leave in its process as
// it found it: how the processor rounds, who answers for faults, how many
// processes there are.

#ifndef ZEROULP_TOOLS_ZEROULP_PLUGIN_STATE_HPP_
#define ZEROULP_TOOLS_ZEROULP_PLUGIN_STATE_HPP_

#include <array>
#include <cstdint>
#include <string>

namespace zeroulp::program {

struct process_state {
  /// MXCSR and the x87 control word, or FPCR: without the flags that
  /// instructions set.
  std::array<std::uint32_t, 2> modes{};
  /// The handlers of SIGSEGV and SIGBUS.
  std::array<std::uintptr_t, 2> handlers{};
  int children = 0;
};

process_state current_state();

/// How `now` differs, for a report; empty: it does not.
std::string difference(const process_state& before, const process_state& now);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_PLUGIN_STATE_HPP_
