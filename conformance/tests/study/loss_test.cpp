// Tests of what the loss study adds to a training run. Each can fail: an
// outlier must part the arms and change no bit of BF16.

#include <gtest/gtest.h>

#include <cmath>

#include "tools/study/loss/comparison.hpp"
#include "tools/study/loss/gap.hpp"
#include "tools/study/loss/stress.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::loss {
namespace {

using train::source;
using train::training_run;

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

training_run small(int steps, std::uint64_t seed = 1) {
  train::run_settings s{train::parse_shape("tiny+sequences:1+length:32"),
                        parse_arm(bf16_name)};
  s.seed = seed;
  s.rate = train::usual_rate(s.shape, 40);
  training_run run(s, train::training_data(s.shape, seed));
  for (int i = 0; i < steps; ++i) run.advance();
  return run;
}

/// An injected outlier changes no bit of BF16, and what scales do to the rest.
class LossOutlier : public testing::TestWithParam<outlier_kind> {};

TEST_P(LossOutlier, ChangesNothingButWhatASharedScaleDoes) {
  const training_run run = small(6);
  const auto stress = stress_of(run.settings().shape, {GetParam(), 18});
  const auto of = [&](const char* name, bool stressed) {
    return run.under(parse_arm(name),
                     stressed ? stress : std::vector<train::scaled_block>{});
  };
  const auto plain = of("bf16", false), stressed = of("bf16", true);
  EXPECT_EQ(losses_of(*plain, 3), losses_of(*stressed, 3));
  EXPECT_EQ(plain->digest(), stressed->digest());
  const auto b = run.data().training(run.state().steps);
  const auto right = of("bf16", false)->host_pass(b);
  const auto error = [&](const char* name, bool on) {
    return compare(of(name, on)->host_pass(b), right).all.relative;
  };
  EXPECT_EQ(error("bf16", true), 0);
  for (const char* arm : {"full", block_arm, "tensor"}) {
    EXPECT_GT(error(arm, true), error(arm, false)) << arm;
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, LossOutlier,
                         testing::Values(outlier_kind::channel,
                                         outlier_kind::unit));

/// Without the inverse where it is read, an outlier is another model.
TEST(LossStress, HalfOfAnOutlierIsSeen) {
  training_run run = small(1);
  auto stress = stress_of(run.settings().shape, {outlier_kind::unit, 4});
  stress.pop_back();
  const arm bf16 = parse_arm(bf16_name);
  EXPECT_NE(losses_of(*run.under(bf16, stress), 1), losses_of(run, 1));
}

TEST(LossSeeds, AreRunsOfTheirOwn) {
  EXPECT_NE(small(0, 1).data().training(0).targets,
            small(0, 2).data().training(0).targets);
  EXPECT_NE(small(0, 1).digest(), small(0, 2).digest());
}

TEST(LossGap, ArmDoesNotDifferFromItself) {
  const training_run run = small(2);
  const auto a = run.pass_of(run.data().training(2));
  const state_gap g = compare(a, a);
  EXPECT_EQ(g.loss, 0);
  EXPECT_EQ(g.all.relative, 0);
  EXPECT_NEAR(g.all.cosine, 1, 1e-12);
}

TEST(LossGap, SeesAnErrorOfKnownSize) {
  const training_run run = small(2);
  const auto a = run.pass_of(run.data().training(2));
  auto b = a;
  for (auto& g : b.gradients) {
    for (auto& x : g.data) {
      x = bit_cast<std::uint32_t>(0.75f * bit_cast<float>(x));
    }
  }
  const state_gap g = compare(b, a);
  EXPECT_NEAR(g.all.relative, 0.25, 1e-6);
  EXPECT_NEAR(g.all.slope, 0.75, 1e-6);
}

TEST(LossGap, IntervalIsStudents) {
  const interval i = confidence({1, 2, 3, 4});
  EXPECT_EQ(i.mean, 2.5);
  EXPECT_NEAR(i.high - i.mean, 2.353 * std::sqrt(5.0 / 12), 1e-12);
}

}  // namespace
}  // namespace zeroulp::loss
