// Defines `growing_file`: a file that results are added to as they are found,
// so that a run that was ended goes on where it was. Nobody else adds to it
// meanwhile, and what was added is on the disk.

#ifndef ZEROULP_TOOLS_ZEROULP_JOURNAL_GROWING_FILE_HPP_
#define ZEROULP_TOOLS_ZEROULP_JOURNAL_GROWING_FILE_HPP_

#include <string>

#include "src/io/file_parts.hpp"

namespace zeroulp::program {

class growing_file {
 public:
  /// Opens a file, or makes it, and locks it. Throws input_error: another
  /// process has it, or it is no regular file.
  explicit growing_file(const std::string& path);

  const std::string& path() const { return path_; }
  std::string content() const;
  /// Ends it behind so many bytes. Throws input_error.
  void cut(std::size_t bytes);
  /// Throws input_error.
  void append(const std::string& text);
  /// A new name in a folder lasts when the folder does.
  void sync_folder() const;

 private:
  void lock();

  std::string path_;
  descriptor file_;
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_JOURNAL_GROWING_FILE_HPP_
