// The program zeroulp: maps what went wrong to one line and an exit status (0
// held, 1 mismatch, 2 bad request).

#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "plugin_worker.hpp"
#include "program.hpp"

namespace {

int fail(std::string_view message) {
  // input_error makes any text one line.
  fmt::print(stderr, "zeroulp: {}\n", zeroulp::input_error(message).what());
  return 2;
}

extern "C" void leave_nothing_half_written(int signal) {
  zeroulp::output_set::abandon_all();
  ::raise(signal);  // what it does otherwise, when this returns
}

void handle_signals() {
  struct sigaction action = {};
  action.sa_handler = leave_nothing_half_written;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigfillset(&action.sa_mask);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction before = {};
    // nohup and the background of a shell have reasons to ignore some.
    if (::sigaction(signal, nullptr, &before) != 0) continue;
    if (before.sa_handler == SIG_DFL) ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> all(argv, argv + argc);
    const auto status = zeroulp::program::run_plugin_process(argc, argv);
    if (status) return *status;
    handle_signals();
    return zeroulp::program::run({all.begin() + !all.empty(), all.end()});
  } catch (const std::bad_alloc&) {
    return fail("not enough memory: use smaller matrices");
  } catch (const std::exception& e) {
    return fail(e.what());
  }
}
