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
    const bool is_known = total > 0;
    const bool end = is_known && done >= total;
    if (done <= 0 || (now - last < pause && !end)) return;
    last = now;
    const double seconds = std::chrono::duration<double>(now - start).count();
    const std::string far =
        is_known ? fmt::format("{:3.0f} %, {:.0f} s left", 100 * done / total,
                               seconds * (total - done) / done)
                 : fmt::format("{:.0f} done, {:.0f} s", done, seconds);
    print_error(fmt::format("\r{}{}{}\033[K", far, besides.empty() ? "" : ", ",
                            besides));
    if (end) print_error("\r\033[K");
  };
}

}  // namespace zeroulp::program
