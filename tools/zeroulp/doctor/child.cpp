// A program that is asked for its version, with an end to waiting for it.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "tools/zeroulp/doctor/findings.hpp"

namespace zeroulp::program {
namespace {

using clock = std::chrono::steady_clock;

/// Reads until the end, or `deadline`: then returns false.
bool read_all(int fd, clock::time_point deadline, std::string& text) {
  constexpr std::size_t most = 1 << 16;  // a version is shorter
  char bytes[512];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - clock::now());
    pollfd waiting{fd, POLLIN, 0};
    if (left.count() <= 0) return false;
    if (::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) continue;
    const ssize_t n = ::read(fd, bytes, sizeof bytes);
    if (n == 0) return true;
    if (n < 0 && errno != EINTR) return true;
    if (n > 0 && text.size() < most) {
      text.append(bytes, static_cast<std::size_t>(n));
    }
  }
}

}  // namespace

child_result run_child(const std::vector<std::string>& words, double seconds) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY,
                                   0);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (auto& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int failed = ::posix_spawnp(&child, arguments[0], &files, nullptr,
                                    arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  child_result result;
  if (failed == 0) {
    const auto deadline = clock::now() + std::chrono::milliseconds(
                                             static_cast<int>(seconds * 1000));
    const bool ended = read_all(ends[0], deadline, result.text);
    if (!ended) ::kill(child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (ended && WIFEXITED(status)) result.status = WEXITSTATUS(status);
  }
  ::close(ends[0]);
  return result;
}

}  // namespace zeroulp::program
