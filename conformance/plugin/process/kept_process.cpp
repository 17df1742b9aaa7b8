// zeroulp's side of a plug-in's process: its start, its sockets, its end.

#include "conformance/plugin/process/kept_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "conformance/contract/call_failure.hpp"
#include "conformance/plugin/process/environment.hpp"
#include "conformance/plugin/process/keeper.hpp"
#include "src/base/whole_number.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::conformance::plugin {
namespace {

/// Seconds. The keeper's own limits are shorter.
constexpr double longest_end = 30;

/// A socket pair. Its file numbers are above those that a worker gets.
struct connection {
  connection() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      fail_process("socketpair");
    }
    mine = high_file(ends[0], "socketpair");
    theirs = high_file(ends[1], "socketpair");
  }
  int mine, theirs;
};

std::vector<char*> pointers_of(std::vector<std::string>& all) {
  std::vector<char*> pointers;
  for (auto& text : all) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Starts the keeper with these files; returns its process.
pid_t start_keeper(const command_line& command, bool sealed,
                   const std::vector<std::pair<int, int>>& files) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  for (const auto& [from, to] : files) {
    posix_spawn_file_actions_adddup2(&actions, from, to);
  }
  auto variables = environment_with(command.variables, sealed);
  std::vector<std::string> words{"zeroulp", plugin_keeper_command,
                                 sealed ? "sealed" : "trusted"};
  words.insert(words.end(), command.words.begin(), command.words.end());
  pid_t process = 0;
  const int error =
      ::posix_spawn(&process, "/proc/self/exe", &actions, nullptr,
                    pointers_of(words).data(), pointers_of(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  errno = error;
  return error == 0 ? process : -1;
}

}  // namespace

void fail_process(const std::string& what) {
  throw no_process(
      fmt::format("a plug-in's process: {}: {}", what, std::strerror(errno)));
}

int high_file(int fd, const char* what) {
  if (fd < 0) fail_process(what);
  const int up = ::fcntl(fd, F_DUPFD_CLOEXEC, 10);
  ::close(fd);
  if (up < 0) fail_process(what);
  return up;
}

kept_process::kept_process(const command_line& command, bool sealed, int memory,
                           int output) {
  const connection calls;
  const connection control;
  socket_ = std::make_unique<line_socket>(calls.mine);
  control_ = std::make_unique<line_socket>(control.mine);
  keeper_ = start_keeper(command, sealed,
                         {{output, 1},
                          {output, 2},
                          {calls.theirs, socket_fd},
                          {memory, memory_fd},
                          {control.theirs, control_fd}});
  const int error = errno;
  ::close(calls.theirs);
  ::close(control.theirs);
  if (keeper_ < 0) {
    keeper_ = 0;
    kill();
    errno = error;
    fail_process("it cannot be started");
  }
  try {
    read_start();
  } catch (...) {
    kill();
    throw;
  }
}

kept_process::~kept_process() { kill(); }

void kept_process::read_start() {
  std::string line;
  control_->receive(line, -1);
  const auto words = words_of(line);
  if (words.size() == 2 && words[0] == "bad") {
    throw no_process(one_line(from_word(words[1])));
  }
  if (words.size() != 3 || words[0] != "started") {
    throw no_process("a plug-in's process: its keeper has ended");
  }
  id_ = whole_number<pid_t>(words[1]).value_or(0);
  if (words[2] != "-") missing_ = from_word(words[2]);
}

void kept_process::ask_to_end() {
  if (socket_ == nullptr) return;
  control_->send("end");
  ::close(socket_->fd());
  socket_.reset();
}

kept_process::end_result kept_process::wait() {
  ask_to_end();
  return read_end();
}

kept_process::end_result kept_process::kill() {
  if (control_ != nullptr) control_->send("kill");
  ask_to_end();
  return read_end();
}

kept_process::end_result kept_process::read_end() {
  if (control_ == nullptr) return {};
  end_result r{SIGKILL, 0};
  std::string line;
  const auto got = control_->receive(line, longest_end);
  const auto words = words_of(line);
  if (got == line_socket::result::line && words.size() == 3) {
    r.status = whole_number<int>(words[1]).value_or(SIGKILL);
    r.left = whole_number<int>(words[2]).value_or(0);
  }
  ::close(control_->fd());
  control_.reset();
  if (keeper_ == 0) return r;
  if (got == line_socket::result::timeout) ::kill(keeper_, SIGKILL);
  while (::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
  }
  keeper_ = 0;
  return r;
}

}  // namespace zeroulp::conformance::plugin
