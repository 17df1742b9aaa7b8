// Defines an injected outlier as blocks of parameters.
//
//   channel   one channel of each norm 2^k larger: the columns of what reads it
//             (the projections, the router, `up`) 2^k smaller
//   unit      one unit of each SwiGLU, a row of `up`: the column of `down` that
//             reads it 2^k smaller
//
// It stands among elements that share a scale, whatever their group. Exact
// arithmetic and BF16 compute the same as without, barring underflow. The last
// norm is left alone: the head is BF16. Internal.

#ifndef ZEROULP_TOOLS_STUDY_LOSS_STRESS_HPP_
#define ZEROULP_TOOLS_STUDY_LOSS_STRESS_HPP_

#include "tools/study/loss/study.hpp"
#include "tools/train/run.hpp"

namespace zeroulp::loss {

std::vector<train::scaled_block> stress_of(const train::model_shape& shape,
                                           const loss_outlier& by);

}  // namespace zeroulp::loss

#endif  // ZEROULP_TOOLS_STUDY_LOSS_STRESS_HPP_
