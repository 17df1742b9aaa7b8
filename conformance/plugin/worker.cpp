#include "conformance/plugin/worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "src/whole_number.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::conformance::plugin {
namespace {

/// Loading may take longer than a call: CUDA, Python.
constexpr double load_limit = 120;

/// What it prints is kept up to here.
constexpr off_t most_output = 1 << 20;

[[noreturn]] void fail(const char* what) {
  throw input_error(
      fmt::format("a plug-in's process: {}: {}", what, std::strerror(errno)));
}

/// An open file out of the way of those that the worker gets.
int high(int fd, const char* what) {
  if (fd < 0) fail(what);
  const int up = ::fcntl(fd, F_DUPFD_CLOEXEC, 10);
  ::close(fd);
  if (up < 0) fail(what);
  return up;
}

std::string_view name_in(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

/// The environment with these variables, where a sanitizer leaves signals as
/// they are.
std::vector<std::string> environment(std::vector<std::string> all) {
  constexpr std::string_view name = "ASAN_OPTIONS";
  const char* const options = std::getenv(name.data());
  all.push_back(fmt::format(
      "{}={}{}handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:"
      "handle_sigill=0:detect_leaks=0",
      name, options != nullptr ? options : "", options != nullptr ? ":" : ""));
  const auto ours = static_cast<std::ptrdiff_t>(all.size());
  for (char** at = environ; *at != nullptr; ++at) {
    const bool is_ours = std::any_of(
        all.begin(), all.begin() + ours,
        [at](const auto& entry) { return name_in(entry) == name_in(*at); });
    if (!is_ours) all.emplace_back(*at);
  }
  return all;
}

std::vector<char*> pointers_of(std::vector<std::string>& all) {
  std::vector<char*> pointers;
  for (auto& text : all) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Waits for the end of a process that is ending.
int status_of(pid_t process) {
  int status = 0;
  for (int tries = 0; ::waitpid(process, &status, WNOHANG) == 0; ++tries) {
    // It has closed its socket, or was killed; but it may have closed that one
    // alone.
    if (tries == 200) ::kill(process, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return status;
}

}  // namespace

worker::worker(command_line command, double limit)
    : command_(std::move(command)), limit_(limit) {
  memory_fd_ =
      high(::memfd_create("zeroulp-plugin", MFD_CLOEXEC), "memfd_create");
  output_fd_ =
      high(::memfd_create("zeroulp-output", MFD_CLOEXEC), "memfd_create");
  if (::ftruncate(memory_fd_, memory_bytes) != 0) fail("shared memory");
  // So that it may be cut while somebody writes.
  if (::fcntl(output_fd_, F_SETFL, O_APPEND) != 0) fail("its output");
  void* const at = ::mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_NORESERVE, memory_fd_, 0);
  if (at == MAP_FAILED) fail("shared memory");
  memory_ = static_cast<unsigned char*>(at);
}

worker::~worker() {
  if (process_ != 0) end(true);
  if (memory_ != nullptr) ::munmap(memory_, memory_bytes);
  if (memory_fd_ >= 0) ::close(memory_fd_);
  if (output_fd_ >= 0) ::close(output_fd_);
}

std::vector<std::string> worker::start() {
  if (process_ != 0) return {};
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    fail("socketpair");
  }
  const int mine = high(ends[0], "socketpair");
  const int theirs = high(ends[1], "socketpair");
  if (::ftruncate(output_fd_, 0) != 0) fail("its output");
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output_fd_, 1);
  posix_spawn_file_actions_adddup2(&files, output_fd_, 2);
  posix_spawn_file_actions_adddup2(&files, theirs, socket_fd);
  posix_spawn_file_actions_adddup2(&files, memory_fd_, memory_fd);
  auto variables = environment(command_.variables);
  auto arguments = command_.words;
  const int error = ::posix_spawnp(&process_, command_.words[0].c_str(), &files,
                                   nullptr, pointers_of(arguments).data(),
                                   pointers_of(variables).data());
  posix_spawn_file_actions_destroy(&files);
  ::close(theirs);
  if (error != 0) {
    ::close(mine);
    process_ = 0;
    errno = error;
    fail(command_.words[0].c_str());
  }
  socket_ = std::make_unique<line_socket>(mine);
  std::vector<std::string> lines;
  for (std::string line;;) {
    const auto got = socket_->receive(line, load_limit);
    if (got != line_socket::result::line) {
      const auto how = end(got == line_socket::result::timeout, command_.hint);
      throw input_error(
          fmt::format("{}: while it was loaded, it {}", command_.file(),
                      got == line_socket::result::timeout
                          ? fmt::format("took more than {} s", load_limit)
                          : how.what()));
    }
    if (line.starts_with("bad ")) {
      end(true);
      throw input_error(fmt::format("{}: {}", command_.file(),
                                    one_line(from_word(line.substr(4)))));
    }
    if (line == "ready") return lines;
    lines.push_back(line);
  }
}

call_end worker::call(const std::string& line) {
  start();
  if (output_size() > most_output && ::ftruncate(output_fd_, 0) != 0) {
    fail("its output");
  }
  if (!socket_->send(line)) throw end(false);
  std::string answer;
  const auto got = socket_->receive(answer, limit_);
  if (got != line_socket::result::line) {
    throw end(got == line_socket::result::timeout);
  }
  const auto words = words_of(answer);
  if (words.size() == 2 && words[0] == "done") {
    if (const auto status = whole_number<int>(words[1])) return {*status};
  }
  // It can say the rest, but may not be usable: a device after a fault is not.
  end(true);
  if (words.size() == 3 && words[0] == "stray") {
    const auto at = whole_number<std::ptrdiff_t>(words[2]);
    if (at) return {0, std::string(words[1]), *at};
  }
  throw call_failure(fault::failed, words.size() == 2 && words[0] == "bad"
                                        ? one_line(from_word(words[1]))
                                        : "its process said something else");
}

call_failure worker::end(bool hung, const std::string& hint) {
  if (hung) ::kill(process_, SIGKILL);
  ::close(socket_->fd());
  socket_.reset();
  const int status = status_of(process_);
  process_ = 0;
  if (hung) {
    return {fault::hung, fmt::format("gave no answer in {} s", limit_)};
  }
  const std::string said = last_words();
  const std::string text = said.empty() ? "" : ": " + said;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {fault::signal, fmt::format("died of signal {}, {}{}", signal,
                                       strsignal(signal), text)};
  }
  const int code = WEXITSTATUS(status);
  return {fault::ended, fmt::format("ended its process with status {}{}{}",
                                    code, text, code == 0 ? hint : "")};
}

off_t worker::output_size() const {
  struct stat about {};
  return ::fstat(output_fd_, &about) == 0 ? about.st_size : 0;
}

std::string worker::last_words() const {
  char part[512];
  const auto from = std::max<off_t>(0, output_size() - off_t{sizeof part});
  const auto n = ::pread(output_fd_, part, sizeof part, from);
  std::string_view text(part, n > 0 ? static_cast<std::size_t>(n) : 0);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return one_line(std::string(text.substr(text.rfind('\n') + 1)));
}

}  // namespace zeroulp::conformance::plugin
