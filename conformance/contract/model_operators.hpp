// Defines `model_operators`: the operators of a model's step that `fuzz`, a
// plug-in and the mutants share, as one table, and `model_implementation`,
// which has them beside an `implementation`.
//
// Activations are BF16 codes, the rest FP32 bits; elements of a row are
// adjacent. Source: SPEC clauses N3, N5 to N11.

#ifndef ZEROULP_CONFORMANCE_CONTRACT_MODEL_OPERATORS_HPP_
#define ZEROULP_CONFORMANCE_CONTRACT_MODEL_OPERATORS_HPP_

#include <utility>

#include "conformance/contract/implementation.hpp"
#include "zeroulp/model.hpp"

namespace zeroulp::conformance {

/// Every pointer is set. Signatures as in zeroulp/model.hpp; what may have no
/// data there, may here. routing::work is not read.
struct model_operators {
  void (*rms_norm_backward)(const rms_norm_gradients&);
  void (*route)(const router&, const routing&);
  void (*route_backward)(const router&, const routing_gradients&);
  void (*attention_forward)(const attention_shape&,
                            const engine::attention_inputs&,
                            matrix_view<std::uint16_t> o, codes_out largest,
                            codes_out inverse);
  void (*attention_backward)(const attention_shape&,
                             const engine::attention_inputs&,
                             const engine::attention_kept&,
                             matrix_view<const std::uint16_t> d_o,
                             const engine::attention_gradients_out&);
};

/// D = A B^T, a product of section N: BF16 operands, FP32 sums.
void core_product(matrix_view<const std::uint16_t> a,
                  matrix_view<const std::uint16_t> b, codes_out d);

/// The core, as its headers define it; attention with a product a query.
model_operators core_operators();
/// The compiled library.
model_operators engine_operators();
/// The oracles: integers and the host's FP32. They share no code with the core.
model_operators oracle_operators();

/// An implementation with the operators of a model; the core's, if it has none
/// of its own.
struct model_implementation : implementation {
  model_implementation() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  model_implementation(implementation i, model_operators m = core_operators())
      : implementation(std::move(i)), model(m) {}

  model_operators model = core_operators();
};

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CONTRACT_MODEL_OPERATORS_HPP_
