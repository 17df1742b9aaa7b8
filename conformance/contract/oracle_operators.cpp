// The oracles' operators of a model's step.

#include "conformance/contract/model_operators.hpp"
#include "conformance/oracles/model_oracle.hpp"

namespace zeroulp::conformance {
namespace {

using oracle::grid;
using code_in = matrix_view<const std::uint16_t>;
using code_out = matrix_view<std::uint16_t>;

template <class T>
grid read(matrix_view<T> x) {
  if (x.data == nullptr) return {};
  grid g(x.rows, x.cols);
  for (std::ptrdiff_t i = 0; i < g.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < g.cols; ++j) {
      g(i, j) = static_cast<std::uint32_t>(x(i, j));
    }
  }
  return g;
}

template <class T>
void write(const grid& g, matrix_view<T> out) {
  if (out.data == nullptr) return;
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
      out(i, j) = static_cast<T>(g(i, j));
    }
  }
}

oracle::attention_tokens tokens_of(const engine::attention_inputs& t) {
  return {read(t.q), read(t.k), read(t.v)};
}

void norm(const rms_norm_gradients& t) {
  const auto made = oracle::norm_backward(
      {read(t.dy), read(t.x), read(t.w), read(t.rstd), read(t.residual)});
  write(made.dx, t.dx);
  write(made.dw, t.dw);
}

void route_by_oracle(const router& r, const routing& t) {
  const auto made = oracle::route(r, read(t.logits), read(t.bias));
  write(made.scores, t.scores);
  write(made.experts, t.experts);
  write(made.weights, t.weights);
}

void route_backward_by_oracle(const router& r, const routing_gradients& t) {
  write(oracle::route_backward(r, read(t.scores), read(t.experts),
                               read(t.dweights)),
        t.dlogits);
}

void attention(const attention_shape& s, const engine::attention_inputs& t,
               code_out o, codes_out largest, codes_out inverse) {
  const auto made = oracle::attend(s, tokens_of(t));
  write(made.o, o);
  write(made.largest, largest);
  write(made.inverse, inverse);
}

void attention_backward(const attention_shape& s,
                        const engine::attention_inputs& t,
                        const engine::attention_kept& kept, code_in d_o,
                        const engine::attention_gradients_out& out) {
  const auto made = oracle::attend_backward(
      s, tokens_of(t), {read(kept.o), read(kept.largest), read(kept.inverse)},
      read(d_o));
  write(made.dq, out.dq);
  write(made.dk, out.dk);
  write(made.dv, out.dv);
}

}  // namespace

model_operators oracle_operators() {
  return {norm, route_by_oracle, route_backward_by_oracle, attention,
          attention_backward};
}

}  // namespace zeroulp::conformance
