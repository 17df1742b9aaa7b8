// Defines checkpoints: what a run that was ended goes on from, byte for byte.
//
// A sealed file (sealed_file.hpp): after the settings a line for each step that
// was done, an empty line, the bytes of the state. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_CHECKPOINT_HPP_
#define ZEROULP_TOOLS_TRAIN_CHECKPOINT_HPP_

#include <filesystem>
#include <string>
#include <vector>

#include "tools/train/run.hpp"

namespace zeroulp::train {

/// The bytes of a state, and the state again. `take_state` returns false,
/// leaving the run as it was, unless the bytes are as many.
std::string state_bytes(const run_state& state);
bool take_state(std::string_view bytes, any_run& run);

/// The settings that decide a run's bits, and its data, in one line.
std::string settings_line(const any_run& run);

/// Writes `run` and the lines of its steps. Throws input_error.
void save(const std::filesystem::path& file, const any_run& run,
          const std::vector<std::string>& steps);

/// Continues `run` from the file, if there is one; returns the lines of the
/// steps that were done. Throws input_error, leaving `run` as it was, if the
/// file is damaged or of a run with other settings.
std::vector<std::string> restore(const std::filesystem::path& file,
                                 any_run& run);

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_CHECKPOINT_HPP_
