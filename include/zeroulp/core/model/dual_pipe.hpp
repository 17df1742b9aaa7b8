// Defines DualPipe's schedule: what each rank of a pipeline does, in order,
// where micro-batches enter from both ends and gradients of weights may wait.
//
//   f0  forward of the next micro-batch of the near direction
//   b1  backward of inputs of the next one of the far direction
//   w   gradients of weights of the backward pass that waits longest
//
// Integers only. A rank of the first half has the first direction as its near
// one. Source: SPEC clause N28; DeepSeek-V3's report, 3.2.1 and Figure 5;
// DeepSeek's DualPipe, README.md (phases of a rank).

#ifndef ZEROULP_CORE_MODEL_DUAL_PIPE_HPP_
#define ZEROULP_CORE_MODEL_DUAL_PIPE_HPP_

#include "zeroulp/core/view.hpp"

namespace zeroulp {

/// `stages` is even; `micro_batches` is even and 2 stages or more. The first
/// half of the micro-batches passes stage s at rank s, the second half at rank
/// stages - 1 - s.
struct dual_pipe_shape {
  std::ptrdiff_t stages;
  std::ptrdiff_t micro_batches;
};

ZEROULP_HD constexpr bool is_valid(const dual_pipe_shape& s) {
  return s.stages > 0 && s.stages % 2 == 0 && s.micro_batches % 2 == 0 &&
         s.micro_batches / 2 >= s.stages && s.micro_batches <= 0x20000000;
}

enum class pipe_pass : std::uint8_t { forward, backward, weights };

/// The columns of a table of what a rank does.
inline constexpr std::ptrdiff_t pipe_columns = 3;

namespace detail {

/// A pass of the near direction or of the far one.
struct pipe_move {
  pipe_pass pass;
  bool far;
};
namespace pipe_moves {
inline constexpr pipe_move f0{pipe_pass::forward, false};
inline constexpr pipe_move f1{pipe_pass::forward, true};
inline constexpr pipe_move b0{pipe_pass::backward, false};
inline constexpr pipe_move b1{pipe_pass::backward, true};
inline constexpr pipe_move w{pipe_pass::weights, false};
}  // namespace pipe_moves

/// What one rank does: rows of pass, direction, micro-batch.
class pipe_rank {
 public:
  ZEROULP_HD constexpr pipe_rank(std::ptrdiff_t half, bool mirrored,
                                 matrix_view<std::int32_t> steps)
      : half_(half), mirrored_(mirrored), steps_(steps) {}

  /// Does the moves, in order, so many times.
  template <class... Moves>
  ZEROULP_HD constexpr void repeat(std::ptrdiff_t times, Moves... moves) {
    for (std::ptrdiff_t i = 0; i < times; ++i) (add_move(moves), ...);
  }

 private:
  ZEROULP_HD constexpr void add_move(pipe_move move) {
    if (move.pass == pipe_pass::weights) {
      add_weights();
    } else {
      add_next(move.pass, move.far);
    }
  }
  ZEROULP_HD constexpr void add_next(pipe_pass pass, bool far) {
    const std::ptrdiff_t direction = far != mirrored_ ? 1 : 0;
    auto& next = next_[static_cast<int>(pass)][direction];
    add(pass, direction, direction * half_ + next);
    ++next;
  }
  ZEROULP_HD constexpr void add_weights() {
    constexpr auto backward = static_cast<std::int32_t>(pipe_pass::backward);
    while (steps_(waiting_, 0) != backward) ++waiting_;
    add(pipe_pass::weights, steps_(waiting_, 1), steps_(waiting_, 2));
    ++waiting_;
  }
  ZEROULP_HD constexpr void add(pipe_pass pass, std::ptrdiff_t direction,
                                std::ptrdiff_t micro_batch) {
    steps_(count_, 0) = static_cast<std::int32_t>(pass);
    steps_(count_, 1) = static_cast<std::int32_t>(direction);
    steps_(count_, 2) = static_cast<std::int32_t>(micro_batch);
    ++count_;
  }

  std::ptrdiff_t half_;
  bool mirrored_;
  matrix_view<std::int32_t> steps_;
  std::ptrdiff_t count_ = 0;
  std::ptrdiff_t waiting_ = 0;   ///< no earlier row waits
  std::ptrdiff_t next_[2][2]{};  ///< of a pass and a direction
};

}  // namespace detail

/// Writes what `rank` does: 3 micro_batches rows of pass, direction and
/// micro-batch.
ZEROULP_HD constexpr void dual_pipe_steps(const dual_pipe_shape& s,
                                          std::ptrdiff_t rank,
                                          matrix_view<std::int32_t> steps) {
  const bool mirrored = rank >= s.stages / 2;
  const std::ptrdiff_t from_end = mirrored ? s.stages - 1 - rank : rank;
  const std::ptrdiff_t inner = from_end + 1;
  const std::ptrdiff_t outer = s.stages / 2 - inner;
  const std::ptrdiff_t half = s.micro_batches / 2;
  using namespace detail::pipe_moves;
  detail::pipe_rank r(half, mirrored, steps);
  r.repeat(2 * outer, f0);
  r.repeat(inner, f0, f1);
  r.repeat(outer, b1, w, f1);
  r.repeat(half - s.stages + inner, f0, b1, w, f1, b0, w);
  r.repeat(outer, b1, w, f1, b0, w);
  // Gradients of weights wait in the second half of the next rounds.
  r.repeat(inner / 2, b1, w, b0, w);
  r.repeat(inner % 2, b1, w, b0);
  r.repeat(inner / 2, b1, b0);
  r.repeat(outer, w, b0);
  r.repeat(inner, w);
}

/// Writes the micro-batches of a stage in the order in which their gradients of
/// weights are made: a row for each direction. `steps` is room for a rank's.
ZEROULP_HD constexpr void dual_pipe_order(const dual_pipe_shape& s,
                                          std::ptrdiff_t stage,
                                          matrix_view<std::int32_t> steps,
                                          matrix_view<std::int32_t> order) {
  for (std::ptrdiff_t direction = 0; direction < 2; ++direction) {
    dual_pipe_steps(s, direction == 0 ? stage : s.stages - 1 - stage, steps);
    std::ptrdiff_t count = 0;
    for (std::ptrdiff_t i = 0; count < s.micro_batches / 2; ++i) {
      if (steps(i, 0) != static_cast<std::int32_t>(pipe_pass::weights) ||
          steps(i, 1) != direction) {
        continue;
      }
      order(direction, count) = steps(i, 2);
      ++count;
    }
  }
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_MODEL_DUAL_PIPE_HPP_
