// Defines a training run: settings, state, one step, digests.
//
// A run is a function of its settings: the same bits on the CPU and on a GPU,
// whatever the threads, the compiler, interruptions. SPEC N1 to N24. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_RUN_HPP_
#define ZEROULP_TOOLS_TRAIN_RUN_HPP_

#include <memory>
#include <optional>

#include "tools/train/data.hpp"
#include "tools/train/engine_ops.hpp"
#include "tools/train/step.hpp"
#include "zeroulp/core/model/gradient_norm.hpp"

namespace zeroulp::train {

/// A block of a parameter that passes read 2^exponent larger, and whose
/// gradient they multiply by the same: a power of two changes no bit that is
/// kept.
struct scaled_block {
  std::size_t parameter;
  std::ptrdiff_t row;
  std::ptrdiff_t col;
  std::ptrdiff_t rows;
  std::ptrdiff_t cols;
  int exponent;
};

/// The steps before a run's own arm begins.
struct first_steps {
  arm how;
  std::int64_t steps;
};

struct run_settings {
  model_shape shape;
  arm how;
  std::optional<first_steps> first{};
  std::uint64_t seed = 1;
  std::int64_t shards = 1;  ///< a power of two that divides the sequences
  rate_schedule rate{};
  double clip = 1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;              ///< of matrices, not of norms
  std::uint32_t bias_speed = 0x3a83126f;  ///< 0.001
  std::vector<scaled_block> stress{};     ///< exponents add up
};

/// The rate where nothing else is said: it grows for ten steps and decays in
/// the last quarter. SPEC N24.
rate_schedule usual_rate(const model_shape& s, std::int64_t steps);

/// The arm of step t, counted from 1.
const arm& arm_of_step(const run_settings& s, std::int64_t t);
/// What the run of the first steps alone has: their arm in all steps.
run_settings settings_of_first(run_settings s);

/// Throws input_error, naming the setting, unless a run can follow them.
void check(const run_settings& s);

/// Everything that a step changes; its tensors are a backend's.
template <class Ops>
struct state_on {
  std::vector<typename Ops::words> weights;  ///< FP32 masters
  std::vector<typename Ops::halves> m;       ///< BF16
  std::vector<typename Ops::halves> v;
  std::vector<typename Ops::words> biases;  ///< of routers, by layer; or empty
  std::int64_t steps = 0;                   ///< done
};
/// On the host.
using run_state = state_on<engine_ops>;

/// use(tensor) for each tensor of a state, in order.
template <class State, class Use>
void for_each_tensor(State& s, const Use& use) {
  const auto all = [&](auto& tensors) {
    for (auto& t : tensors) use(t);
  };
  all(s.weights);
  all(s.m);
  all(s.v);
  all(s.biases);
}

/// SHA-256 of the SHA-256s of the state's chunks of 1 MiB, little end first,
/// tensor by tensor, then of the count of steps.
std::string digest_of(const run_state& s);

/// What a step is reported by.
struct step_report {
  double loss;  ///< mean, before the update
  double norm;  ///< of the gradient
  double rate;
};

/// A run, wherever it is.
class any_run {
 public:
  any_run(run_settings settings, training_data data);
  virtual ~any_run() = default;

  /// One step on the batch of its number.
  virtual step_report advance(const tracer& trace = {}) = 0;
  /// The mean loss of `batches` batches that no step sees, by the arm of the
  /// next step.
  virtual double held_out_loss(std::int64_t batches) const = 0;
  /// The state on the host, until the next step.
  virtual const run_state& host_state() const = 0;
  virtual void set_state(run_state state) = 0;
  /// digest_of() the state, computed where it is.
  virtual std::string digest() const = 0;
  virtual std::int64_t steps() const = 0;

  /// A run on the same backend that goes on from this run's state, with other
  /// settings of the same parameters.
  virtual std::unique_ptr<any_run> with(run_settings settings,
                                        training_data data) const = 0;
  /// The same under an arm, with outliers.
  std::unique_ptr<any_run> under(const arm& how,
                                 std::vector<scaled_block> stress = {}) const;
  /// A pass over a batch as one shard, without an update; on the host.
  virtual pass_outputs<engine_ops> host_pass(const batch& b) const = 0;

  const run_settings& settings() const { return settings_; }
  const training_data& data() const { return data_; }
  const parameter_list& parameters() const { return parameters_; }
  /// A state of this run's shape, on the host: zeros.
  run_state empty_state() const;

 protected:
  run_state initial_state() const;

  run_settings settings_;
  training_data data_;
  parameter_list parameters_;
};

/// A run on a backend: engine_ops, or cuda_ops of a GPU (run_on.hpp).
template <class Ops>
class run_on : public any_run {
 public:
  run_on(run_settings settings, training_data data);
  run_on(run_settings settings, training_data data, state_on<Ops> state);

  step_report advance(const tracer& trace = {}) override;
  double held_out_loss(std::int64_t batches) const override;
  const run_state& host_state() const override;
  void set_state(run_state state) override;
  std::string digest() const override;
  std::int64_t steps() const override { return state_.steps; }
  std::unique_ptr<any_run> with(run_settings settings,
                                training_data data) const override;
  pass_outputs<engine_ops> host_pass(const batch& b) const override;

  const state_on<Ops>& state() const { return state_; }
  state_on<Ops>& state() { return state_; }
  /// What a pass reads besides the tokens; refers to this run.
  pass_inputs<Ops> inputs() const { return inputs(state_.weights); }
  /// A pass over one shard of a batch, without an update.
  pass_outputs<Ops> pass_of(const batch& b, std::int64_t shard = 0,
                            const tracer& trace = {}) const;

 protected:
  /// A pass over each shard of a batch.
  virtual std::vector<pass_outputs<Ops>> passes_of(const batch& b,
                                                   const tracer& trace);

 private:
  using all_words = std::vector<typename Ops::words>;

  /// What positions are turned by.
  void make_table();
  pass_inputs<Ops> inputs(const all_words& weights) const;
  /// use(inputs), whose weights are as the stress makes them.
  template <class Use>
  auto with_inputs(const Use& use) const;
  double clip(std::vector<typename Ops::words>& gradients) const;
  void update(const std::vector<typename Ops::words>& gradients, double rate);
  void update_biases(const std::vector<pass_outputs<Ops>>& shards);

  state_on<Ops> state_;
  typename Ops::words cosines_;
  typename Ops::words sines_;
  mutable run_state on_host_;  ///< where Ops has its tensors elsewhere
};

/// On the CPU.
using training_run = run_on<engine_ops>;
extern template class run_on<engine_ops>;

/// On the first `count` GPUs, which have as many shards each. Throws
/// input_error where there are not so many of compute capability 9.0, they
/// cannot read each other's memory, or the program was built without CUDA.
std::unique_ptr<any_run> run_on_gpus(std::int64_t count, run_settings settings,
                                     training_data data);

/// The GPUs of a backend, "cpu", "gpu" or "gpu:N": none, one or N. Throws
/// input_error.
std::int64_t gpus_of(std::string_view backend);

/// A run on a backend of that name. Throws input_error.
std::unique_ptr<any_run> make_run(std::string_view backend,
                                  run_settings settings, training_data data);

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_RUN_HPP_
