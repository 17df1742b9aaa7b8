// Defines how JSON of a checkpoint is read, in one place: strictly, with no
// name twice in an object and a limit of how deep values nest.

#ifndef ZEROULP_TOOLS_CHECKPOINT_FILES_JSON_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_FILES_JSON_HPP_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace zeroulp::checkpoint {

using json = nlohmann::ordered_json;  ///< small objects, in their order
using map_json = nlohmann::json;      ///< those of many names

/// The most levels that a value may have.
inline constexpr int most_levels = 32;

/// What a header of safetensors says of a tensor, as it says it.
struct raw_entry {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> offsets;
};

struct raw_header {
  std::vector<raw_entry> entries;
  std::map<std::string, std::string> metadata;
};

/// Parses a header: {NAME: {"dtype": TEXT, "shape": [N...], "data_offsets":
/// [N, N]}, "__metadata__": {TEXT: TEXT}}, without a tree of the whole. Throws
/// input_error that names `file` and, where there is one, the tensor.
raw_header parse_raw_header(std::string_view text, const std::string& file);

/// The value of `text`. Throws input_error that names `file`.
template <class Json = json>
Json parse_strict_json(std::string_view text, const std::string& file);

/// The value in a file of at most 2^27 bytes.
template <class Json = json>
Json read_strict_json(const std::filesystem::path& file);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_FILES_JSON_HPP_
