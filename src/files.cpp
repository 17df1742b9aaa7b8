// Whole files: reading one.

#include <fmt/format.h>
#include <sys/stat.h>

#include <string>
#include <system_error>

#include "file_parts.hpp"
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

std::vector<std::byte> read_file(const fs::path& path) {
  constexpr const char* remedy = "name a file that can be read";
  // O_NONBLOCK: opening a pipe without a writer must not wait.
  const descriptor d(path, O_RDONLY | O_NONBLOCK);
  if (!d.valid()) refuse(path, "cannot open", errno, remedy);
  struct stat info = {};
  if (::fstat(d.get(), &info) != 0) refuse(path, "cannot read", errno, remedy);
  if (!S_ISREG(info.st_mode)) {
    refuse(path,
           S_ISDIR(info.st_mode) ? "this is a directory"
                                 : "this is not a regular file",
           remedy);
  }
  std::vector<std::byte> bytes;
  try {
    bytes.resize(static_cast<std::size_t>(info.st_size));
  } catch (const std::exception&) {
    refuse(path, fmt::format("no memory for {} bytes", info.st_size),
           "use a smaller file or a larger machine");
  }
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::read(d.get(), &bytes[done], bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(path, "cannot read", errno, remedy);
    if (n == 0) refuse(path, "it shrank while it was read", "try again");
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

}  // namespace zeroulp
