// Files that appear together or not at all.

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "src/io/temporary_file.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp {
namespace {

// Returns 0 or errno.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    constexpr std::size_t most = std::size_t{1} << 30;
    const ssize_t n = ::write(fd, bytes.data(), std::min(bytes.size(), most));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return ENOSPC;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

// The file that `path` names: where a symbolic link leads, so that the link
// stays. Refuses what a rename would destroy or could not replace.
fs::path resolve_target(const fs::path& path) {
  constexpr const char* remedy = "name a file that can be written";
  std::error_code error;
  fs::path target = path;
  if (fs::is_symlink(fs::symlink_status(path, error))) {
    target = fs::weakly_canonical(path, error);
    if (error) refuse(path, "cannot write", error.value(), remedy);
  }
  const fs::file_status status = fs::status(target, error);
  if (!fs::exists(status)) return target;
  if (!fs::is_regular_file(status)) {
    refuse(path, "cannot write: this is not a regular file", remedy);
  }
  if (::access(target.c_str(), W_OK) != 0) {
    refuse(path, "cannot write", errno, remedy);
  }
  return target;
}

// Some file systems report a full disk only when a file is closed; the lock
// stays with the descriptor. Returns 0 or errno.
int close_copy(int fd) {
  descriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  return copy.valid() ? copy.close() : errno;
}

void sync_directory(const fs::path& file) {
  const fs::path parent = file.parent_path();
  const descriptor d(parent.empty() ? fs::path(".") : parent,
                     O_RDONLY | O_DIRECTORY);
  if (d.valid()) (void)::fsync(d.get());  // not every file system can
}

std::atomic_flag sets_busy = ATOMIC_FLAG_INIT;
std::vector<output_set*> sets;  ///< all that there are

/// While it lives, what the sets say and what stands on the disk may differ: no
/// signal comes to this thread, and abandon_all() waits in another.
class [[nodiscard]] transition {
 public:
  transition() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    while (sets_busy.test_and_set(std::memory_order_acquire)) ::sched_yield();
  }
  transition(const transition&) = delete;
  ~transition() {
    sets_busy.clear(std::memory_order_release);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_;
};

}  // namespace

struct output_set::entry {
  fs::path target;
  temporary_file temporary;
  temporary_file backup = {{}, descriptor(-1)};
  bool placed = false;
};

output_set::output_set() {
  const transition now;
  sets.push_back(this);
}

output_set::output_set(fs::path directory) : output_set() {
  directory_ = std::move(directory);
  constexpr const char* remedy = "name a directory that can be written";
  if (directory_.empty()) throw input_error(std::string("no path: ") + remedy);
  fs::path prefix;
  const transition now;
  for (const fs::path& part : directory_) {
    prefix /= part;
    if (::mkdir(prefix.c_str(), 0777) == 0) {
      made_.push_back(prefix);
      continue;
    }
    const int error = errno;
    std::error_code ignored;
    if (!fs::is_directory(prefix, ignored)) {
      rollback();
      refuse(prefix, "cannot make the directory", error, remedy);
    }
  }
  if (::access(directory_.c_str(), W_OK | X_OK) != 0) {
    const int error = errno;
    rollback();
    refuse(directory_, "cannot write", error, remedy);
  }
}

output_set::~output_set() {
  const transition now;
  rollback();
  std::erase(sets, this);
}

void output_set::abandon_all() noexcept {
  // Whoever holds the sets may wait for memory that this thread was about to
  // get: rather leave files behind than never end.
  for (int tries = 0; sets_busy.test_and_set(std::memory_order_acquire);) {
    if (++tries > 1000) return;
    ::poll(nullptr, 0, 1);
  }
  for (const output_set* set : sets) set->undo();
}

void output_set::expect(std::initializer_list<fs::path> names) const {
  for (const auto& name : names) (void)resolve_target(directory_ / name);
}

void output_set::add(const fs::path& name, std::string_view content) {
  add(name, std::span<const std::string_view>{&content, 1});
}

void output_set::add(const fs::path& name, const array& a) {
  const std::string header = npy_header(a);
  const std::string_view data(reinterpret_cast<const char*>(a.data.data()),
                              a.data.size());
  const std::string_view parts[] = {header, data};
  add(name, std::span<const std::string_view>(parts));
}

void output_set::add(const fs::path& name,
                     std::span<const std::string_view> parts) {
  constexpr const char* remedy = "name a file that can be written";
  const fs::path path = directory_ / name;
  if (!path.has_filename()) {
    refuse(path, "this does not name a file", remedy);
  }
  const fs::path target = resolve_target(path);
  for (const entry& e : entries_) {
    if (e.target == target) refuse(path, "written twice", "name another file");
  }
  const int fd = open_temporary(path, target);
  int error = 0;
  for (std::size_t i = 0; i < parts.size() && error == 0; ++i) {
    error = write_all(fd, parts[i]);
  }
  if (error == 0 && ::fsync(fd) != 0 && errno != EINVAL) error = errno;
  if (error == 0) error = close_copy(fd);
  if (error == 0) return;
  {
    const transition now;
    fail();
  }
  refuse(path, "cannot write", error, "free space or name another file");
}

int output_set::open_temporary(const fs::path& path, const fs::path& target) {
  const transition now;
  const fs::path folder = target.parent_path();
  const bool known = std::any_of(
      entries_.begin(), entries_.end(),
      [&](const entry& e) { return e.target.parent_path() == folder; });
  if (!known) remove_stale_temporaries(folder);
  entries_.reserve(entries_.size() + 1);  // none that is made is forgotten
  entries_.push_back({target, make_temporary(target, path)});
  return entries_.back().temporary.file.get();
}

// Renames one file to its place; the file it replaces stays under a second
// name until the whole set is placed (where the file system has hard links).
void output_set::place(entry& e) {
  e.backup = link_temporary(e.target);
  if (::rename(e.temporary.path.c_str(), e.target.c_str()) != 0) {
    const int error = errno;
    const fs::path target = e.target;
    fail();
    refuse(target, "cannot write", error, "name a file that can be written");
  }
  e.placed = true;
}

void output_set::commit() {
  if (failed_)
    throw std::logic_error("zeroulp::output_set: commit of a failed set");
  std::vector<entry> placed;
  {
    const transition now;
    for (entry& e : entries_) place(e);
    for (const entry& e : entries_) {
      if (!e.backup.path.empty()) ::unlink(e.backup.path.c_str());
    }
    placed.swap(entries_);
    made_.clear();
  }
  for (const entry& e : placed) sync_directory(e.target);
}

void output_set::fail() noexcept {
  failed_ = true;
  rollback();
}

void output_set::rollback() noexcept {
  undo();
  entries_.clear();
  made_.clear();
}

// Calls of the system alone: a signal's handler may come here.
void output_set::undo() const noexcept {
  for (const entry& e : entries_) {
    if (!e.placed) {
      ::unlink(e.temporary.path.c_str());
      if (!e.backup.path.empty()) ::unlink(e.backup.path.c_str());
    } else if (!e.backup.path.empty()) {
      ::rename(e.backup.path.c_str(), e.target.c_str());
    } else {
      ::unlink(e.target.c_str());
    }
  }
  for (auto dir = made_.rbegin(); dir != made_.rend(); ++dir) {
    ::rmdir(dir->c_str());
  }
}

}  // namespace zeroulp
