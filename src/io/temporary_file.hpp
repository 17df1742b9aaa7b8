// Defines temporary files, .zeroulp-PID-N.tmp beside what they are to become. A
// process locks its own while it lives, so that those of a process that was
// killed can be told from them, whatever has become of its number. Internal.

#ifndef ZEROULP_SRC_IO_TEMPORARY_FILE_HPP_
#define ZEROULP_SRC_IO_TEMPORARY_FILE_HPP_

#include <filesystem>

#include "src/io/file_parts.hpp"

namespace zeroulp {

struct temporary_file {
  fs::path path;
  descriptor file;  ///< holds the lock
};

/// Makes an empty one beside `target`. Throws input_error that calls it `path`.
temporary_file make_temporary(const fs::path& target, const fs::path& path);

/// Gives the file `target` such a second name; an empty path where there is no
/// file, or no second name for it.
temporary_file link_temporary(const fs::path& target);

/// Removes from `folder` those that no process holds. What cannot be removed
/// stays.
void remove_stale_temporaries(const fs::path& folder) noexcept;

}  // namespace zeroulp

#endif  // ZEROULP_SRC_IO_TEMPORARY_FILE_HPP_
