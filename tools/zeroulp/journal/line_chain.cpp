#include "tools/zeroulp/journal/line_chain.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include "src/base/sha256.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

std::string crc32_of(std::string_view content) {
  const auto* const bytes = reinterpret_cast<const Bytef*>(content.data());
  return fmt::format("{:08x}", crc32_z(0, bytes, content.size()));
}

}  // namespace

std::string line_chain::digest_of(std::string_view content) const {
  if (version_ == 2) return crc32_of(content);
  return sha256_hex(last_ + std::string(content));
}

std::string line_chain::end_with(std::string_view digest) const {
  return fmt::format(",\"{}\":\"{}\"}}", version_ == 2 ? "crc32" : "sha256",
                     digest);
}

std::string line_chain::seal(std::string_view content) {
  last_ = digest_of(content);
  content.remove_suffix(1);  // }
  return std::string(content) + end_with(last_);
}

std::string line_chain::open(std::string_view line) {
  const std::size_t end = end_with(digest_of("")).size();
  if (line.size() > end) {
    const auto content = std::string(line.substr(0, line.size() - end)) + "}";
    line_chain next = *this;
    if (next.seal(content) == line) {
      *this = next;
      return content;
    }
  }
  throw input_error(
      version_ == 2
          ? "its checksum does not fit: it was changed or damaged"
          : "its digest does not follow from the lines before it: it was "
            "changed or damaged, or lines were put in, moved or taken out");
}

}  // namespace zeroulp::program
