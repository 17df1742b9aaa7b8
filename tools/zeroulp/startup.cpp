#include "tools/zeroulp/startup.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>
#include <string_view>

namespace zeroulp::program {
namespace {

/// A file in memory that stands for standard error, and standard error.
int held = -1;
int users = -1;

/// No file that is opened later may get the number of a standard stream: what
/// is printed would go into it. A directory can neither be read nor written.
void open_standard_streams() {
  for (int fd = 0; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
      (void)::open("/", O_RDONLY | O_DIRECTORY);
    }
  }
}

void hold_standard_error() {
  held = ::memfd_create("zeroulp-stderr", MFD_CLOEXEC);
  users = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (held < 0 || users < 0 || ::dup2(held, STDERR_FILENO) < 0) users = -1;
}

/// Calls use(bytes) with what was held back, piece by piece.
template <class Use>
void take_held(Use use) {
  if (users < 0) return;
  ::dup2(users, STDERR_FILENO);
  ::close(users);
  users = -1;
  char bytes[512];
  off_t at = 0;
  for (ssize_t n; (n = ::pread(held, bytes, sizeof bytes, at)) > 0; at += n) {
    use(bytes, static_cast<std::size_t>(n));
  }
  ::close(held);
}

void before_constructors() {
  open_standard_streams();
  hold_standard_error();
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ZEROULP_SANITIZED
#endif
#endif

#ifndef ZEROULP_SANITIZED
[[gnu::section(".preinit_array"),
  gnu::used]] void (*at_start)() = before_constructors;
#endif

volatile sig_atomic_t is_starting = 0;

/// Has the runtime of OpenMP read its variables, if it has not.
void start_openmp() {
#ifdef _OPENMP
  is_starting = 1;
  (void)omp_get_max_threads();
  is_starting = 0;
#endif
}

bool is_complaint(std::string_view line) {
  return line.starts_with("libgomp: ") || line.starts_with("OMP: Warning") ||
         line.starts_with("OMP: Error");
}

}  // namespace

void release_standard_error() noexcept {
  take_held([](const char* bytes, std::size_t n) {
    (void)!::write(STDERR_FILENO, bytes, n);
  });
}

bool is_refused_by_openmp() noexcept {
  if (is_starting == 0) return false;
  take_held([](const char*, std::size_t) {});
  constexpr std::string_view line =
      "zeroulp: the environment: the runtime of OpenMP cannot start by it; "
      "correct or unset OMP_NUM_THREADS, and what else begins with OMP_ or "
      "KMP_\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  return true;
}

std::string finish_startup() {
#ifdef ZEROULP_SANITIZED
  before_constructors();  // the sanitizer would not be ready before
#endif
  start_openmp();
  std::string all;
  take_held([&all](const char* bytes, std::size_t n) { all.append(bytes, n); });
  std::string complaints;
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    if (is_complaint(line)) complaints += line + "; ";
  }
  if (!complaints.empty()) {
    return "the environment: " + complaints + "correct or unset what it names";
  }
  (void)!::write(STDERR_FILENO, all.data(), all.size());
  return "";
}

}  // namespace zeroulp::program
