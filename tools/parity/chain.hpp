// Defines `chain`: the operators of a pass in order, and the tensors that each
// reads and makes, by name.
//
//   {"operators": [
//     {"name": "norm", "is": "rms_norm", "with": "value=bf16",
//      "reads": {"x": "hidden", "w": "norm.weight"}, "makes": {"y": "normed"}},
//     {"name": "quantize", "is": "quantize", "with": "group=1x128",
//      "reads": {"x": "normed"}, "makes": {"codes": "q", "scales": "q.scale"}},
//     {"name": "up", "is": "gemm", "with": "recipe=deepgemm.1d2d",
//      "reads": {"a": "q", "a_scales": "q.scale", "b": "up", "b_scales":
//      "up.s"}, "makes": {"d": "gates"}}]}
//
// Operators, operands and settings are those of `zeroulp fuzz`, and rope,
// residual, route and combine: `zeroulp parity --operators` lists them.
// Settings that are left out follow from the tensors' types, or are the usual
// ones. Operators of many layers are written once, with {i}, {i+1} or {i-1} in
// names:
//
//   {"repeat": 61, "from": 0, "operators": [
//     {"name": "norm{i}", ..., "reads": {"x": "layers.{i}.x", ...}}, ...]}

#ifndef ZEROULP_TOOLS_PARITY_CHAIN_HPP_
#define ZEROULP_TOOLS_PARITY_CHAIN_HPP_

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/parity/problem.hpp"

namespace zeroulp::parity {

/// A name of an operand or an output, and the tensor that it is.
using binding = std::pair<std::string, std::string>;

struct chain_operator {
  std::string name;
  const operator_kind* is = nullptr;
  std::string with;  ///< "name=value,..."
  std::vector<binding> reads;
  std::vector<binding> makes;
  /// Those that make what this one reads, by the tensor.
  std::map<std::string, std::shared_ptr<const chain_operator>> makers;

  /// The tensor of an operand or an output; null: it has none.
  const std::string* reads_as(std::string_view operand) const;
  const std::string* makes_as(std::string_view output) const;
};

/// {"name in the chain": "name in B"}, each of a tensor of the chain. Throws
/// input_error.
std::map<std::string, std::string> read_names(
    const std::filesystem::path& file,
    const std::vector<chain_operator>& chain);

/// Throws input_error that names the file, the operator and what is taken.
std::vector<chain_operator> read_chain(const std::filesystem::path& file);

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_PARITY_CHAIN_HPP_
