// Defines what the page of the study says of loss.json.

#ifndef ZEROULP_TOOLS_ZEROULP_STUDY_LOSS_PAGE_HPP_
#define ZEROULP_TOOLS_ZEROULP_STUDY_LOSS_PAGE_HPP_

#include <vector>

#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

inline constexpr const char* loss_heading = "From GEMM to loss";

/// The change of the loss of each arm at the same state, in forks and under
/// outliers, of those that `loss` has: means over seeds with their 90 %
/// intervals as error bars, in percent, and the bound.
std::vector<plot> loss_plots(const json& loss);

/// Its verdicts, the plots, and the intervals as tables. `loss` is loss.json,
/// or null where there is none.
void add_loss(const json& loss, html_page& page);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_STUDY_LOSS_PAGE_HPP_
