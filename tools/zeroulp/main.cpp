// The program zeroulp: maps what went wrong to one line and an exit status (0
// held, 1 mismatch, 2 bad request), and leaves nothing half written.

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "tools/zeroulp/plugin/worker.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/startup.hpp"

namespace {

int fail(std::string_view message) noexcept {
  try {
    // input_error makes any text one line.
    zeroulp::program::print_error(
        fmt::format("zeroulp: {}\n", zeroulp::input_error(message).what()));
  } catch (const std::exception&) {
    zeroulp::program::print_error("zeroulp: not enough memory\n");
  }
  return 2;
}

/// The status for what was thrown, which is said.
int fail_by(const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return fail(
        "not enough memory: use smaller matrices, or allow more (ulimit -v)");
  } catch (const std::system_error& e) {
    const std::string what = e.what();
    if (e.code() != std::errc::resource_unavailable_try_again) {
      return fail(what);
    }
    // std::thread says no more than the code.
    return fail(
        (what == e.code().message() ? "a thread cannot be started" : what) +
        ": allow more of them (ulimit -u) or more memory (ulimit -v)");
  } catch (const std::exception& e) {
    return fail(e.what());
  } catch (...) {
    return fail("ended by an unknown exception");
  }
}

/// For an exception that leaves a thread, or a loop that runs on several.
[[noreturn]] void end_by_exception() {
  zeroulp::output_set::abandon_all();
  const auto thrown = std::current_exception();
  if (!thrown) std::abort();
  ::_exit(fail_by(thrown));
}

bool is_over = false;

/// Only the runtime of OpenMP calls exit() before main() returns, with status
/// 1, when it lacks memory; it has said so.
void end_by_runtime() {
  if (is_over) return;
  zeroulp::output_set::abandon_all();
  ::_exit(2);
}

extern "C" void end_by_signal(int signal, siginfo_t* info, void*) {
  // A write beyond a limit also fails: that is said.
  if (signal == SIGXFSZ && info->si_pid == ::getpid()) return;
  if (signal == SIGABRT && zeroulp::program::is_refused_by_openmp()) ::_exit(2);
  zeroulp::output_set::abandon_all();
  zeroulp::program::release_standard_error();
  ::signal(signal, SIG_DFL);
  ::raise(signal);  // when this returns
}

/// Of those that can be caught.
bool ends_the_process(int signal) {
  for (const int other :
       {SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGTSTP, SIGTTIN, SIGTTOU}) {
    if (signal == other) return false;
  }
  return true;
}

void handle_signals() {
  struct sigaction action = {};
  action.sa_sigaction = end_by_signal;
  action.sa_flags = SA_SIGINFO;
  ::sigfillset(&action.sa_mask);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction before = {};
    // nohup and the background of a shell have reasons to ignore some.
    if (!ends_the_process(signal) ||
        ::sigaction(signal, nullptr, &before) != 0) {
      continue;
    }
    if (before.sa_handler == SIG_DFL) ::sigaction(signal, &action, nullptr);
  }
}

int run(int argc, char** argv) {
  using namespace zeroulp::program;
  if (is_plugin_process(argc, argv)) {
    release_standard_error();
    return run_plugin_process(argc, argv);
  }
  handle_signals();
  std::atexit(end_by_runtime);
  std::set_terminate(end_by_exception);
  const auto complaint = finish_startup();
  if (!complaint.empty()) return fail(complaint);
  const std::vector<std::string> all(argv, argv + argc);
  return zeroulp::program::run({all.begin() + !all.empty(), all.end()});
}

}  // namespace

int main(int argc, char** argv) {
  int status = 0;
  try {
    status = run(argc, argv);
  } catch (...) {
    status = fail_by(std::current_exception());
  }
  is_over = true;
  return status;
}
