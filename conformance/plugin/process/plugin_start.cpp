// Starts a plug-in's program: fork, seal, exec.

#include "conformance/plugin/process/plugin_start.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "conformance/plugin/process/protocol.hpp"
#include "conformance/plugin/process/seal.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::conformance::plugin {
namespace {

[[noreturn]] void fail(const char* what, int error) {
  throw input_error(
      fmt::format("a plug-in's process: {}: {}", what, std::strerror(error)));
}

/// A message from the new process before it becomes the program.
struct report {
  enum kind : std::uint8_t { sealed, no_program } what;
  std::string text;   ///< sealed: what is missing
  int listener = -1;  ///< sealed
};

/// Room for a message with one open file.
struct parcel {
  explicit parcel(iovec& text) {
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
  }
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
};

void send(int socket, const report& r) {
  std::string text(1, static_cast<char>(r.what));
  text += r.text;
  iovec part{text.data(), text.size()};
  parcel p(part);
  if (r.listener < 0) {
    p.message.msg_controllen = 0;
  } else {
    cmsghdr* const file = CMSG_FIRSTHDR(&p.message);
    file->cmsg_level = SOL_SOCKET;
    file->cmsg_type = SCM_RIGHTS;
    file->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(file), &r.listener, sizeof(int));
  }
  ::sendmsg(socket, &p.message, MSG_NOSIGNAL);
}

/// Returns false when the socket closes: the process ended or is the program.
bool receive(int socket, report& r) {
  char text[512];
  iovec part{text, sizeof text};
  parcel p(part);
  const auto size = ::recvmsg(socket, &p.message, MSG_CMSG_CLOEXEC);
  if (size <= 0) return false;
  r.what = static_cast<report::kind>(text[0]);
  r.text.assign(text + 1, static_cast<std::size_t>(size) - 1);
  const cmsghdr* const file = CMSG_FIRSTHDR(&p.message);
  if (file != nullptr && file->cmsg_type == SCM_RIGHTS) {
    std::memcpy(&r.listener, CMSG_DATA(file), sizeof(int));
  }
  return true;
}

std::string openmp_mark(pid_t process) {
  return fmt::format("/dev/shm/__KMP_REGISTERED_LIB_{}_{}", process,
                     ::getuid());
}

/// Makes the file that LLVM's OpenMP needs: a library that cannot make it ends
/// the process. Nothing else of /dev/shm need then be writable. A file that is
/// there already is left from a killed process of the same number: the sealed
/// library would try to remove it for ever.
std::string make_openmp_mark() {
  const auto path = openmp_mark(::getpid());
  ::unlink(path.c_str());
  const int file = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_EXCL,
                          S_IRUSR | S_IWUSR);
  constexpr off_t room = 1024;  // the library maps so many bytes
  if (file >= 0 && ::ftruncate(file, room) == 0) ::close(file);
  return path;
}

[[noreturn]] void become(char** program, const std::string& folder,
                         pid_t keeper, int tell) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != keeper) ::_exit(2);
  ::setsid();
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  report r{report::sealed, "", -1};
  if (!folder.empty()) {
    for (const char* name : {"HOME", "TMPDIR"}) {
      ::setenv(name, folder.c_str(), 1);
    }
    auto result = seal_this_process(folder, {make_openmp_mark()});
    r.text = std::move(result.missing);
    r.listener = result.listener;
  }
  send(tell, r);
  ::execvp(program[0], program);
  send(tell, {report::no_program, std::strerror(errno), -1});
  ::_exit(2);
}

}  // namespace

started_plugin start_plugin(char** program, const std::string& folder) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    fail("socketpair", errno);
  }
  const pid_t keeper = ::getpid();
  started_plugin started;
  started.process = ::fork();
  if (started.process == 0) become(program, folder, keeper, ends[1]);
  const int error = errno;
  for (const int file : {socket_fd, memory_fd, ends[1]}) ::close(file);
  if (started.process < 0) fail("fork", error);
  report r{report::sealed, "", -1};
  while (receive(ends[0], r)) {
    if (r.what == report::no_program) {
      ::waitpid(started.process, nullptr, 0);
      remove_openmp_mark(started.process);
      throw input_error(
          fmt::format("a plug-in's process: {}: {}", program[0], r.text));
    }
    started.missing = r.text;
    started.listener = r.listener;
    // The seal's rule for this folder lasts only while the folder is known.
    const auto threads = fmt::format("/proc/{}/task", started.process);
    started.threads = ::open(threads.c_str(), O_PATH | O_CLOEXEC);
  }
  ::close(ends[0]);
  return started;
}

void remove_openmp_mark(pid_t process) {
  ::unlink(openmp_mark(process).c_str());
}

}  // namespace zeroulp::conformance::plugin
