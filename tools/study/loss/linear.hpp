// Defines a Linear layer on the engine:
//
//   Y = X W^T      dX = dY W      dW += dY^T X
//
// Each product is engine::gemm on operands stored as the arm says. Wgrad's
// operands are tiled along tokens: dY^T is quantized from its values, X^T is a
// re-tiling of what was cached. Internal.

#ifndef ZEROULP_TOOLS_STUDY_LOSS_LINEAR_HPP_
#define ZEROULP_TOOLS_STUDY_LOSS_LINEAR_HPP_

#include "tools/study/loss/arm.hpp"
#include "tools/study/loss/matrix.hpp"

namespace zeroulp::loss {

/// An operand of a GEMM: codes, and scales where it has some.
struct stored {
  storage how;
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
  std::vector<std::uint32_t> codes;
  std::vector<std::uint32_t> scales;

  stored(const storage& s, std::ptrdiff_t m, std::ptrdiff_t n);
  matrix_view<std::uint32_t> code_words();
  matrix_view<const std::uint32_t> code_words() const;
  matrix_view<std::uint32_t> scale_words();
  /// Without data where there are no scales.
  matrix_view<const std::uint32_t> scale_words() const;
};

/// The amaxes of a tensor at the last steps.
struct amax_history {
  static constexpr std::size_t length = 16;
  std::vector<float> last;  ///< oldest first

  void push(float amax);
  float largest() const;  ///< 0 without history
};

/// X, W and dY of a layer.
struct linear_amax {
  float x = 0;
  float w = 0;
  float dy = 0;
};
struct linear_history {
  amax_history x;
  amax_history w;
  amax_history dy;
  void push(const linear_amax& now);
};

/// What a layer is computed by, and where its amaxes go.
struct linear_context {
  linear_rule rule;
  bool delayed;
  const linear_history& past;
  linear_amax& now;
  /// Row `row` of X is multiplied by 2^exponent, and of Y by its inverse.
  std::ptrdiff_t row = -1;
  int exponent = 0;
};

/// Stores `x`. With `past`, delayed scaling: by the largest of its amaxes, if
/// there is one.
stored store(const storage& how, matrix_view<const std::uint32_t> x,
             const amax_history* past = nullptr);
/// The values of what is stored.
matrix load(const stored& s);
/// The transpose of cached values as an operand stored as `how`.
stored transpose(const storage& how, const stored& cached);

struct linear_output {
  matrix y;  ///< FP32: not rounded
  stored x;  ///< cached for Wgrad
};
linear_output linear_forward(const linear_context& c, const matrix& x,
                             const matrix& w);

/// Returns dX, FP32, and adds to dW. `xt` is X^T as an operand.
matrix linear_backward(const linear_context& c, const stored& xt,
                       const matrix& w, const matrix& dy, matrix& dw);

}  // namespace zeroulp::loss

#endif  // ZEROULP_TOOLS_STUDY_LOSS_LINEAR_HPP_
