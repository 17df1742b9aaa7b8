// Defines where the program lies that runs. Internal.

#ifndef ZEROULP_SRC_IO_PROGRAM_FOLDER_HPP_
#define ZEROULP_SRC_IO_PROGRAM_FOLDER_HPP_

#include <filesystem>

namespace zeroulp {

/// The folder of the program of this process. Files of the build are found from
/// there, so that no build has its own path in it. "" if the system hides it.
inline std::filesystem::path program_folder() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
}

}  // namespace zeroulp

#endif  // ZEROULP_SRC_IO_PROGRAM_FOLDER_HPP_
