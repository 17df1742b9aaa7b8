// Defines `wrapped_ops`: the operators of the CPU, of which something is done
// around those that take long: matrix products and attention. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_WRAPPED_OPS_HPP_
#define ZEROULP_TOOLS_TRAIN_WRAPPED_OPS_HPP_

#include "tools/train/engine_ops.hpp"

namespace zeroulp::train {

/// Around::product(compute, a, out) and Around::attention(compute, outs...)
/// call compute(), or write the outputs themselves. `a` is the product's left
/// operand.
template <class Around>
struct wrapped_ops : engine_ops {
  static void product(const sum_rule& by, const operand& a, const operand& b,
                      bool b_across, matrix_view<std::uint16_t> out) {
    Around::product([&] { engine_ops::product(by, a, b, b_across, out); }, a,
                    out);
  }
  static void product(const sum_rule& by, const operand& a, const operand& b,
                      matrix_view<std::uint32_t> out) {
    Around::product([&] { engine_ops::product(by, a, b, out); }, a, out);
  }
  static void attention_forward(const attention_shape& s,
                                const engine::attention_inputs& t,
                                matrix_view<std::uint16_t> o,
                                matrix_view<std::uint32_t> largest,
                                matrix_view<std::uint32_t> inverse) {
    Around::attention(
        [&] { engine_ops::attention_forward(s, t, o, largest, inverse); }, o,
        largest, inverse);
  }
  static void attention_backward(const attention_shape& s,
                                 const engine::attention_inputs& t,
                                 const engine::attention_kept& kept,
                                 half_view d_o,
                                 const engine::attention_gradients_out& out) {
    Around::attention(
        [&] { engine_ops::attention_backward(s, t, kept, d_o, out); }, out.dq,
        out.dk, out.dv);
  }
};

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_WRAPPED_OPS_HPP_
