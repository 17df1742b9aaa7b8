// Tests of the loss study. Each can fail: the gradient check must refuse a
// gradient that is 3 % off, the stress must part the arms.

#include <gtest/gtest.h>
#if __has_include(<omp.h>)
#include <omp.h>
#endif

#include <algorithm>
#include <cmath>

#include "conformance/tests/level.hpp"
#include "tools/study/loss/gap.hpp"
#include "zeroulp/training.hpp"

namespace zeroulp::loss {
namespace {

/// Threads are not worth it for what is this small.
class one_thread : public testing::Test {
#if __has_include(<omp.h>)
 protected:
  one_thread() { omp_set_num_threads(1); }
  ~one_thread() override { omp_set_num_threads(before_); }

 private:
  int before_ = omp_get_max_threads();
#endif
};
class LossModel : public one_thread {};
class LossTraining : public one_thread {};
class LossGap : public one_thread {};

bool thorough() { return test::level() > 0; }

training_settings small() {
  training_settings s;
  s.sequences = 2;
  s.length = 32;
  s.shape.layers = thorough() ? 2 : 1;
  return s;
}

training_state trained(const training_settings& s, int steps) {
  training_state state = start(s);
  for (int i = 0; i < steps; ++i) advance(s, bf16_arm, state);
  return state;
}

/// Rows of a parameter, such as the values of [q | k | v].
struct part {
  std::size_t parameter;
  std::ptrdiff_t first;
  std::ptrdiff_t last;
};

struct slope {
  double measured;
  double computed;
};

/// The loss along the gradient of a part, of unit length, by central
/// differences. Experts are held: their choice has no slope.
slope slope_of(const model_state& state, const batch& data, const pass& p,
               const part& at) {
  const matrix& g = p.gradients[at.parameter];
  const float* const from = g.row(at.first);
  const std::ptrdiff_t count = (at.last - at.first) * g.cols;
  double square = 0;
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    square += static_cast<double>(from[k]) * static_cast<double>(from[k]);
  }
  const double length = std::sqrt(square);
  const double h = 0.02;
  double change = 0;
  for (const double sign : {1.0, -1.0}) {
    model_state near = state;
    float* const to = near.weights[at.parameter].row(at.first);
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      to[k] += static_cast<float>(sign * h / length) * from[k];
    }
    change += sign * run(near, fp32_arm, data, {false, &p.experts}).loss;
  }
  return {change / (2 * h), length};
}

/// Parts of at most 128 rows.
std::vector<part> parts_of(const std::vector<matrix>& weights) {
  std::vector<part> parts;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::ptrdiff_t rows = weights[i].rows;
    for (std::ptrdiff_t r = 0; r < rows; r += 128) {
      parts.push_back({i, r, std::min<std::ptrdiff_t>(rows, r + 128)});
    }
  }
  return parts;
}

TEST_F(LossModel, GradientsAreThoseOfFiniteDifferences) {
  const training_settings s = small();
  const training_state state = trained(s, 15);
  const batch data = batch_of(s, state.steps);
  const pass p = run(state.model, fp32_arm, data);
  const auto names = weight_names(s.shape);
  double worst = 0;
  for (const part& at : parts_of(state.model.weights)) {
    const slope found = slope_of(state.model, data, p, at);
    const double error = std::abs(found.measured / found.computed - 1);
    EXPECT_LT(error, 0.005) << names[at.parameter] << " from row " << at.first
                            << ", gradient " << found.computed;
    worst = std::max(worst, error);
  }
  RecordProperty("worst", std::to_string(worst));
}

TEST_F(LossModel, GradientCheckRefusesAWrongGradient) {
  const training_settings s = small();
  const training_state state = trained(s, 15);
  const batch data = batch_of(s, state.steps);
  pass p = run(state.model, fp32_arm, data);
  const auto i = s.shape.layer(0).qkv;
  for (float& g : p.gradients[i].data) g *= 1.03f;
  const slope at = slope_of(state.model, data, p, {i, 0, 128});
  EXPECT_GT(std::abs(at.measured / at.computed - 1), 0.01);
}

