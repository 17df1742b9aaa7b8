// Tests of the analysis of paired gaps, on simulated pairs: its size, its
// power, its intervals.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tools/study/parity/statistics.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::parity {
namespace {

constexpr double bound = 0.0025;

/// Normal numbers by Box and Muller.
class normal_gaps {
 public:
  normal_gaps(double mean, double sd, std::uint64_t seed)
      : mean_(mean), sd_(sd), rng_(seed, 0) {}
  std::vector<double> next(int n) {
    std::vector<double> gaps;
    for (int i = 0; i < n; ++i) {
      const double u = uniform(), v = uniform();
      gaps.push_back(mean_ + sd_ * std::sqrt(-2 * std::log(u)) *
                                 std::cos(2 * std::numbers::pi * v));
    }
    return gaps;
  }

 private:
  double uniform() {
    return (static_cast<double>(rng_.below(1u << 31)) + 0.5) / 2147483648.0;
  }
  double mean_;
  double sd_;
  counter_rng rng_;
};

/// The share of simulated campaigns whose verdict is `within`.
double share_within(int n, double mean, double sd, double level, int draws) {
  normal_gaps source(mean, sd, 7);
  int within = 0;
  for (int i = 0; i < draws; ++i) {
    const auto e = estimate_of(source.next(n), level);
    within += verdict_of(e, bound) == verdict::within ? 1 : 0;
  }
  return static_cast<double>(within) / draws;
}

TEST(Parity, EstimateOfFourNumbers) {
  const std::vector<double> gaps{1, 2, 3, 4};
  const estimate e = estimate_of(gaps, 0.9);
  EXPECT_EQ(e.mean, 2.5);
  EXPECT_NEAR(e.sd, std::sqrt(5.0 / 3), 1e-14);
  // Tables: t 2.35336 and chi-square 0.351846, 7.814728 of 3 degrees.
  EXPECT_NEAR(e.high - e.mean, 2.35336343 * e.sd / 2, 1e-7);
  EXPECT_NEAR(e.mean - e.low, 2.35336343 * e.sd / 2, 1e-7);
  EXPECT_NEAR(e.sd_high, std::sqrt(5 / 0.35184632), 1e-6);
  EXPECT_NEAR(e.sd_low, std::sqrt(5 / 7.81472790), 1e-6);
}

TEST(Parity, VerdictsAreOfTheWholeInterval) {
  const auto of = [](double low, double high) {
    return verdict_of({6, 0, low, high, 0, 0, 0}, bound);
  };
  EXPECT_EQ(of(-0.002, 0.002), verdict::within);
  EXPECT_EQ(of(-0.0025, 0.002), verdict::undecided);
  EXPECT_EQ(of(-0.002, 0.0025), verdict::undecided);
  EXPECT_EQ(of(0.0026, 0.004), verdict::beyond);
  EXPECT_EQ(of(-0.004, -0.0026), verdict::beyond);
  EXPECT_EQ(of(-0.004, 0.004), verdict::undecided);
}

/// A gap as large as the bound is called within at most as often as promised.
TEST(Parity, SizeAtTheBoundIsAtMostSixPercent) {
  for (const double sd : {0.0006, 0.0012, 0.003}) {
    for (const int n : {4, 6, 12}) {
      EXPECT_LE(share_within(n, bound, sd, 0.9, 20000), 0.06) << sd << ' ' << n;
      EXPECT_LE(power_within(n, bound, sd, bound, 0.9), 0.05 + 1e-9);
    }
  }
}

/// Two looks of 95 % intervals: the second where the first is undecided.
TEST(Parity, SizeOfTwoLooksIsAtMostSixPercent) {
  for (const double sd : {0.0006, 0.0012, 0.002}) {
    normal_gaps source(bound, sd, 11);
    int within = 0;
    constexpr int draws = 20000;
    for (int i = 0; i < draws; ++i) {
      auto gaps = source.next(12);
      const std::span<const double> all(gaps);
      auto v = verdict_of(estimate_of(all.first(6), 0.95), bound);
      if (v == verdict::undecided) {
        v = verdict_of(estimate_of(all, 0.95), bound);
      }
      within += v == verdict::within ? 1 : 0;
    }
    EXPECT_LE(within, draws * 6 / 100) << sd;
  }
}

struct power_row {
  int n;
  double mean;
  double power[5];  ///< of sd 0.06, 0.10, 0.15, 0.20, 0.30 %
};

TEST(Parity, PowerIsThatOfSimulationAndOfTheDesign) {
  // The design's table: 20,000 draws, two digits.
  constexpr power_row rows[] = {{4, 0.0005, {1.00, 0.90, 0.59, 0.33, 0.11}},
                                {6, 0.0005, {1.00, 1.00, 0.87, 0.61, 0.21}},
                                {8, 0.0005, {1.00, 1.00, 0.96, 0.80, 0.37}},
                                {12, 0.001, {1.00, 1.00, 0.95, 0.79, 0.47}}};
  constexpr double sds[] = {0.0006, 0.0010, 0.0015, 0.0020, 0.0030};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < 5; ++i) {
      const double exact = power_within(row.n, row.mean, sds[i], bound, 0.9);
      EXPECT_NEAR(exact, row.power[i], 0.015) << row.n << ' ' << sds[i];
      EXPECT_NEAR(exact, share_within(row.n, row.mean, sds[i], 0.9, 20000),
                  0.012)
          << row.n << ' ' << sds[i];
    }
  }
}

TEST(Parity, HalfWidthsAreThoseOfTheDesign) {
  constexpr double sds[] = {0.06, 0.10, 0.15, 0.20, 0.30};
  constexpr double of_6[] = {0.05, 0.08, 0.12, 0.16, 0.25};
  constexpr double of_12[] = {0.03, 0.05, 0.08, 0.10, 0.16};
  for (std::size_t i = 0; i < 5; ++i) {
    // Gaps of mean 0 and this deviation.
    const auto half = [&](int n) {
      std::vector<double> gaps;
      for (int k = 0; k < n; ++k) gaps.push_back(k % 2 == 0 ? 1 : -1);
      const double scale = sds[i] / estimate_of(gaps, 0.9).sd;
      for (double& g : gaps) g *= scale;
      return estimate_of(gaps, 0.9).high;
    };
    EXPECT_NEAR(half(6), of_6[i], 0.0051);
    EXPECT_NEAR(half(12), of_12[i], 0.0051);
  }
}

}  // namespace
}  // namespace zeroulp::parity
