// Defines how NumPy's .npy and .npz files are tensors of a checkpoint.
//
// Source: numpy.lib.format; the ZIP format, stored members alone. Left out:
// compressed members (numpy.savez_compressed), Fortran order, ZIP64 of files
// above 4 GiB, which are refused.

#ifndef ZEROULP_TOOLS_CHECKPOINT_FILES_ARRAYS_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_FILES_ARRAYS_HPP_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tools/checkpoint/files/header.hpp"

namespace zeroulp::checkpoint {

/// The tensors of a .npy file, one of the file's name, or of a .npz file of
/// `size` bytes. Throws input_error.
std::vector<entry> entries_of_arrays(const std::filesystem::path& path,
                                     std::uint64_t size);

/// A .npy file of `size` bytes that begins with `text`, as a tensor. Throws
/// input_error that calls it `file`.
entry entry_of_npy(std::string_view text, std::uint64_t size,
                   const std::string& file);

/// A member of a .npz file: where its bytes lie.
struct npz_member {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// The members of a .npz file whose bytes are `text`. Throws input_error.
std::vector<npz_member> members_of_npz(std::string_view text,
                                       const std::string& file);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_FILES_ARRAYS_HPP_
