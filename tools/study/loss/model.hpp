// Defines the model of the loss study: embedding, layers of RMSNorm, causal
// attention, RMSNorm and routed SwiGLU experts with a shared one, a last norm
// and a head; one forward and backward pass under an arm.
//
// Left out: positions (the source needs none), MLA, several predicted tokens.
// Internal.

#ifndef ZEROULP_TOOLS_STUDY_LOSS_MODEL_HPP_
#define ZEROULP_TOOLS_STUDY_LOSS_MODEL_HPP_

#include <string>

#include "tools/study/loss/arm.hpp"
#include "tools/study/loss/linear.hpp"
#include "tools/train/source.hpp"

namespace zeroulp::loss {

using train::batch;
using train::source;

/// Widths are multiples of 128.
struct model_shape {
  std::ptrdiff_t vocabulary = 128;
  std::ptrdiff_t width = 128;
  std::ptrdiff_t heads = 2;
  std::ptrdiff_t layers = 2;
  std::ptrdiff_t experts = 4;
  std::ptrdiff_t top = 2;
  std::ptrdiff_t hidden = 128;  ///< of an expert

  // Indices of parameters.
  static constexpr std::size_t embedding = 0;
  static constexpr std::size_t last_norm = 1;
  static constexpr std::size_t head = 2;
  struct layer_index {
    std::size_t norm1, qkv, out, norm2, router;
    std::size_t first_expert;  ///< up, down of the shared one, then the routed
    std::size_t up(std::ptrdiff_t e) const {
      return first_expert + 2 * static_cast<std::size_t>(e);
    }
    std::size_t down(std::ptrdiff_t e) const { return up(e) + 1; }
  };
  layer_index layer(std::ptrdiff_t l) const {
    const auto first = 3 + static_cast<std::size_t>(l * (7 + 2 * experts));
    return {first, first + 1, first + 2, first + 3, first + 4, first + 5};
  }
};

/// Master weights, FP32, in the order of model_shape.
std::vector<matrix> initial_weights(const model_shape& shape,
                                    std::uint64_t seed);
/// What each parameter is called.
std::vector<std::string> weight_names(const model_shape& shape);

/// What a pass reads.
struct model_state {
  model_shape shape;
  std::vector<matrix> weights;
  std::vector<std::vector<float>> biases;  ///< of routers, by layer
  std::vector<linear_history> history;     ///< by parameter
  /// What qkv and `up` read of one token, `stretched_token`, is 2^this larger,
  /// their outputs for it 2^this smaller.
  int token_exponent = 0;
};
inline constexpr std::ptrdiff_t stretched_token = 5;

/// What a pass makes.
struct pass {
  double loss = 0;
  std::vector<matrix> gradients;          ///< empty after a forward pass alone
  std::vector<linear_amax> amaxes;        ///< by parameter
  std::vector<std::vector<int>> experts;  ///< chosen, by layer
};

struct pass_options {
  bool backward = true;
  /// Experts to choose, by layer.
  const std::vector<std::vector<int>>* experts = nullptr;
};

pass run(const model_state& state, const arm& how, const batch& data,
         const pass_options& options = {});

}  // namespace zeroulp::loss

#endif  // ZEROULP_TOOLS_STUDY_LOSS_MODEL_HPP_
