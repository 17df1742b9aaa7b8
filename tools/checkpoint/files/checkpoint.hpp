// Defines `checkpoint`: the tensors of a model on disk, whatever the number of
// files.
//
//   a .safetensors file | a folder of them, with or without an index | a .npy
//   or .npz file | a folder of .npy files
//
// Opening reads headers alone and refuses what disagrees: one line that names
// file, tensor, expected and found.

#ifndef ZEROULP_TOOLS_CHECKPOINT_FILES_CHECKPOINT_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_FILES_CHECKPOINT_HPP_

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/checkpoint/files/fault.hpp"
#include "tools/checkpoint/files/header.hpp"
#include "tools/checkpoint/files/model_config.hpp"
#include "tools/checkpoint/files/window.hpp"

namespace zeroulp::checkpoint {

struct shard {
  std::filesystem::path path;
  std::string name;  ///< of the file, in its folder
  std::uint64_t size = 0;
  std::map<std::string, std::string> metadata;
  std::uint64_t header_bytes = 0;  ///< before the data
};

struct tensor : entry {
  std::size_t file = 0;  ///< of `checkpoint::shards`

  std::uint64_t count() const {
    return bytes * 8 / static_cast<std::uint64_t>(bits_of(type));
  }
};

struct checkpoint {
  std::filesystem::path path;  ///< as it was named
  std::filesystem::path folder;
  std::filesystem::path index;  ///< empty: none
  std::vector<shard> shards;
  std::vector<tensor> tensors;     ///< by shard, in the order of their data
  std::vector<std::string> notes;  ///< what is odd, but no fault
  model_config config;

  /// The tensor of this name, or null.
  const tensor* find(std::string_view name) const;
  const shard& shard_of(const tensor& t) const { return shards[t.file]; }
  /// Bytes [from, from + bytes) of a tensor.
  window map(const tensor& t, std::uint64_t from, std::uint64_t bytes,
             bool whole = true) const;
  std::string file_of(const tensor& t) const {
    return shard_of(t).path.string();
  }

  std::vector<std::size_t> by_name;  ///< places in `tensors`
};

/// Opens what `path` names. Throws input_error.
checkpoint open_checkpoint(const std::filesystem::path& path);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_FILES_CHECKPOINT_HPP_
