#include "conformance/checks/model/model_functions.hpp"

#include "zeroulp/simd.hpp"

namespace zeroulp::conformance {
namespace {

/// The core's arithmetic for a scope.
class by_core {
 public:
  by_core() : before_(engine::current_simd()) {
    engine::use_simd(engine::simd::reference);
  }
  ~by_core() { engine::use_simd(before_); }
  by_core(const by_core&) = delete;
  by_core& operator=(const by_core&) = delete;

 private:
  engine::simd before_;
};

/// `function` by the core's arithmetic.
template <class... Arguments, class Result>
std::function<Result(Arguments...)> core_of(
    std::function<Result(Arguments...)> function) {
  return [function = std::move(function)](Arguments... arguments) {
    const by_core scope;
    return function(arguments...);
  };
}

}  // namespace

model_functions engine_model() {
  // The last ones of the table are the library's already.
  return {"engine",
          engine::log,
          engine::rms_norm_backward,
          engine::rope,
          engine::rope_frequency,
          engine::rope_table,
          engine::attention_forward,
          engine::attention_backward,
          engine::route,
          engine::route_backward,
          engine::update_bias,
          engine::make_plan,
          engine::slot_backward,
          engine::cross_entropy,
          engine::sum_of_losses,
          engine::add_shards,
          engine::sum_of_squares,
          engine::balance_loss,
          engine::update_average,
          attention_scale,
          clip_factor,
          rate_of};
}

model_functions model_of(const model_operators& o) {
  model_functions f = engine_model();
  f.name = "operators";
  f.rms_norm_backward = o.rms_norm_backward;
  f.route = o.route;
  f.route_backward = o.route_backward;
  f.attention_forward = o.attention_forward;
  f.attention_backward = o.attention_backward;
  return f;
}

model_functions core_model() {
  const model_functions f = engine_model();
  model_functions core{"core",
                       core_of(f.log),
                       core_of(f.rms_norm_backward),
                       core_of(f.rope),
                       f.rope_frequency,
                       f.rope_table,
                       core_of(f.attention_forward),
                       core_of(f.attention_backward),
                       core_of(f.route),
                       core_of(f.route_backward),
                       f.update_bias,
                       f.make_plan,
                       core_of(f.slot_backward),
                       core_of(f.cross_entropy),
                       f.sum_of_losses,
                       core_of(f.add_shards),
                       core_of(f.sum_of_squares),
                       core_of(f.balance_loss),
                       core_of(f.update_average),
                       f.attention_scale,
                       f.clip_factor,
                       f.rate_of};
  core.mla_forward = core_of(f.mla_forward);
  core.accumulate_micro_batches = core_of(f.accumulate_micro_batches);
  core.indexer_logits = core_of(f.indexer_logits);
  core.indexer_keys = core_of(f.indexer_keys);
  core.mtp_input = core_of(f.mtp_input);
  core.mtp_input_backward = core_of(f.mtp_input_backward);
  return core;
}

}  // namespace zeroulp::conformance
