// The study gives the figures that cuBLASLt gave on an H200.

#include "tools/study/error/study.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "conformance/tests/level.hpp"

namespace zeroulp {
namespace {

/// Percent, M = N = 1024, cuBLASLt with fast accumulation on and off.
struct measured {
  const char* distribution;
  std::ptrdiff_t k;
  double frobenius, promoted_frobenius, bias, promoted_bias;
};

constexpr measured h200[] = {
    {"N(0,1)", 1024, 0.054, 0.0126, -0.009, -0.0039},
    {"N(0,1)", 4096, 0.133, 0.0126, -0.019, -0.0039},
    {"N(0,1)", 16384, 0.312, 0.0126, -0.052, -0.0039},
    {"U(-1,1)", 4096, 0.119, 0.0104, -0.019, -0.0039},
    {"N(0.5,1)", 4096, 0.689, 0.0051, -0.671, -0.0046},
    {"U(0,1)", 1024, 1.345, 0.0499, -1.344, -0.0497},
    {"U(0,1)", 4096, 6.599, 0.0496, -6.598, -0.0495},
    {"U(0,1)", 16384, 24.91, 0.0497, -24.91, -0.0497},
};

// This holds the default run; at level 0 fewer outputs, whose bias is as near
// with the default seed.
TEST(Study, FrobeniusAndBiasAreWithinFivePercentOfTheH200s) {
  study_request q;
  q.intervals = {0, 128};
  if (test::level() == 0) q.m = q.n = 128;
  const auto cells = run_study(q, [](double, double) {});
  const auto find = [&](const measured& row, int interval) {
    for (const auto& cell : cells) {
      if (cell.distribution == row.distribution && cell.k == row.k &&
          cell.interval == interval) {
        return cell.errors;
      }
    }
    return error_metrics{};
  };
  const auto near = [](double fraction, double percent) {
    return std::fabs(100 * fraction / percent - 1) < 0.05;
  };
  for (const auto& row : h200) {
    const auto none = find(row, 0);
    const auto promoted = find(row, 128);
    EXPECT_TRUE(near(none.frobenius, row.frobenius)) << row.distribution;
    EXPECT_TRUE(near(promoted.frobenius, row.promoted_frobenius));
    EXPECT_TRUE(near(none.bias, row.bias)) << row.distribution << row.k;
    EXPECT_TRUE(near(promoted.bias, row.promoted_bias)) << row.distribution;
  }
}

}  // namespace
}  // namespace zeroulp
