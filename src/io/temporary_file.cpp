#include "src/io/temporary_file.hpp"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <string_view>
#include <system_error>

namespace zeroulp {
namespace {

constexpr std::string_view prefix = ".zeroulp-";
constexpr std::string_view suffix = ".tmp";

fs::path sibling(const fs::path& target, unsigned long serial) {
  return target.parent_path() /
         fmt::format("{}{}-{}{}", prefix, ::getpid(), serial, suffix);
}

/// Whether `name` is that of a sibling, of any process.
bool is_temporary(std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return false;
  name.remove_prefix(prefix.size());
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  };
  const auto dash = name.find('-');
  return dash != name.npos && is_number(name.substr(0, dash)) &&
         is_number(name.substr(dash + 1, name.find('.') - dash - 1)) &&
         name.substr(name.find('.')) == suffix;
}

/// Whether the open file is the one called `path`.
bool is_at(const descriptor& d, const fs::path& path) {
  struct stat open = {}, named = {};
  return ::fstat(d.get(), &open) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/// Locks a file that this process just made. Returns false if another process
/// took it for a stale one, between the two. Some file systems have no locks:
/// nothing is removed there.
bool hold(const temporary_file& t) {
  if (::flock(t.file.get(), LOCK_EX | LOCK_NB) != 0) {
    return errno != EWOULDBLOCK;
  }
  return is_at(t.file, t.path);
}

void remove_if_stale(const fs::path& path) {
  const descriptor d(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  if (!d.valid() || ::flock(d.get(), LOCK_EX | LOCK_NB) != 0) return;
  // Its process may have renamed it since, and made another.
  if (is_at(d, path)) ::unlink(path.c_str());
}

}  // namespace

temporary_file make_temporary(const fs::path& target, const fs::path& path) {
  for (unsigned long serial = 0;; ++serial) {
    fs::path name = sibling(target, serial);
    temporary_file made{
        name,
        descriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                          0666))};
    if (!made.file.valid()) {
      if (errno == EEXIST) continue;
      refuse(path, "cannot write", errno, "name a file that can be written");
    }
    if (hold(made)) return made;
  }
}

temporary_file link_temporary(const fs::path& target) {
  // Locked before it has the name.
  descriptor d(target, O_RDONLY | O_NONBLOCK);
  if (d.valid()) (void)::flock(d.get(), LOCK_EX | LOCK_NB);
  for (unsigned long serial = 0;; ++serial) {
    fs::path name = sibling(target, serial);
    if (::link(target.c_str(), name.c_str()) == 0) return {name, std::move(d)};
    if (errno != EEXIST) return {{}, descriptor(-1)};
  }
}

void remove_stale_temporaries(const fs::path& folder) noexcept try {
  std::error_code none;
  fs::directory_iterator at(folder.empty() ? "." : folder, none);
  for (; at != fs::directory_iterator(); at.increment(none)) {
    if (is_temporary(at->path().filename().native())) {
      remove_if_stale(at->path());
    }
  }
} catch (const std::exception&) {
  // Too little memory: another run will.
}

}  // namespace zeroulp
