// Defines what is measured of an arm beside BF16: the gap at the same state,
// and paired forks.
//
//   same state   (loss' - loss) / loss;  |g' - g| / |g|;  cos(g', g);
//                <g', g> / <g, g>, whose distance from 1 is the bias
//   forks        from one state, the same batches: the mean over steps of
//                (loss' - loss) / loss; over seeds a 90 % interval of
//                Student's t
//
// Internal.

#ifndef ZEROULP_TOOLS_STUDY_LOSS_GAP_HPP_
#define ZEROULP_TOOLS_STUDY_LOSS_GAP_HPP_

#include "tools/train/run.hpp"

namespace zeroulp::loss {

using train::any_run;
using pass = train::pass_outputs<train::engine_ops>;

/// One gradient's error. Without a gradient on both sides: 0, 1, 1.
struct gradient_gap {
  double relative = 0;
  double cosine = 1;
  double slope = 1;
};

struct state_gap {
  double loss = 0;  ///< relative change
  gradient_gap all;
  std::vector<gradient_gap> each;  ///< by parameter
};

/// Nats a token.
double loss_of(const pass& p);
state_gap compare(const pass& ours, const pass& base);

/// The losses of the next steps.
std::vector<double> losses_of(any_run& run, int steps);
/// The mean over `steps` of the relative difference of losses.
double fork_gap(const std::vector<double>& losses,
                const std::vector<double>& base_losses, int steps);

struct interval {
  double mean;
  double low;
  double high;
};
/// 90 %, Student's t; of at least two numbers.
interval confidence(const std::vector<double>& x);

}  // namespace zeroulp::loss

#endif  // ZEROULP_TOOLS_STUDY_LOSS_GAP_HPP_
