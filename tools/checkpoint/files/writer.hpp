// Defines `shard_writer`: a safetensors file whose header is known first and
// whose data come in any order, from any thread.
//
// It is written as NAME.partial and renamed when it is whole and on the disk.
// What is abandoned is removed; a process that is killed leaves NAME.partial,
// which the next writer of NAME begins anew.

#ifndef ZEROULP_TOOLS_CHECKPOINT_FILES_WRITER_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_FILES_WRITER_HPP_

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "src/io/file_parts.hpp"
#include "tools/checkpoint/files/header.hpp"

namespace zeroulp::checkpoint {

class shard_writer {
 public:
  /// Lays the entries out, in this order. Throws input_error.
  shard_writer(std::filesystem::path path, std::vector<entry> entries,
               const std::map<std::string, std::string>& metadata);
  shard_writer(const shard_writer&) = delete;
  ~shard_writer();

  const std::vector<entry>& entries() const { return entries_; }

  /// Bytes of an entry, from byte `at` of it on. Zeros stay a hole.
  void write(std::size_t place, std::uint64_t at, const std::byte* data,
             std::uint64_t bytes) const;

  /// Puts the file in its place.
  void finish();

 private:
  std::filesystem::path path_;
  std::filesystem::path partial_;
  std::vector<entry> entries_;
  descriptor file_{-1};
};

/// The order of the official writer: wide elements first, then by name.
void sort_for_writing(std::vector<entry>& entries);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_FILES_WRITER_HPP_
