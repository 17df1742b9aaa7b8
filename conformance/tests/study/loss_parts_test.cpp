// The parts of the loss study's model that have something to be held against.

#include <gtest/gtest.h>

#include <cmath>

#include "tools/study/loss/experts.hpp"
#include "tools/train/source.hpp"
#include "zeroulp/training.hpp"

namespace zeroulp::loss {
namespace {

using train::source;

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

TEST(LossExperts, CombineIsTheEngines) {
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

}  // namespace
}  // namespace zeroulp::loss
