// Defines `model_functions`: one table of the operators of a training step that
// can be held against SPEC section N.

#ifndef ZEROULP_CONFORMANCE_CHECKS_MODEL_MODEL_FUNCTIONS_HPP_
#define ZEROULP_CONFORMANCE_CHECKS_MODEL_MODEL_FUNCTIONS_HPP_

#include <functional>
#include <string>

#include "conformance/contract/model_operators.hpp"
#include "conformance/contract/registry.hpp"
#include "zeroulp/model.hpp"
#include "zeroulp/model_more.hpp"

namespace zeroulp::conformance {

/// What the checks call, as zeroulp/model.hpp and core/model declare it. Every
/// function is set.
struct model_functions {
  std::string name;
  std::function<void(codes_in x, codes_out out)> log;
  std::function<void(const rms_norm_gradients&)> rms_norm_backward;
  std::function<void(const rope_rows&)> rope;
  std::function<double(std::ptrdiff_t n, std::ptrdiff_t i)> rope_frequency;
  std::function<void(std::span<const double> frequencies, std::ptrdiff_t first,
                     codes_out cosines, codes_out sines)>
      rope_table;
  std::function<void(const attention_shape&, const engine::attention_inputs&,
                     matrix_view<std::uint16_t> o, codes_out largest,
                     codes_out inverse)>
      attention_forward;
  std::function<void(const attention_shape&, const engine::attention_inputs&,
                     const engine::attention_kept&,
                     matrix_view<const std::uint16_t> d_o,
                     const engine::attention_gradients_out&)>
      attention_backward;
  std::function<void(const router&, const routing&)> route;
  std::function<void(const router&, const routing_gradients&)> route_backward;
  std::function<void(slots_in experts, std::uint32_t speed, codes_out bias)>
      update_bias;
  std::function<void(const expert_plan&)> make_plan;
  std::function<void(const slot_gradients&)> slot_backward;
  std::function<void(const cross_entropy_rows&)> cross_entropy;
  std::function<double(codes_in losses)> sum_of_losses;
  std::function<void(std::span<const codes_in> shards, codes_out out)>
      add_shards;
  std::function<double(codes_in g)> sum_of_squares;
  // The library's, where a table has none of its own.
  std::function<void(const balance_rows&)> balance_loss = engine::balance_loss;
  std::function<void(codes_in weights, std::uint32_t rate, codes_out average)>
      update_average = engine::update_average;
  std::function<std::uint32_t(std::ptrdiff_t n)> attention_scale =
      zeroulp::attention_scale;
  std::function<std::uint32_t(double norm, double clip)> clip_factor =
      zeroulp::clip_factor;
  std::function<double(const rate_schedule&, std::int64_t step)> rate_of =
      zeroulp::rate_of;
  std::function<void(mla_order, const mla_shape&, const mla_tokens&,
                     matrix_view<std::uint16_t> o, codes_out largest,
                     codes_out inverse)>
      mla_forward = engine::mla_forward;
  std::function<void(const dual_pipe_shape&, std::ptrdiff_t rank,
                     matrix_view<std::int32_t> steps)>
      dual_pipe_steps = engine::dual_pipe_steps;
  std::function<void(const dual_pipe_shape&, std::ptrdiff_t stage,
                     matrix_view<std::int32_t> order)>
      dual_pipe_order = engine::dual_pipe_order;
  std::function<void(std::span<const codes_in> gradients, slots_in order,
                     codes_out out)>
      accumulate_micro_batches = engine::accumulate_micro_batches;
  std::function<void(const replica_choice&)> choose_replicas =
      engine::choose_replicas;
  std::function<void(const replica_rows&)> merge_replicas =
      engine::merge_replicas;
  std::function<void(const engine::indexer_inputs&, codes_out logits)>
      indexer_logits = engine::indexer_logits;
  std::function<void(codes_in logits, std::ptrdiff_t first,
                     matrix_view<std::int32_t> keys,
                     matrix_view<std::int32_t> ties)>
      indexer_keys = engine::indexer_keys;
  std::function<void(const mtp_shift&)> mtp_tokens = engine::mtp_tokens;
  std::function<void(const engine::mtp_rows&, std::uint32_t eps,
                     matrix_view<std::uint16_t> joined, codes_out rstd_h,
                     codes_out rstd_next)>
      mtp_input = engine::mtp_input;
  std::function<void(const engine::mtp_rows&, const engine::mtp_gradients&)>
      mtp_input_backward = engine::mtp_input_backward;
};

/// The compiled library with the vector instructions in use.
model_functions engine_model();
/// The same by the core's arithmetic alone.
model_functions core_model();
/// The compiled library, but for what is in a table of operators.
model_functions model_of(const model_operators& o);

/// A check of a training step's operators.
struct model_check {
  std::string name;
  std::string clauses;
  std::string oracle;
  int level;
  std::function<verdict(const model_functions&, const effort&)> run;
};

/// Every one of them.
std::vector<model_check> model_check_list();
/// A part of the registry: each on the core and on the engine.
check_list model_checks();

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CHECKS_MODEL_MODEL_FUNCTIONS_HPP_
