// Defines `window`: a part of a file as memory, mapped while it lives, so that
// a program reads a checkpoint of any size with the memory of one part.
//
// A file that is shorter than it was when its header was read is refused; one
// that shrinks while a window is open ends the process (SIGBUS).

#ifndef ZEROULP_TOOLS_CHECKPOINT_FILES_WINDOW_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_FILES_WINDOW_HPP_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

namespace zeroulp::checkpoint {

class window {
 public:
  window() = default;
  /// Bytes [offset, offset + bytes) of a file that has `size` bytes. Throws
  /// input_error. `whole`: all of it will be read, now.
  window(const std::filesystem::path& file, std::uint64_t size,
         std::uint64_t offset, std::uint64_t bytes, bool whole = true);
  window(window&& other) noexcept { *this = std::move(other); }
  window& operator=(window&& other) noexcept {
    std::swap(mapped_, other.mapped_);
    std::swap(length_, other.length_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~window();

  const std::byte* data() const { return data_; }
  std::uint64_t size() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(data_),
            static_cast<std::size_t>(bytes_)};
  }

 private:
  void* mapped_ = nullptr;
  std::size_t length_ = 0;
  const std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// The size of a regular file. Throws input_error.
std::uint64_t size_of_file(const std::filesystem::path& file);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_FILES_WINDOW_HPP_
