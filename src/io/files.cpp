// Whole files: reading one.

#include <fmt/format.h>
#include <sys/stat.h>

#include <string>
#include <system_error>

#include "src/io/file_parts.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp {

void refuse(const fs::path& path, std::string_view what, int error,
            std::string_view remedy) {
  throw input_error(fmt::format("{}: {}: {}; {}", path.string(), what,
                                std::generic_category().message(error),
                                remedy));
}

void refuse(const fs::path& path, std::string_view what,
            std::string_view remedy) {
  throw input_error(fmt::format("{}: {}; {}", path.string(), what, remedy));
}

input_error::input_error(std::string_view message)
    : std::runtime_error([&] {
        std::string line(message);
        for (char& c : line) {
          if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
        }
        return line;
      }()) {}

namespace {

constexpr const char* remedy = "name a file that can be read";

/// What the system knows of a file that is open.
struct stat info_of(const descriptor& d, const fs::path& path) {
  struct stat info = {};
  if (::fstat(d.get(), &info) != 0) refuse(path, "cannot read", errno, remedy);
  return info;
}

}  // namespace

descriptor open_to_read(const fs::path& path) {
  // O_NONBLOCK: opening a pipe without a writer must not wait.
  descriptor d(path, O_RDONLY | O_NONBLOCK);
  if (!d.valid()) refuse(path, "cannot open", errno, remedy);
  const auto mode = info_of(d, path).st_mode;
  if (!S_ISREG(mode)) {
    refuse(path,
           S_ISDIR(mode) ? "this is a directory" : "this is not a regular file",
           remedy);
  }
  return d;
}

std::vector<std::byte> read_all(const descriptor& d, const fs::path& path) {
  const auto size = info_of(d, path).st_size;
  std::vector<std::byte> bytes;
  try {
    bytes.resize(static_cast<std::size_t>(size));
  } catch (const std::exception&) {
    refuse(path, fmt::format("no memory for {} bytes", size),
           "use a smaller file or a larger machine");
  }
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::pread(d.get(), &bytes[done], bytes.size() - done,
                              static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(path, "cannot read", errno, remedy);
    if (n == 0) refuse(path, "it shrank while it was read", "try again");
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

std::vector<std::byte> read_file(const fs::path& path) {
  return read_all(open_to_read(path), path);
}

}  // namespace zeroulp
