// Defines the header of a safetensors file: read with every limit that the
// format has, and written.
//
//   8 bytes N, little endian | N bytes JSON, padded by spaces | the data
//
// Source: the safetensors format. A header is refused unless it says of every
// byte of the data which tensor's it is: no overlap, no hole, no rest.

#ifndef ZEROULP_TOOLS_CHECKPOINT_FILES_HEADER_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_FILES_HEADER_HPP_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/checkpoint/files/element.hpp"

namespace zeroulp::checkpoint {

/// The most bytes that a header may have: the format's own limit.
inline constexpr std::uint64_t most_header_bytes = 100'000'000;

/// The most bytes of a tensor's name. The format has no such limit; here names
/// are matched with expressions, which recurse.
inline constexpr std::size_t most_name_bytes = 4096;

using shape_t = std::vector<std::uint64_t>;

/// A tensor of a file: `bytes` from `offset` of the file on.
struct entry {
  std::string name;
  element type = element::u8;
  shape_t shape;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct file_header {
  std::vector<entry> entries;  ///< in the order of their data
  std::map<std::string, std::string> metadata;
};

/// "[2, 3]".
std::string text_of(const shape_t& shape);

/// The bytes of a tensor, or nothing if they overflow or are no whole number.
std::optional<std::uint64_t> bytes_of(element type, const shape_t& shape);

/// The length of the header that the first eight bytes of a file of `size`
/// bytes give. Throws input_error that calls it `file`.
std::uint64_t header_length(std::string_view first, std::uint64_t size,
                            const std::string& file);

/// Parses the header `text` of a file of `size` bytes. Throws input_error.
file_header parse_header(std::string_view text, std::uint64_t size,
                         const std::string& file);

/// Gives the entries their offsets, in this order, and returns the bytes before
/// the data.
std::string make_header(std::vector<entry>& entries,
                        const std::map<std::string, std::string>& metadata);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_FILES_HEADER_HPP_
