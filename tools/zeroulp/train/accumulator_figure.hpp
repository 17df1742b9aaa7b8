// Defines the figures of a campaign that show its gaps by the errors of the
// arms' accumulators.

#ifndef ZEROULP_TOOLS_ZEROULP_TRAIN_ACCUMULATOR_FIGURE_HPP_
#define ZEROULP_TOOLS_ZEROULP_TRAIN_ACCUMULATOR_FIGURE_HPP_

#include <vector>

#include "tools/study/parity/report.hpp"
#include "tools/study/report/report.hpp"

namespace zeroulp::program {

/// The held-out gaps of the arms whose Linears sum FP8 products in one way, by
/// the error of that sum at K = 4096: the largest over the mean, and Frobenius.
/// None if all arms sum in the same way.
std::vector<named_plot> accumulator_figures(const parity::plan& p,
                                            const parity::campaign_report& r);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_TRAIN_ACCUMULATOR_FIGURE_HPP_
