// Defines progress on standard error: a line that is written again and again
// where that is a terminal, else a line every ten seconds.

#ifndef ZEROULP_TOOLS_ZEROULP_PROGRESS_HPP_
#define ZEROULP_TOOLS_ZEROULP_PROGRESS_HPP_

#include <functional>
#include <string>
#include <string_view>

namespace zeroulp::program {

/// Tells how much is done of how much (0: nobody knows), and something besides,
/// such as a rate.
using progress =
    std::function<void(double done, double total, const std::string& besides)>;

/// Returns what prints percents and an estimate of the time left to standard
/// error. ZEROULP_PROGRESS=0 in the environment prints none.
progress make_progress();

/// The same of any stream and clock. `seconds` is read in each call.
progress progress_to(bool is_terminal,
                     std::function<void(std::string_view)> write,
                     std::function<double()> seconds);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_PROGRESS_HPP_
