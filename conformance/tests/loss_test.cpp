// Tests of the loss study. Each can fail: the gradient check must refuse a
// gradient that is 3 % off, the stress must part the arms.

#include <gtest/gtest.h>
#if __has_include(<omp.h>)
#include <omp.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "loss_experts.hpp"
#include "loss_gap.hpp"
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

bool thorough() {
  const char* level = std::getenv("ZEROULP_LEVEL");
  return level != nullptr && std::atoi(level) > 0;
}

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

TEST(LossSource, RowsHaveTheStatedEntropy) {
  const source data;
  for (const int topic : {0, 1}) {
    for (const int token : {0, 2, 77, 127}) {
      double sum = 0;
      double entropy = 0;
      for (int next = 0; next < data.vocabulary; ++next) {
        const double p = data.probability(topic, token, next);
        sum += p;
        if (p > 0) entropy -= p * std::log(p);
      }
      EXPECT_NEAR(sum, 1, 1e-12);
      EXPECT_NEAR(entropy, data.entropy(), 1e-12);
    }
  }
}

TEST(LossSource, SamplesHaveTheStatedEntropy) {
  const source data;
  EXPECT_NEAR(data.ideal_loss(data.make(0, 64, 1024)), data.entropy(), 0.02);
  EXPECT_EQ(data.make(5, 2, 64).targets, data.make(5, 2, 64).targets);
  EXPECT_NE(data.make(5, 2, 64).targets, data.make(6, 2, 64).targets);
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

TEST_F(LossModel, CombineIsTheEngines) {
  counter_rng rng(9, 0);
  constexpr std::ptrdiff_t tokens = 8, cols = 128, experts = 4, top = 2;
  routing r{top, matrix(tokens, experts), {}, {}};
  const auto fill = [&](matrix& x) {
    for (float& v : x.data) {
      v = static_cast<float>(rng.between(-999, 999)) / 256;
    }
    round_to(bf16, x);
  };
  for (std::ptrdiff_t t = 0; t < tokens; ++t) {
    const int first = static_cast<int>(rng.below(experts));
    r.experts.push_back(first);
    r.experts.push_back((first + 1) % static_cast<int>(experts));
    const float w = static_cast<float>(rng.below(1000)) / 1000;
    r.weights.push_back(w);
    r.weights.push_back(1 - w);
  }
  const dispatch_plan p = plan(r, experts);
  std::vector<matrix> rows;
  std::vector<float> stacked;
  std::vector<std::int32_t> slots(tokens * (top + 1));
  matrix weights(tokens, top + 1);
  std::int32_t at = 0;
  for (const auto& visits : p.visits) {
    rows.emplace_back(static_cast<std::ptrdiff_t>(visits.size()), cols);
    fill(rows.back());
    for (const auto& v : visits) {
      weights.row(v.token)[v.slot] =
          r.weights[static_cast<std::size_t>(v.token * top + v.slot)];
      slots[static_cast<std::size_t>(v.token * (top + 1) + v.slot)] = at++;
    }
    stacked.insert(stacked.end(), rows.back().data.begin(),
                   rows.back().data.end());
  }
  matrix shared(tokens, cols);
  fill(shared);
  for (std::ptrdiff_t t = 0; t < tokens; ++t) {
    weights.row(t)[top] = 1;
    slots[static_cast<std::size_t>(t * (top + 1) + top)] = at++;
  }
  stacked.insert(stacked.end(), shared.data.begin(), shared.data.end());
  matrix all(at, cols);
  all.data = stacked;
  matrix ours = combine(r, p, rows, shared, true);
  round_to(bf16, ours);
  std::vector<std::uint16_t> codes(all.data.size());
  const matrix_view<std::uint16_t> narrow(codes.data(), all.rows, cols);
  engine::recode(fp32, all.words(), bf16, narrow);
  std::vector<std::uint16_t> result(tokens * cols);
  const matrix_view<std::uint16_t> out(result.data(), tokens, cols);
  engine::combine(combine_rule::fp32_slots, narrow,
                  {slots.data(), tokens, top + 1}, weights.words(), out);
  matrix theirs(tokens, cols);
  engine::recode(bf16, out, fp32, theirs.words());
  EXPECT_EQ(ours.data, theirs.data);
}

TEST(LossLinear, RetiledCacheIsTheQuantizedTranspose) {
  // Powers of two and E5M6 keep what E4M3 needs: one rounding, the same codes.
  matrix x(256, 128);
  counter_rng rng(3, 0);
  for (float& v : x.data) v = static_cast<float>(rng.between(-64, 64)) / 64;
  const arm& full = arm_named("full");
  const stored cached = store(full.attention_cache, x.words());
  storage target = full.linear.x;
  target.scale = scale_kind::pow2;
  const stored t = transpose(full.linear.x, cached);
  const stored direct =
      store(target, matrix_view<const std::uint32_t>(x.words()).transposed());
  EXPECT_EQ(t.codes, direct.codes);
  EXPECT_EQ(t.scales, direct.scales);
}

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

/// Injected outliers change nothing but what one scale for a tensor does.
void expect_outliers_part_the_arms(const training_settings& s, int steps) {
  training_state state = trained(s, steps);
  state.model.history.assign(state.model.history.size(), {});
  training_state stressed = state;
  rescale(stressed, 20);
  const auto losses = [&](const training_state& from, const char* name) {
    return fork(s, arm_named(name), from, 4);
  };
  const auto right = losses(state, "bf16");
  const auto gap = [&](const training_state& from, const char* name) {
    return std::abs(fork_gap(losses(from, name), right, 4));
  };
  EXPECT_EQ(losses(stressed, "bf16"), right);
  EXPECT_EQ(losses(stressed, "full"), losses(state, "full"));
  EXPECT_LT(gap(stressed, "full"), 0.01);
  EXPECT_LT(gap(state, "per_tensor"), 0.01);
  EXPECT_GT(gap(stressed, "per_tensor"), 0.05);
}

TEST_F(LossGap, OutliersInWeightsPartTheArms) {
  expect_outliers_part_the_arms(small(), 30);
}

TEST_F(LossGap, OutliersInChannelsPartTheArms) {
  training_settings s = small();
  s.shape.width = s.shape.hidden = 256;
  s.shape.layers = 1;
  expect_outliers_part_the_arms(s, 8);
}

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
