// Defines text in gzip files: `gzip`, `open_gzip` and `read_text`.
//
// Source: RFC 1952. Left out: files of which a part is wanted, or that are too
// long for memory.

#ifndef ZEROULP_SRC_IO_GZIP_HPP_
#define ZEROULP_SRC_IO_GZIP_HPP_

#include <zlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace zeroulp {

/// Returns `text` as a gzip file. With one version of zlib the same text gives
/// the same bytes: there is no time, name or system in them.
std::string gzip(std::string_view text);

struct gzip_closer {
  void operator()(gzFile_s* file) const { gzclose(file); }
};
using gzip_file = std::unique_ptr<gzFile_s, gzip_closer>;

/// Opens a regular file, compressed or not, for zlib to read. Throws
/// input_error.
gzip_file open_gzip(const std::filesystem::path& path);

/// Returns the text of a file, compressed or not. Throws input_error.
std::string read_text(const std::filesystem::path& path);

}  // namespace zeroulp

#endif  // ZEROULP_SRC_IO_GZIP_HPP_
