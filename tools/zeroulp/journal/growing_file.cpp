#include "tools/zeroulp/journal/growing_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tools/zeroulp/journal/file_lock.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

[[noreturn]] void fail_with_errno(const std::string& path, const char* what) {
  throw input_error(
      fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

}  // namespace

growing_file::growing_file(const std::string& path)
    : path_(path),
      // O_NONBLOCK: opening a pipe must not wait.
      file_(open(path.c_str(),
                 O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666)) {
  if (!file_.valid()) fail_with_errno(path, "cannot be written");
  struct stat about {};
  if (fstat(file_.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    throw input_error(path + ": is no regular file: use another");
  }
  lock();
}

void growing_file::lock() {
  if (flock(file_.get(), LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) fail_with_errno(path_, "cannot be locked");
  const auto holder = holder_of_lock(file_.get());
  throw input_error(fmt::format(
      "{}: {} writes to it: wait for its end", path_,
      holder ? fmt::format("process {}", *holder) : "another process"));
}

std::string growing_file::content() const {
  const auto bytes = read_all(file_, path_);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void growing_file::cut(std::size_t bytes) {
  if (ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0 ||
      fsync(file_.get()) != 0) {
    fail_with_errno(path_, "cannot be cut");
  }
}

void growing_file::append(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const auto count =
        write(file_.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail_with_errno(path_, "cannot be written");
    done += static_cast<std::size_t>(count);
  }
  if (fsync(file_.get()) != 0) fail_with_errno(path_, "cannot be written");
}

void growing_file::sync_folder() const {
  auto folder = std::filesystem::path(path_).parent_path();
  if (folder.empty()) folder = ".";
  const int at = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (at < 0) return;
  fsync(at);
  close(at);
}

}  // namespace zeroulp::program
