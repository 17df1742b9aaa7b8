// Defines arms and sizes of a training run as JSON: what `zeroulp arms NAME
// --json` and `zeroulp sizes NAME --json` print and --arm FILE, --size FILE
// read.

#ifndef ZEROULP_TOOLS_ZEROULP_TRAIN_SETTINGS_JSON_HPP_
#define ZEROULP_TOOLS_ZEROULP_TRAIN_SETTINGS_JSON_HPP_

#include "tools/train/arm.hpp"
#include "tools/train/run.hpp"
#include "tools/train/shape.hpp"
#include "tools/zeroulp/tensor/json_fields.hpp"

namespace zeroulp::program {

const json_kind<arm>& arm_json();
const json_kind<train::model_shape>& size_json();

/// A name, NAME+FIELD:VALUE, or a JSON file. Throws input_error that names the
/// file and the field.
arm find_arm(const std::string& text);
train::model_shape find_size(const std::string& text);

/// What a run's folder says of it (tools/train/run_folder.hpp).
struct described_run {
  train::run_settings settings;
  std::string data;  ///< source, source:SEED or sha256:DIGEST
  std::string plan;  ///< a SHA-256, or empty
};
/// Throws input_error that names the file and what is wrong.
described_run read_described_run(const std::string& file);

/// What --arm and --size take, for their help.
std::string arm_help();
std::string size_help();

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_TRAIN_SETTINGS_JSON_HPP_
