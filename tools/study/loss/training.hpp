// Defines a training run of the model: AdamW with BF16 moments over FP32 master
// weights, router biases moved toward equal loads, amax histories. A run is a
// function of (settings, arm, steps): the same bits whatever the threads.
// Internal.

#ifndef ZEROULP_TOOLS_STUDY_LOSS_TRAINING_HPP_
#define ZEROULP_TOOLS_STUDY_LOSS_TRAINING_HPP_

#include "tools/study/loss/model.hpp"
#include "tools/study/loss/study.hpp"

namespace zeroulp::loss {

struct training_settings {
  model_shape shape{};
  source data{};
  std::ptrdiff_t sequences = 2;
  std::ptrdiff_t length = 128;
  double rate = 3e-3;
  std::int64_t warm_up = 20;  ///< steps, linear
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.01;  ///< of matrices, not of norms
  float bias_speed = 0.001f;
  std::uint64_t seed = 1;
};

/// A block of a parameter that was multiplied by 2^k: AdamW's step follows.
struct scaled_block {
  std::size_t parameter;
  std::ptrdiff_t row;
  std::ptrdiff_t col;
  std::ptrdiff_t rows;
  std::ptrdiff_t cols;
  int k;
};

/// Everything that a step changes: a copy is a checkpoint.
struct training_state {
  model_state model;
  std::vector<std::vector<std::uint16_t>> m;  ///< BF16
  std::vector<std::vector<std::uint16_t>> v;
  std::int64_t steps = 0;  ///< done
  /// By `rescale`; where they overlap, exponents add up.
  std::vector<scaled_block> scaled{};
};

training_state start(const training_settings& s);
batch batch_of(const training_settings& s, std::int64_t step);
/// One step on the batch of state.steps. Returns its loss, before the update.
double advance(const training_settings& s, const arm& how,
               training_state& state);

/// Injects an outlier that changes nothing in exact arithmetic. 2^k larger
/// becomes
///
///   channel   one channel of each norm: the columns of qkv, router and `up`
///             that read it become 2^k smaller
///   token     one token of what qkv and `up` read: their outputs for it become
///             2^k smaller
///   unit      one unit of each expert, a row of `up`: the column of `down`
///   that
///             reads it becomes 2^k smaller
///
/// and with them, or against them, moments and AdamW's eps and rate; amax
/// histories are emptied. It stands among the elements that share a scale,
/// whatever their group. BF16 gives the same bits as before (barring
/// underflow).
void rescale(training_state& state, const loss_outlier& by);

}  // namespace zeroulp::loss

#endif  // ZEROULP_TOOLS_STUDY_LOSS_TRAINING_HPP_
