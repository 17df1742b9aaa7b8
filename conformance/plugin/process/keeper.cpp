// The keeper: starts a plug-in's program and ends all that it leaves.

#include "conformance/plugin/process/keeper.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "conformance/plugin/process/own_folder.hpp"
#include "conformance/plugin/process/plugin_start.hpp"
#include "conformance/plugin/process/processes.hpp"
#include "conformance/plugin/process/protocol.hpp"
#include "conformance/plugin/process/supervisor.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::conformance::plugin {
namespace {

using clock = std::chrono::steady_clock;

/// Time for a program to end by itself: an interpreter tears down its pools.
constexpr auto patience = std::chrono::seconds(2);
/// Time for the helpers of an ended program: they see the end of a pipe.
constexpr auto aftermath = std::chrono::milliseconds(300);
/// Time for processes that the kernel does not end: a driver that hangs.
constexpr auto longest_kill = std::chrono::seconds(10);

class keeper {
 public:
  keeper(const started_plugin& of, int signals)
      : program_(of.process),
        signals_(signals),
        control_(control_fd),
        supervisor_(of.listener, ::getpid()) {
    control_.send(fmt::format("started {} {}", program_,
                              of.missing.empty() ? "-" : to_word(of.missing)));
  }

  /// Returns when the program has ended and nothing of it is left.
  void keep() {
    std::optional<clock::time_point> end;
    while (!status_ && (!end || clock::now() < *end)) {
      const auto word = wait_for_word(end);
      if (word == "end") end = clock::now() + patience;
      if (word == "kill") break;
    }
    supervisor_.close();
    const int left = status_ && end ? count_left() : 0;
    end_all();
    control_.send(fmt::format("ended {} {}", status_.value_or(SIGKILL), left));
  }

 private:
  /// Waits for a word from zeroulp, a child's end, or a question to the
  /// supervisor. Returns "kill" if zeroulp is gone or this process is to end,
  /// and "" if there is no word.
  std::string wait_for_word(std::optional<clock::time_point> until) {
    std::array<pollfd, 3> files{{{control_fd, POLLIN, 0},
                                 {signals_, POLLIN, 0},
                                 {supervisor_.listener(), POLLIN, 0}}};
    int milliseconds = -1;
    if (until) {
      milliseconds =
          1 + static_cast<int>(
                  std::chrono::duration_cast<std::chrono::milliseconds>(
                      *until - clock::now())
                      .count());
    }
    if (::poll(files.data(), files.size(), milliseconds) <= 0) return "";
    if ((files[2].revents & POLLIN) != 0) supervisor_.answer();
    if ((files[2].revents & (POLLHUP | POLLERR)) != 0) supervisor_.close();
    if ((files[1].revents & POLLIN) != 0 && !is_about_children()) return "kill";
    if (files[0].revents == 0) return "";
    std::string word;
    const auto got = control_.receive(word, 0);
    return got == line_socket::result::line ? word : "kill";
  }

  /// Reads a signal. Returns false if this process is to end.
  bool is_about_children() {
    signalfd_siginfo signal{};
    if (::read(signals_, &signal, sizeof signal) != sizeof signal) return true;
    reap();
    return signal.ssi_signo == SIGCHLD;
  }

  /// Collects ended children. Returns false if no child is left.
  bool reap() {
    for (;;) {
      int status = 0;
      const pid_t ended = ::waitpid(-1, &status, WNOHANG);
      if (ended <= 0) return ended == 0;
      if (ended == program_) status_ = status;
    }
  }

  /// Counts the processes that do not end soon after the program.
  int count_left() {
    const auto end = clock::now() + aftermath;
    while (reap() && clock::now() < end) pause();
    return static_cast<int>(descendants_of(::getpid()).size());
  }

  /// Kills every descendant. This process inherits the children of a killed
  /// one.
  void end_all() {
    const auto end = clock::now() + longest_kill;
    while (reap() && clock::now() < end) {
      for (const auto& p : descendants_of(::getpid())) ::kill(p.id, SIGKILL);
      if (!status_) ::kill(program_, SIGKILL);  // if there is no /proc
      pause();
    }
  }

  /// Waits until a child ends, but not for long.
  void pause() {
    pollfd file{signals_, POLLIN, 0};
    if (::poll(&file, 1, 2) > 0) is_about_children();
  }

  pid_t program_;
  int signals_;
  line_socket control_;
  supervisor supervisor_;
  std::optional<int> status_;  ///< of the program, once it has ended
};

/// Closes the other files that zeroulp left open.
void close_others() {
  std::vector<int> files;
  std::error_code none;
  std::filesystem::directory_iterator at("/proc/self/fd", none);
  for (; !none && at != std::filesystem::directory_iterator();
       at.increment(none)) {
    files.push_back(std::atoi(at->path().filename().c_str()));
  }
  for (const int file : files) {
    if (file > control_fd) ::close(file);
  }
}

/// From now on signals come as input: SIGCHLD, and the requests to end.
int take_signals() {
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t mask;
  sigemptyset(&mask);
  for (const int s : {SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGQUIT}) {
    sigaddset(&mask, s);
  }
  ::sigprocmask(SIG_BLOCK, &mask, nullptr);
  return ::signalfd(-1, &mask, SFD_CLOEXEC);
}

}  // namespace

int run_plugin_keeper(int count, char** arguments) {
  const std::string_view how = count > 3 ? arguments[2] : "";
  if ((how != "sealed" && how != "trusted") ||
      ::fcntl(control_fd, F_SETFD, FD_CLOEXEC) != 0) {
    std::fputs("zeroulp: plugin-keeper is started by zeroulp alone\n", stderr);
    return 2;
  }
  // Ctrl-C is for zeroulp; this process sees zeroulp's end.
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  close_others();
  const int signals = take_signals();
  try {
    std::unique_ptr<own_folder> folder;
    if (how == "sealed") folder = std::make_unique<own_folder>();
    const auto plugin =
        start_plugin(arguments + 3, folder ? folder->path() : "");
    keeper(plugin, signals).keep();
    remove_openmp_mark(plugin.process);
  } catch (const input_error& e) {
    line_socket(control_fd).send("bad " + to_word(e.what()));
    return 2;
  }
  return 0;
}

}  // namespace zeroulp::conformance::plugin
