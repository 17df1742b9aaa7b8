#include "tools/train/sealed_file.hpp"

#include <fmt/format.h>

#include "src/base/sha256.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::train {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& file, const char* why) {
  throw input_error(fmt::format("{}: {}", file.string(), why));
}

}  // namespace

void seal(const std::filesystem::path& file, const seal_lines& lines,
          std::string_view bytes) {
  std::string sealed = lines.settings + "\n";
  sealed += bytes;
  output_set files(file.has_parent_path() ? file.parent_path() : ".");
  files.add(file.filename(),
            fmt::format("{}\n{}\n", lines.kind, sha256_hex(sealed)) + sealed);
  files.commit();
}

std::optional<std::string> unseal(const std::filesystem::path& file,
                                  const seal_lines& lines) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  const auto bytes = read_file(file);
  std::string_view text = as_text(bytes);
  if (take_line(text, file) != lines.kind) {
    refuse(file, fmt::format("it is damaged, or no {}", lines.kind).c_str());
  }
  const std::string_view digest = take_line(text, file);
  if (digest != sha256_hex(text)) {
    refuse(file,
           "it is damaged: its SHA-256 is another; delete it to start "
           "again");
  }
  if (take_line(text, file) != lines.settings) {
    refuse(file, "it is of a run with other settings, data or version");
  }
  return std::string(text);
}

std::string_view take_line(std::string_view& text,
                           const std::filesystem::path& file) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos) {
    refuse(file, "it is damaged: it ends within a line");
  }
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

}  // namespace zeroulp::train
