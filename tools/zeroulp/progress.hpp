// Defines progress on standard error, where that is a terminal.

#ifndef ZEROULP_TOOLS_ZEROULP_PROGRESS_HPP_
#define ZEROULP_TOOLS_ZEROULP_PROGRESS_HPP_

#include <functional>
#include <string>

namespace zeroulp::program {

/// Tells how much is done of how much (0: nobody knows), and something besides,
/// such as a rate.
using progress =
    std::function<void(double done, double total, const std::string& besides)>;

/// Returns what prints percents and an estimate of the time left, several times
/// a second; on no terminal, nothing.
progress make_progress();

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_PROGRESS_HPP_
