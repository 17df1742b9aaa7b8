#include "tools/zeroulp/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace zeroulp::program {
namespace {

constexpr double pause_on_terminal = 0.2;
constexpr double pause_elsewhere = 10;  ///< a log is read afterwards

bool is_wanted() {
  const char* wanted = std::getenv("ZEROULP_PROGRESS");
  return wanted == nullptr || std::string_view(wanted) != "0";
}

double seconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

/// What cannot be written there is lost, as everywhere.
void write_error(std::string_view text) {
  (void)!std::fwrite(text.data(), 1, text.size(), stderr);
}

std::string text_of(double done, double total, double seconds,
                    const std::string& besides) {
  const std::string far =
      total > 0 ? fmt::format("{:3.0f} %, {:.0f} s left", 100 * done / total,
                              seconds * (total - done) / done)
                : fmt::format("{:.0f} done, {:.0f} s", done, seconds);
  return fmt::format("{}{}{}", far, besides.empty() ? "" : ", ", besides);
}

}  // namespace

progress progress_to(bool is_terminal,
                     std::function<void(std::string_view)> write,
                     std::function<double()> seconds) {
  const double start = seconds();
  return [is_terminal, write = std::move(write), seconds = std::move(seconds),
          start, last = start](double done, double total,
                               const std::string& besides) mutable {
    const double now = seconds();
    const bool end = total > 0 && done >= total;
    const double pause = is_terminal ? pause_on_terminal : pause_elsewhere;
    // A line that stays need not say that all is done.
    const bool is_due = end ? is_terminal : now - last >= pause;
    if (done <= 0 || !is_due) return;
    last = now;
    const auto text = text_of(done, total, now - start, besides);
    write(is_terminal ? "\r" + text + "\033[K" : "zeroulp: " + text + "\n");
    if (end) write("\r\033[K");
  };
}

progress make_progress() {
  if (!is_wanted()) return [](double, double, const std::string&) {};
  return progress_to(::isatty(STDERR_FILENO) != 0, write_error, seconds_now);
}

}  // namespace zeroulp::program
