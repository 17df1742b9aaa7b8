// Defines a layer of SwiGLU experts: dispatch, up, SwiGLU, down, combine, with
// a shared expert that every token visits.
//
//   y(t) = sum over slots of weight * down(swiglu(up(x(t))))
//
// Up is [gate; up], 2h x d. What SwiGLU reads is cached as the arm says and its
// output recomputed in the backward pass. Internal.

#ifndef ZEROULP_TOOLS_STUDY_LOSS_EXPERTS_HPP_
#define ZEROULP_TOOLS_STUDY_LOSS_EXPERTS_HPP_

#include "tools/study/loss/layers.hpp"
#include "tools/study/loss/linear.hpp"

namespace zeroulp::loss {

/// Weights or gradients of an expert.
template <class Matrix>
struct expert_of {
  Matrix& up;
  Matrix& down;
};

/// Where the amaxes of an expert's two layers are and go.
struct expert_context {
  const arm& how;
  linear_context up;
  linear_context down;
};

struct expert_cache {
  stored x;
  stored gate;
  stored up;
};

struct expert_output {
  matrix y;
  expert_cache cache;
};
expert_output expert_forward(const expert_context& c, const matrix& x,
                             const expert_of<const matrix>& w);
matrix expert_backward(const expert_context& c, const expert_cache& cache,
                       const expert_of<const matrix>& w, const matrix& dy,
                       const expert_of<matrix>& dw);

/// The tokens of each expert, ascending, and the slot each came by.
struct dispatch_plan {
  struct visit {
    std::ptrdiff_t token;
    std::ptrdiff_t slot;
  };
  std::vector<std::vector<visit>> visits;  ///< by expert
};
dispatch_plan plan(const routing& r, std::ptrdiff_t experts);

/// The rows of x of an expert's tokens.
matrix gather(const matrix& x, const std::vector<dispatch_plan::visit>& who);

/// Row t of the sum: fma(weight, row, sum) in slot order, FP32, the shared
/// expert last with weight 1; without weights, sums. `rows[e]` are expert e's.
matrix combine(const routing& r, const dispatch_plan& p,
               const std::vector<matrix>& rows, const matrix& shared,
               bool weighted);

}  // namespace zeroulp::loss

#endif  // ZEROULP_TOOLS_STUDY_LOSS_EXPERTS_HPP_
