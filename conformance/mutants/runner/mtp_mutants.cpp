// Wrong inputs, targets and gradients of multi-token prediction: SPEC N31.

#include <algorithm>

#include "conformance/mutants/runner/operator_mutants.hpp"

namespace zeroulp::conformance {
namespace {

using A = core_fp32;

void tokens_go_on(const mtp_shift& t) {
  mtp_shift whole = t;
  whole.length = std::max<std::ptrdiff_t>(t.targets.rows, 1);
  engine::mtp_tokens(whole);
}

void tokens_a_step_early(const mtp_shift& t) {
  engine::mtp_tokens(t);
  for (std::ptrdiff_t i = 0; i < t.targets.rows; ++i) {
    const std::ptrdiff_t at = i % t.length + t.depth - 2;
    const bool inside = at >= 0 && at < t.length;
    t.inputs(i, 0) = inside ? t.targets(i + t.depth - 2, 0) : -1;
  }
}

void next_first(const engine::mtp_rows& t, std::uint32_t eps,
                matrix_view<std::uint16_t> joined, codes_out rstd_h,
                codes_out rstd_next) {
  engine::mtp_input({t.next, t.h, t.w_next, t.w_h}, eps, joined, rstd_next,
                    rstd_h);
}

void next_as_it_is(const engine::mtp_rows& t, std::uint32_t eps,
                   matrix_view<std::uint16_t> joined, codes_out rstd_h,
                   codes_out rstd_next) {
  engine::mtp_input(t, eps, joined, rstd_h, rstd_next);
  const std::ptrdiff_t d = t.h.cols;
  for (std::ptrdiff_t i = 0; i < t.next.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < d; ++j) joined(i, d + j) = t.next(i, j);
  }
}

enum class residual_fault : std::uint8_t { left_out, rounded_twice };

template <residual_fault F>
void backward_by(const engine::mtp_rows& t, const engine::mtp_gradients& g) {
  engine::mtp_gradients without = g;
  without.residual = {};
  engine::mtp_input_backward(t, without);
  if (F == residual_fault::left_out || g.residual.data == nullptr) return;
  for (std::ptrdiff_t i = 0; i < g.dh.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < g.dh.cols; ++j) {
      g.dh(i, j) = bf16_code<A>(
          A::add(bf16_number<A>(g.dh(i, j)), bf16_number<A>(g.residual(i, j))));
    }
  }
}

}  // namespace

operator_mutant_list mtp_mutants() {
  using f = model_functions;
  return {
      table_but("mtp_goes_on", "as if a sequence went on into the next one",
                &f::mtp_tokens, tokens_go_on),
      table_but("mtp_a_step_early",
                "as if a module read the token before its own", &f::mtp_tokens,
                tokens_a_step_early),
      table_but("mtp_next_first", "as if the embedding's half came first",
                &f::mtp_input, next_first),
      table_but("mtp_next_as_it_is", "as if the embedding had no norm",
                &f::mtp_input, next_as_it_is),
      table_but("mtp_gradient_alone",
                "as if h had no gradient by the model's own path",
                &f::mtp_input_backward, backward_by<residual_fault::left_out>),
      table_but("mtp_rounded_twice",
                "as if dh became BF16 before the model's gradient is added",
                &f::mtp_input_backward,
                backward_by<residual_fault::rounded_twice>),
  };
}

}  // namespace zeroulp::conformance
