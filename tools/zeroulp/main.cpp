// The program zeroulp: maps what went wrong to one line and an exit status (0
// held, 1 mismatch, 2 bad request).

#include <fmt/format.h>

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

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> all(argv, argv + argc);
    if (argc == 3 && all[1] == zeroulp::program::plugin_worker_command) {
      return zeroulp::program::run_plugin_worker(argv[2]);
    }
    return zeroulp::program::run({all.begin() + !all.empty(), all.end()});
  } catch (const std::bad_alloc&) {
    return fail("not enough memory: use smaller matrices");
  } catch (const std::exception& e) {
    return fail(e.what());
  }
}
