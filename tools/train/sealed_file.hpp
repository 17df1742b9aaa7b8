// Defines sealed files: bytes that are what was written, of one run, or are
// refused.
//
// Written whole or not at all: a line that says what kind of file it is, the
// SHA-256 of all that follows, the settings in one line, the bytes. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_SEALED_FILE_HPP_
#define ZEROULP_TOOLS_TRAIN_SEALED_FILE_HPP_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace zeroulp::train {

struct seal_lines {
  std::string_view kind;
  std::string settings;
};

/// Throws input_error where the file cannot be written.
void seal(const std::filesystem::path& file, const seal_lines& lines,
          std::string_view bytes);

/// The bytes, if the file is there. Throws input_error if it is damaged, of
/// another kind or of other settings.
std::optional<std::string> unseal(const std::filesystem::path& file,
                                  const seal_lines& lines);

/// The first line of `text`, which is taken from it. Throws input_error, naming
/// the file, if there is none.
std::string_view take_line(std::string_view& text,
                           const std::filesystem::path& file);

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_SEALED_FILE_HPP_
