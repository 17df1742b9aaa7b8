// Defines schedules of a pipeline and what they cost: 1F1B, ZB1P and DualPipe,
// run with given durations.
//
//   idle time of a rank = the time that all need - the time that it works
//
// Messages take no time. 1F1B: rank s does PP - s forward passes, then a whole
// backward pass and a forward pass in turn. ZB1P splits the backward pass, and
// the gradients of weights of rank s wait for s more backward passes. DualPipe
// is in the order of SPEC N28. Sources: DeepSeek-V3's report, Table 2; Qi et
// al., "Zero Bubble Pipeline Parallelism", 2.1. Internal.

#ifndef ZEROULP_TOOLS_STUDY_PAPER_SCHEDULE_HPP_
#define ZEROULP_TOOLS_STUDY_PAPER_SCHEDULE_HPP_

#include <cstdint>
#include <vector>

#include "zeroulp/core/model/dual_pipe.hpp"

namespace zeroulp::study::paper {

enum class pipe_method : std::uint8_t { one_f_one_b, zb1p, dual_pipe };

/// Of a stage's passes, in any unit.
struct pipe_durations {
  std::int64_t forward;     ///< F
  std::int64_t inputs;      ///< backward of inputs: B - W
  std::int64_t weights;     ///< W
  std::int64_t overlapped;  ///< F&B

  constexpr std::int64_t backward() const { return inputs + weights; }
};

/// A pass of one micro-batch at a rank.
struct pipe_step {
  pipe_pass pass;
  int direction;
  int micro_batch;
};

/// What a rank does, in order. `micro_batches` is `stages` or more, of
/// DualPipe as dual_pipe_shape has it.
std::vector<pipe_step> steps_of(pipe_method method, int stages,
                                int micro_batches, int rank);

struct pipe_cost {
  std::int64_t total = 0;       ///< until all ranks are done
  std::int64_t least_idle = 0;  ///< of a rank
  std::int64_t most_idle = 0;
  int activations = 0;  ///< most micro-batches of a rank between F and W
  int stages_held = 0;  ///< whose weights a rank has
};

/// Runs it. Throws std::logic_error if ranks wait for each other.
pipe_cost cost_of(pipe_method method, int stages, int micro_batches,
                  const pipe_durations& d);

/// The report's idle time, Table 2.
constexpr std::int64_t table_idle(pipe_method method, int stages,
                                  const pipe_durations& d) {
  const std::int64_t b = d.backward();
  switch (method) {
    case pipe_method::one_f_one_b:
      return (stages - 1) * (d.forward + b);
    case pipe_method::zb1p:
      return (stages - 1) * (d.forward + b - 2 * d.weights);
    default:
      return (stages / 2 - 1) * (d.overlapped + b - 3 * d.weights);
  }
}

}  // namespace zeroulp::study::paper

#endif  // ZEROULP_TOOLS_STUDY_PAPER_SCHEDULE_HPP_
