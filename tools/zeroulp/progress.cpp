#include "tools/zeroulp/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

progress make_progress() {
  if (isatty(STDERR_FILENO) == 0) {
    return [](double, double, const std::string&) {};
  }
  using clock = std::chrono::steady_clock;
  static constexpr auto pause = std::chrono::milliseconds(200);
  return [start = clock::now(), last = clock::now()](
             double done, double total, const std::string& besides) mutable {
    const auto now = clock::now();
    const bool end = done >= total;
    if (done <= 0 || (now - last < pause && !end)) return;
    last = now;
    const double seconds = std::chrono::duration<double>(now - start).count();
    print_error(fmt::format("\r{:3.0f} %, {:.0f} s left{}{}\033[K",
                            100 * done / total, seconds * (total - done) / done,
                            besides.empty() ? "" : ", ", besides));
    if (end) print_error("\r\033[K");
  };
}

}  // namespace zeroulp::program
