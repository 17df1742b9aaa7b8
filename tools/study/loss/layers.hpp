// Defines what of the model is no GEMM on the tensor core: RMSNorm, causal
// attention, the router, cross entropy, each with its backward pass.
//
// FP32 loops in a fixed order over values that are BF16; what is returned is
// FP32 unless `values` says otherwise. Internal.

#ifndef ZEROULP_TOOLS_STUDY_LOSS_LAYERS_HPP_
#define ZEROULP_TOOLS_STUDY_LOSS_LAYERS_HPP_

#include "tools/study/loss/matrix.hpp"

namespace zeroulp::loss {

/// y = x / sqrt(mean(x^2) + 1e-6) w, by engine::rms_norm.
struct norm_output {
  matrix y;
  std::vector<float> rstd;
};
norm_output norm_forward(const matrix& x, const matrix& w);
/// Returns dx and adds to dw.
matrix norm_backward(const matrix& x, const matrix& w,
                     const std::vector<float>& rstd, const matrix& dy,
                     matrix& dw);

/// The shape of attention: tokens are sequences x length.
struct attention_shape {
  std::ptrdiff_t sequences;
  std::ptrdiff_t length;
  std::ptrdiff_t heads;
};

/// Causal attention on rows [q | k | v], each `heads` heads wide.
struct attention_output {
  matrix o;
  std::vector<matrix> p;  ///< probabilities, a sequence and head each
};
attention_output attention_forward(const attention_shape& shape,
                                   const matrix& qkv);
/// Returns [dq | dk | dv]. `o` is the output as it was cached.
matrix attention_backward(const attention_shape& shape, const matrix& qkv,
                          const std::vector<matrix>& p, const matrix& o,
                          const matrix& d_o);

/// The experts of each token: the `top` largest of sigmoid(x w^T) + bias, ties
/// to the lower index; weighted by their sigmoids over the sum of these.
struct routing {
  std::ptrdiff_t top = 0;
  matrix scores;             ///< tokens x experts, without bias
  std::vector<int> experts;  ///< tokens x top
  std::vector<float> weights;
};
/// With `fixed` the experts are those.
routing route(const matrix& x, const matrix& w, const std::vector<float>& bias,
              std::ptrdiff_t top, const std::vector<int>* fixed);
/// Returns dx for the gradients of the weights, and adds to dw.
matrix route_backward(const routing& r, const matrix& x, const matrix& w,
                      const std::vector<float>& dweights, matrix& dw);

/// Mean over rows of -log softmax(logits)[target], and its gradient.
struct loss_output {
  double loss;
  matrix dlogits;
};
loss_output cross_entropy(const matrix& logits,
                          const std::vector<int>& targets);

}  // namespace zeroulp::loss

#endif  // ZEROULP_TOOLS_STUDY_LOSS_LAYERS_HPP_
