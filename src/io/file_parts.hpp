// Defines what reading and writing of files share: an open file, and how a file
// is refused. Internal.

#ifndef ZEROULP_SRC_IO_FILE_PARTS_HPP_
#define ZEROULP_SRC_IO_FILE_PARTS_HPP_

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace zeroulp {

namespace fs = std::filesystem;

/// Throws input_error: the path, what is wrong, the system's reason and what to
/// do.
[[noreturn]] void refuse(const fs::path& path, std::string_view what, int error,
                         std::string_view remedy);
[[noreturn]] void refuse(const fs::path& path, std::string_view what,
                         std::string_view remedy);

class descriptor {
 public:
  explicit descriptor(int fd) : fd_(fd) {}
  descriptor(const fs::path& path, int flags)
      : descriptor(::open(path.c_str(), flags | O_CLOEXEC)) {}
  descriptor(descriptor&& other) noexcept : fd_(other.release()) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(descriptor other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  // Returns 0 or errno: some file systems report a full disk only here.
  int close() { return ::close(std::exchange(fd_, -1)) == 0 ? 0 : errno; }

 private:
  int fd_;
};

/// Opens a regular file. Nothing else is opened for good: a pipe would have the
/// program wait. Throws input_error.
descriptor open_to_read(const fs::path& path);

/// All of an open regular file, from its beginning. Throws input_error that
/// calls it `path`.
std::vector<std::byte> read_all(const descriptor& d, const fs::path& path);

}  // namespace zeroulp

#endif  // ZEROULP_SRC_IO_FILE_PARTS_HPP_
