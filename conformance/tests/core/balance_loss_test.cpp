// The gradient of the balance loss is that of the loss: SPEC N25.

#include "zeroulp/core/model/balance_loss.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "zeroulp/random.hpp"

namespace zeroulp::balance_test {
namespace {

using A = core_fp32;
using reals = std::vector<double>;

constexpr int tokens = 5, experts = 6, top = 2;
constexpr double alpha = 0.5;

reals scores_of(router_score how, const reals& z) {
  reals s;
  double sum = 0;
  for (const double x : z) sum += std::exp(x);
  for (const double x : z) {
    s.push_back(how == router_score::sigmoid ? 1 / (1 + std::exp(-x))
                                             : std::exp(x) / sum);
  }
  return s;
}

/// Eq. 17 to 20 of DeepSeek-V3's report in FP64.
double loss_of(router_score how, const std::vector<reals>& logits,
               const std::vector<std::vector<int>>& chosen) {
  reals f(experts), p(experts);
  for (int t = 0; t < tokens; ++t) {
    const auto at = static_cast<std::size_t>(t);
    for (const int e : chosen[at]) {
      f[static_cast<std::size_t>(e)] += double{experts} / (top * tokens);
    }
    const reals s = scores_of(how, logits[at]);
    double sum = 0;
    for (const double x : s) sum += x;
    for (std::size_t e = 0; e < experts; ++e) p[e] += s[e] / sum / tokens;
  }
  double loss = 0;
  for (std::size_t e = 0; e < experts; ++e) loss += alpha * f[e] * p[e];
  return loss;
}

std::uint32_t bits_of(double x) {
  return bit_cast<std::uint32_t>(static_cast<float>(x));
}
double number_of(std::uint32_t bits) {
  return static_cast<double>(bit_cast<float>(bits));
}

void expect_its_gradient(router_score how) {
  counter_rng rng(7, static_cast<std::uint64_t>(how));
  std::vector<reals> logits;
  std::vector<std::vector<int>> chosen;
  std::vector<std::uint32_t> scores;
  std::vector<std::int32_t> slots;
  for (int t = 0; t < tokens; ++t) {
    reals z;
    for (int e = 0; e < experts; ++e) z.push_back(rng.between(-20, 20) / 8.0);
    for (const double s : scores_of(how, z)) scores.push_back(bits_of(s));
    const int first = rng.between(0, experts - 1);
    chosen.push_back({first, (first + 1 + rng.between(0, 1)) % experts});
    for (const int e : chosen.back()) slots.push_back(e);
    logits.push_back(z);
  }
  std::vector<std::uint32_t> dz(scores.size()), work(4 * experts);
  std::uint32_t loss = 0;
  balance_loss<A>({how,
                   tokens,
                   bits_of(alpha),
                   {scores.data(), tokens, experts},
                   {slots.data(), tokens, top},
                   {&loss, 1, 1},
                   {dz.data(), tokens, experts},
                   {work.data(), 1, 4 * experts}},
                  0, 1);
  EXPECT_NEAR(number_of(loss), loss_of(how, logits, chosen), 1e-6);
  constexpr double step = 1e-4;
  for (std::size_t t = 0; t < tokens; ++t) {
    for (std::size_t e = 0; e < experts; ++e) {
      auto above = logits, below = logits;
      above[t][e] += step;
      below[t][e] -= step;
      const double slope =
          (loss_of(how, above, chosen) - loss_of(how, below, chosen)) /
          (2 * step);
      EXPECT_NEAR(number_of(dz[t * experts + e]), slope, 1e-6) << t << " " << e;
    }
  }
}

TEST(BalanceLoss, ItsGradientIsThatOfTheLoss) {
  expect_its_gradient(router_score::sigmoid);
  expect_its_gradient(router_score::softmax);
}

}  // namespace
}  // namespace zeroulp::balance_test