#if __has_include(<omp.h>)
TEST_F(LossModel, BitsDoNotDependOnThreads) {
  const training_settings s = small();
  for (const arm* how : {&bf16_arm, &arm_named("full")}) {
    std::vector<training_state> states;
    std::vector<double> losses;
    for (const int threads : {1, 2, 3}) {
      omp_set_num_threads(threads);
      states.push_back(start(s));
      for (int i = 0; i < 3; ++i) {
        losses.push_back(advance(s, *how, states.back()));
      }
    }
    for (std::size_t n = 1; n < 3; ++n) {
      for (std::size_t i = 0; i < states[0].model.weights.size(); ++i) {
        EXPECT_EQ(states[0].model.weights[i].data,
                  states[n].model.weights[i].data);
      }
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(losses[i], losses[3 * n + i]);
      }
    }
  }
}
#endif

TEST_F(LossTraining, LossFallsTowardTheEntropy) {
  training_settings s = small();
  training_state state = start(s);
  double first = 0;
  double last = 0;
  for (int i = 0; i < 40; ++i) {
    const double loss = advance(s, bf16_arm, state);
    if (i == 0) first = loss;
    if (i >= 30) last += loss / 10;
    EXPECT_GT(loss, s.data.ideal_loss(batch_of(s, i)) - 0.1);
  }
  EXPECT_GT(first, 4.5);
  EXPECT_LT(last, 3.8);
}

/// An injected outlier changes no bit of BF16, and what scales do to the rest.
class LossOutlier : public one_thread,
                    public testing::WithParamInterface<outlier_kind> {};

TEST_P(LossOutlier, ChangesNothingButWhatASharedScaleDoes) {
  const training_settings s = small();
  training_state state = trained(s, 20);
  state.model.history.assign(state.model.history.size(), {});
  training_state stressed = state;
  rescale(stressed, {GetParam(), 18});
  const batch data = batch_of(s, state.steps);
  const auto pass_of = [&](const training_state& from, const char* name) {
    return run(from.model, arm_named(name), data);
  };
  EXPECT_EQ(fork(s, bf16_arm, stressed, 4), fork(s, bf16_arm, state, 4));
  const auto error = [&](const training_state& from, const char* name) {
    const auto ours = pass_of(from, name), right = pass_of(state, "bf16");
    const state_gap g = compare(ours, right);
    // The gradient of what was multiplied is divided; the embedding is not.
    return GetParam() == outlier_kind::token
               ? g.all.relative
               : g.each[model_shape::embedding].relative;
  };
  EXPECT_EQ(error(stressed, "bf16"), 0);
  for (const char* arm : {"full", "blocks", "per_tensor"}) {
    EXPECT_GT(error(stressed, arm), error(state, arm)) << arm;
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, LossOutlier,
                         testing::Values(outlier_kind::channel,
                                         outlier_kind::token,
                                         outlier_kind::unit));

TEST_F(LossGap, ArmDoesNotDifferFromItself) {
  const training_settings s = small();
  const training_state state = trained(s, 2);
  const batch data = batch_of(s, state.steps);
  const pass a = run(state.model, bf16_arm, data);
  const state_gap g = compare(a, a);
  EXPECT_EQ(g.loss, 0);
  EXPECT_EQ(g.all.relative, 0);
  EXPECT_NEAR(g.all.cosine, 1, 1e-12);
}

TEST_F(LossGap, IntervalIsStudents) {
  const interval i = confidence({1, 2, 3, 4});
  EXPECT_EQ(i.mean, 2.5);
  EXPECT_NEAR(i.high - i.mean, 2.353 * std::sqrt(5.0 / 12), 1e-12);
}

}  // namespace
}  // namespace zeroulp::loss
