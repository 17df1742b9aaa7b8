#include "tools/zeroulp/manual/values.hpp"

#include <string_view>

#ifdef ZEROULP_HAVE_CONFORMANCE
#include "fuzz/cases/problem.hpp"
#endif
#include "tools/study/error/questions.hpp"
#include "tools/study/loss/study.hpp"
#include "tools/train/shape.hpp"
#include "zeroulp/block_scaled.hpp"
#include "zeroulp/metrics.hpp"
#include "zeroulp/model_arm.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::program {
namespace {

using texts = std::vector<std::string>;

/// The names of a table's rows.
template <class Rows>
texts row_names(const Rows& rows) {
  texts names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

texts conventions() { return row_names(named_conventions); }
texts formats() { return row_names(named_formats); }
texts recipes() { return row_names(all_recipes()); }
texts paths() { return row_names(all_paths()); }
texts block_scaled_paths() { return row_names(all_block_scaled_paths()); }
texts steps() {
  auto all = paths();
  for (auto& name : block_scaled_paths()) all.push_back(std::move(name));
  return all;
}
texts arms() { return row_names(named_arms); }
texts sizes() { return row_names(train::named_shapes); }
texts scale_kinds() { return row_names(named_scale_kinds); }
texts layouts() { return row_names(named_scale_layouts); }
texts roundings() { return row_names(named_roundings); }
texts policies() { return row_names(named_policies); }
texts retile_rules() { return row_names(named_retile_rules); }
texts loss_size_names() { return row_names(loss_sizes()); }
texts presets() { return row_names(study::presets); }
texts questions() {
  auto all = row_names(study::questions());
  all.emplace_back("paper");
  return all;
}
texts differences() {
  return {difference_names.begin(), difference_names.end()};
}
texts claims() {
  auto all = conventions();
  for (auto& name : recipes()) all.push_back(std::move(name));
  return all;
}
texts bf16_alone() { return {"bf16"}; }
texts outputs() { return {"fp32", "bf16"}; }
texts devices() { return {"cpu", "gpu"}; }
texts groups() { return {"1x128", "128x1", "128x128", "tensor"}; }
texts history_rules() { return {"max", "ema"}; }
texts shells() { return {"bash", "zsh", "fish"}; }

constexpr value_row rows[] = {
    {"formats", "NAME", formats},
    {"formats", "--diff", formats},
    {"conventions", "NAME", conventions},
    {"conventions", "--diff", conventions},
    {"recipes", "NAME", recipes},
    {"recipes", "--diff", recipes},
    {"paths", "NAME", paths},
    {"paths", "--diff", paths},
    {"block-scaled-paths", "NAME", block_scaled_paths},
    {"block-scaled-paths", "--diff", block_scaled_paths},
    {"arms", "NAME", arms},
    {"arms", "--diff", arms},
    {"sizes", "NAME", sizes},
    {"sizes", "--diff", sizes},
    {"compare", "--against", claims},
    {"completion", "SHELL", shells},
    {"quantize", "--history-rule", history_rules},
    {"retile", "--rule", retile_rules},
    {"study", "--question", questions},
    {"study", "--preset", presets},
    {"study", "--loss-size", loss_size_names},
    {"study", "--loss-model", sizes},
    {"study", "--loss-on", devices},
    {"train", "--size", sizes},
    {"train", "--held-out-by", arms},
    {"train", "--first-arm", arms},
    {"train", "--on", devices},
    {"vectors generate", "PATH", paths},
    {"step", "PATH", steps},
    {"encode", "FORMAT", formats},
    {"decode", "FORMAT", formats},
    {"dequantize", "--to", formats},
    {"retile", "--to", formats},
    {"fuzz quantize", "--from", formats},
    {"fuzz quantize", "--to", formats},
    {"gemm", "--output", outputs},
    {"", "--arm", arms},
    {"", "--convention", conventions},
    {"", "--dtype", bf16_alone},
    {"", "--format", formats},
    {"", "--group", groups},
    {"", "--ignore", differences},
    {"", "--layout", layouts},
    {"", "--overflow", policies},
    {"", "--path", paths},
    {"", "--recipe", recipes},
    {"", "--round", roundings},
    {"", "--scale", scale_kinds},
};

#ifdef ZEROULP_HAVE_CONFORMANCE
constexpr std::string_view target_prefix = "fuzz ";

/// The profiles of a target of `zeroulp fuzz`; those of step elsewhere.
texts profiles_of(std::string_view command) {
  const auto target =
      command.starts_with(target_prefix)
          ? fuzz::parse_target(command.substr(target_prefix.size()))
          : fuzz::target::step;
  texts all{"mixed"};
  for (const char* name : fuzz::info_of(target).profiles) {
    all.emplace_back(name);
  }
  return all;
}
#endif

}  // namespace

std::span<const value_row> value_rows() { return rows; }

texts values_of(const std::string& command, const std::string& option) {
#ifdef ZEROULP_HAVE_CONFORMANCE
  if (option == "--profile") return profiles_of(command);
#endif
  for (const auto& row : rows) {
    const std::string_view of = row.command;
    if (option == row.option && (of.empty() || of == command)) {
      return row.values();
    }
  }
  return {};
}

}  // namespace zeroulp::program
