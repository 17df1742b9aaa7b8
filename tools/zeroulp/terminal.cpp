#include "tools/zeroulp/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "src/base/whole_number.hpp"

namespace zeroulp::program {
namespace {

/// A table that has less room is no table any more.
constexpr std::size_t least = 20;

}  // namespace

std::size_t terminal_width() {
  if (::isatty(STDOUT_FILENO) == 0) return 0;
  const char* wanted = std::getenv("COLUMNS");
  const auto own = whole_number<std::size_t>(wanted == nullptr ? "" : wanted);
  if (own && *own > 0) return std::max(*own, least);
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return 0;
  }
  return std::max<std::size_t>(size.ws_col, least);
}

}  // namespace zeroulp::program
