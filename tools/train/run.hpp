// Defines a training run on the CPU: settings, state, one step, digests.
//
// A run is a function of its settings: the same bits whatever the threads, the
// compiler, interruptions. SPEC N1 to N24. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_RUN_HPP_
#define ZEROULP_TOOLS_TRAIN_RUN_HPP_

#include "tools/train/data.hpp"
#include "tools/train/step.hpp"
#include "zeroulp/core/model/gradient_norm.hpp"

namespace zeroulp::train {

struct run_settings {
  model_shape shape;
  arm how;
  std::uint64_t seed = 1;
  std::int64_t shards = 1;  ///< a power of two that divides the sequences
  rate_schedule rate{};
  double clip = 1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;              ///< of matrices, not of norms
  std::uint32_t bias_speed = 0x3a83126f;  ///< 0.001
};

/// The rate where nothing else is said: it grows for ten steps and decays in
/// the last quarter. SPEC N24.
rate_schedule usual_rate(const model_shape& s, std::int64_t steps);

/// Throws input_error, naming the setting, unless a run can follow them.
void check(const run_settings& s);

/// Everything that a step changes.
struct run_state {
  std::vector<word_tensor> weights;  ///< FP32 masters
  std::vector<half_tensor> m;        ///< BF16
  std::vector<half_tensor> v;
  std::vector<word_tensor> biases;  ///< of routers, by layer; dense: empty
  std::int64_t steps = 0;           ///< done
};

/// The bytes of each tensor of a state, in order, little end first.
std::vector<std::pair<const void*, std::size_t>> bytes_of(const run_state& s);
/// SHA-256 of the SHA-256s of its chunks of 1 MiB, tensor by tensor, then of
/// the count of steps.
std::string digest_of(const run_state& s);

/// What a step is reported by.
struct step_report {
  double loss;  ///< mean, before the update
  double norm;  ///< of the gradient
  double rate;
};

class training_run {
 public:
  training_run(run_settings settings, training_data data);

  /// One step on the batch of its number.
  step_report advance(const tracer& trace = {});
  /// The mean loss of `batches` batches that no step sees.
  double held_out_loss(std::int64_t batches) const;

  const run_settings& settings() const { return settings_; }
  const training_data& data() const { return data_; }
  const run_state& state() const { return state_; }
  run_state& state() { return state_; }
  const parameter_list& parameters() const { return parameters_; }
  /// What a pass reads besides the tokens; refers to this run.
  pass_inputs inputs() const;

 private:
  pass_outputs pass_of(const batch& b, std::int64_t shard,
                       const tracer& trace) const;
  void update(const std::vector<word_tensor>& gradients, double rate);

  run_settings settings_;
  training_data data_;
  parameter_list parameters_;
  run_state state_;
  word_tensor cosines_;
  word_tensor sines_;
};

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_RUN_HPP_
