// Reads processes and threads from /proc.

#include "conformance/plugin/process/processes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "src/base/whole_number.hpp"

namespace zeroulp::conformance::plugin {
namespace {

/// Reads a small file of /proc; empty if it is gone. It may go between opening
/// and reading, where a stream would throw.
std::string read_small(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  char text[4096];
  const auto size = ::read(file, text, sizeof text);
  ::close(file);
  return {text, size > 0 ? static_cast<std::size_t>(size) : 0};
}

/// Reads the stat file of a process or a thread.
std::optional<process_entry> read_stat(const std::string& path) {
  const std::string text = read_small(path);
  // The name of the program, in parentheses, may hold anything.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  process_entry p;
  const int read = std::sscanf(
      text.c_str() + name_end + 1,
      " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d",
      &p.state, &p.parent, &p.group, &p.threads);
  p.id = std::atoi(text.c_str());
  if (read != 4) return {};
  return p;
}

std::optional<process_entry> entry_of(pid_t process) {
  return read_stat(fmt::format("/proc/{}/stat", process));
}

/// Calls use(number) for each numbered entry of a folder.
template <class Use>
void for_each_number(const std::string& folder, Use use) {
  std::error_code none;
  std::filesystem::directory_iterator at(folder, none);
  for (; !none && at != std::filesystem::directory_iterator();
       at.increment(none)) {
    const auto number = whole_number<pid_t>(at->path().filename().string());
    if (number) use(*number);
  }
}

}  // namespace

std::vector<process_entry> descendants_of(pid_t root) {
  std::multimap<pid_t, process_entry> by_parent;
  for_each_number("/proc", [&](pid_t id) {
    if (const auto p = entry_of(id)) by_parent.emplace(p->parent, *p);
  });
  std::vector<process_entry> found;
  std::vector<pid_t> todo{root};
  while (!todo.empty()) {
    const auto [begin, end] = by_parent.equal_range(todo.back());
    todo.pop_back();
    for (auto it = begin; it != end; ++it) {
      todo.push_back(it->first == it->second.id ? 0 : it->second.id);
      if (it->second.is_alive()) found.push_back(it->second);
    }
  }
  return found;
}

bool descends_from(pid_t process, pid_t root) {
  while (process > 1) {
    const auto p = entry_of(process);
    if (!p) return false;
    if (p->parent == root) return true;
    process = p->parent;
  }
  return false;
}

int running_threads(pid_t process) {
  const auto folder = fmt::format("/proc/{}/task", process);
  int count = 0;
  for_each_number(folder, [&](pid_t thread) {
    const auto t = read_stat(fmt::format("{}/{}/stat", folder, thread));
    if (t && t->state == 'R') ++count;
  });
  return count;
}

int thread_count(pid_t process) {
  const auto p = entry_of(process);
  return p ? p->threads : 0;
}

}  // namespace zeroulp::conformance::plugin
