// The folder of a sealed plug-in: made, and removed with all it holds.

#include "conformance/plugin/process/own_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "zeroulp/io.hpp"

namespace zeroulp::conformance::plugin {
namespace {

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const list = again < 0 ? nullptr : ::fdopendir(again);
  if (list == nullptr) return names;
  while (const dirent* const entry = ::readdir(list)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(list);
  return names;
}

/// Opens the folder `name`, whatever its permissions; below 0: not a folder.
int open_folder(int in, const std::string& name) {
  struct stat about {};
  if (::fstatat(in, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISDIR(about.st_mode)) {
    return -1;
  }
  ::fchmodat(in, name.c_str(), S_IRWXU, 0);
  return ::openat(in, name.c_str(),
                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/// Removes the files of a folder; returns the folders in it.
std::vector<std::string> remove_files(int folder) {
  std::vector<std::string> folders;
  for (auto& name : names_in(folder)) {
    if (::unlinkat(folder, name.c_str(), 0) == 0) continue;
    folders.push_back(std::move(name));
  }
  return folders;
}

/// Removes what a folder holds, to any depth, and closes it. One folder is open
/// at a time.
void empty(int root) {
  struct level {
    std::string name;
    std::vector<std::string> folders;  ///< yet to be removed
  };
  int here = root;
  std::vector<level> path{{"", remove_files(here)}};
  while (path.size() > 1 || !path.back().folders.empty()) {
    level& at = path.back();
    if (at.folders.empty()) {
      const int above = ::openat(here, "..", O_RDONLY | O_DIRECTORY);
      ::unlinkat(above, at.name.c_str(), AT_REMOVEDIR);
      ::close(std::exchange(here, above));
      path.pop_back();
      continue;
    }
    const std::string name = std::move(at.folders.back());
    at.folders.pop_back();
    const int below = open_folder(here, name);
    if (below < 0) continue;
    ::close(std::exchange(here, below));
    path.push_back({name, remove_files(here)});
  }
  ::close(here);
}

}  // namespace

own_folder::own_folder() {
  const char* const given = std::getenv("TMPDIR");
  const std::filesystem::path parent =
      given != nullptr && *given != '\0' ? given : "/tmp";
  path_ = std::filesystem::absolute(parent) / "zeroulp-plugin-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) {
    throw input_error(
        fmt::format("{}: no folder for a plug-in can be made there: {}: set "
                    "TMPDIR to one that can be written",
                    parent.string(), std::strerror(errno)));
  }
}

own_folder::~own_folder() {
  const int root = open_folder(AT_FDCWD, path_);
  if (root < 0) return;
  empty(root);
  ::rmdir(path_.c_str());
}

}  // namespace zeroulp::conformance::plugin
