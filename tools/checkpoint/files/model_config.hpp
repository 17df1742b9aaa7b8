// Defines what a model's config.json declares about its quantization.
//
// Read: quantization_config (also that of text_config), quant_method,
// weight_block_size, scale_fmt, modules_to_not_convert, ignored_layers, ignore,
// config_groups; hf_quant_config.json of ModelOpt. Left out: what activations
// have.

#ifndef ZEROULP_TOOLS_CHECKPOINT_FILES_MODEL_CONFIG_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_FILES_MODEL_CONFIG_HPP_

#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "zeroulp/core/scale.hpp"

namespace zeroulp::checkpoint {

/// A rule of modules that stay as they are: a name, which is a part of the
/// weight's between dots, or an expression (`re:`, or with *).
struct kept_rule {
  std::string text;
  std::optional<std::regex> pattern;
};

struct model_config {
  std::string file;                  ///< empty: there is none
  std::string method;                ///< empty: it declares no quantization
  std::optional<group_shape> group;  ///< of weights; 0: the whole dimension
  bool powers_of_two = false;        ///< scale_fmt ue8m0
  std::vector<kept_rule> kept;

  /// The rule that keeps the weight, or nothing.
  std::optional<std::string> kept_by(const std::string& weight) const;
};

/// Reads config.json, or hf_quant_config.json, of a folder that may have
/// neither. Throws input_error.
model_config read_model_config(const std::filesystem::path& folder);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_FILES_MODEL_CONFIG_HPP_
