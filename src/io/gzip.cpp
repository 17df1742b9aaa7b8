#include "src/io/gzip.hpp"

#include <new>
#include <stdexcept>

#include "src/io/file_parts.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp {

std::string gzip(std::string_view text) {
  constexpr int gzip_window = 15 + 16;
  z_stream z{};
  gz_header header{};
  header.os = 255;  // unknown
  if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window, 9,
                   Z_DEFAULT_STRATEGY) != Z_OK ||
      deflateSetHeader(&z, &header) != Z_OK) {
    throw std::runtime_error("zlib cannot compress");
  }
  std::string out(deflateBound(&z, static_cast<uLong>(text.size())), '\0');
  // zlib's interface is older than const.
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  const bool whole = text.size() <= 0xffffffff && out.size() <= 0xffffffff;
  const int status = whole ? deflate(&z, Z_FINISH) : Z_BUF_ERROR;
  out.resize(z.total_out);
  deflateEnd(&z);
  if (status != Z_STREAM_END) throw std::runtime_error("zlib: text too long");
  return out;
}

gzip_file open_gzip(const std::filesystem::path& path) {
  descriptor d = open_to_read(path);
  gzip_file file(gzdopen(d.get(), "rb"));
  if (!file) throw std::bad_alloc();
  d.release();  // zlib closes it
  return file;
}

std::string read_text(const std::filesystem::path& path) {
  const gzip_file file = open_gzip(path);
  std::string text;
  char part[1 << 14];
  int got = 0;
  while ((got = gzread(file.get(), part, sizeof part)) > 0) {
    text.append(part, static_cast<std::size_t>(got));
  }
  int error = Z_OK;
  gzerror(file.get(), &error);
  if (got < 0 || (error != Z_OK && error != Z_STREAM_END)) {
    throw input_error(path.string() + ": cannot be read or is damaged");
  }
  return text;
}

}  // namespace zeroulp
