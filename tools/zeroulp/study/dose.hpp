// Defines what is shown of doses: what accumulators of few bits err by, and
// what that does to a loss and its gradients.

#ifndef ZEROULP_TOOLS_ZEROULP_STUDY_DOSE_HPP_
#define ZEROULP_TOOLS_ZEROULP_STUDY_DOSE_HPP_

#include <vector>

#include "tools/study/loss/study.hpp"
#include "tools/study/report/report.hpp"

namespace zeroulp::program {

inline constexpr const char* dose_files[] = {
    "dose_loss_frobenius.svg", "dose_loss_max.svg",
    "dose_gradient_frobenius.svg", "dose_gradient_max.svg"};

/// What the accumulators of a size err by, in percent.
table dose_table(const loss_result& r);

/// The loss gap of forks and the gradients' error, each by the Frobenius error
/// and by the largest over the mean. Bars are 90 % intervals over seeds, of
/// magnitudes: one of a loss that may not have changed reaches 0. To
/// dose_files.
std::vector<named_plot> dose_figures(const loss_result& r);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_STUDY_DOSE_HPP_
