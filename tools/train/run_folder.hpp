// Defines the folder of a run: what it goes on from, byte for byte, and what
// proves it.
//
//   settings.json    what decides the run's bits, and its plan's digest
//   receipt.csv      a row a step (receipt.hpp)
//   run.zeroulp      the newest checkpoint
//   step.N.zeroulp   a checkpoint that stays
//
// A checkpoint is a line of its kind, the SHA-256 of the header that follows,
// the header (settings, the receipt's rows, an empty line), and the bytes of
// the state, whose digest is in the last row. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_RUN_FOLDER_HPP_
#define ZEROULP_TOOLS_TRAIN_RUN_FOLDER_HPP_

#include <filesystem>
#include <string>

#include "tools/train/receipt.hpp"
#include "tools/train/run.hpp"

namespace zeroulp::train {

/// The settings that decide a run's bits, and its data, in one line for a
/// reader.
std::string settings_line(const any_run& run);
/// The same as a JSON object in one line, equal for equal runs alone. `plan`:
/// the SHA-256 of the plan that the run belongs to, or empty.
std::string settings_json(const any_run& run, const std::string& plan);
std::string settings_json(const run_settings& s, const std::string& data,
                          const std::string& plan);

class run_folder {
 public:
  /// `settings`: of settings_json().
  run_folder(std::filesystem::path folder, std::string settings)
      : folder_(std::move(folder)), settings_(std::move(settings)) {}

  /// Continues `run` from the newest checkpoint, if there is one. Throws
  /// input_error, leaving `run` as it was, if the checkpoint is damaged or of a
  /// run with other settings.
  receipt go_on(any_run& run) const;
  /// Sets `run` to the checkpoint of a step. Throws input_error, as go_on()
  /// does, and if there is none.
  receipt load(std::int64_t step, any_run& run) const;
  /// Whether the checkpoint of a step is there; removes it.
  bool has(std::int64_t step) const;
  void remove(std::int64_t step) const;
  /// Writes the run, whose last row has the digest of its state. With `stays`,
  /// the checkpoint stays when the next is written.
  void save(const any_run& run, const receipt& rows, bool stays) const;
  /// Writes what proves a run, without a checkpoint.
  void save_receipt(const receipt& rows) const;

  /// Throws input_error unless settings.json has these settings, byte for byte.
  void check_settings() const;
  /// The receipt of the whole run, checked. Throws input_error.
  receipt read_receipt() const;

 private:
  std::filesystem::path of_step(std::int64_t step) const;
  receipt load(const std::filesystem::path& file, any_run& run) const;

  std::filesystem::path folder_;
  std::string settings_;
};

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_RUN_FOLDER_HPP_
