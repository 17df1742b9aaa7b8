// Error measures against their definitions, evaluated by Eigen in long double,
// and distances in ulps against a count along the sorted codes.

#include "zeroulp/metrics.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

namespace zeroulp {
namespace {

using vector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
using doubles = std::vector<double>;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

vector to_eigen(const doubles& x) {
  return Eigen::Map<const Eigen::VectorXd>(x.data(),
                                           static_cast<Eigen::Index>(x.size()))
      .cast<long double>();
}

error_metrics measure(const doubles& computed, const doubles& exact) {
  doubles errors(exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    errors[i] = computed[i] - exact[i];
  }
  error_accumulator a;
  a.add(computed, exact, errors);
  return a.result();
}

void expect_close(double value, long double expected, double tolerance) {
  EXPECT_NEAR(value, static_cast<double>(expected),
              tolerance * std::fabs(static_cast<double>(expected)));
}

TEST(ErrorMetrics, AgreeWithEigen) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (const double offset : {0.0, 0.5, 3.0}) {
    for (const double size : {1e-6, 1e-2, 0.3, 4.0}) {
      for (const int n : {1, 2, 17, 5000}) {
        doubles exact, computed, error;
        for (int i = 0; i < n; ++i) {
          exact.push_back(normal(random) + offset);
          error.push_back(size * (normal(random) - offset));
          computed.push_back(exact.back() + error.back());
        }
        error_accumulator a;
        a.add(computed, exact, error);
        const error_metrics m = a.result();
        const vector x = to_eigen(exact), e = to_eigen(error), c = x + e;
        const long double max_e = e.cwiseAbs().maxCoeff();
        const long double rms = std::sqrt(x.squaredNorm() / n);
        expect_close(m.frobenius, e.norm() / x.norm(), 1e-15);
        expect_close(m.max_over_max, max_e / x.cwiseAbs().maxCoeff(), 1e-15);
        expect_close(m.max_over_mean, max_e / x.cwiseAbs().mean(), 1e-15);
        expect_close(m.max_over_rms, max_e / rms, 1e-15);
        expect_close(m.bias, e.dot(x) / x.squaredNorm(), 1e-13);
        expect_close(m.sqnr_db,
                     10 * std::log10(x.squaredNorm() / e.squaredNorm()), 1e-13);
        EXPECT_NEAR(m.one_minus_cosine,
                    static_cast<double>(1 - c.dot(x) / c.norm() / x.norm()),
                    1e-16);
        doubles relative;
        for (Eigen::Index i = 0; i < n; ++i) {
          relative.push_back(static_cast<double>(
              std::fabs(e[i]) / std::max(std::fabs(x[i]), 1e-3L * rms)));
        }
        long double mean = 0;
        for (const double r : relative) mean += r / static_cast<double>(n);
        expect_close(m.mean_relative, mean, 1e-14);
        std::sort(relative.begin(), relative.end());
        for (std::size_t q = 0; q < error_quantiles.size(); ++q) {
          const auto least = error_quantiles[q] * n;
          const auto at = std::find_if(
              relative.begin(), relative.end(), [&](const double& r) {
                return static_cast<double>(&r - relative.data() + 1) >= least;
              });
          expect_close(m.quantiles[q], *at, 1e-15);
        }
      }
    }
  }
}

TEST(ErrorMetrics, AreExactWhereAHandCanCheck) {
  const error_metrics m = measure({2, 4, -6, 9}, {2, 4, -6, 8});
  EXPECT_EQ(m.frobenius, static_cast<double>(std::sqrt(1.0L / 120)));
  EXPECT_EQ(m.max_over_max, 1.0 / 8);
  EXPECT_EQ(m.max_over_mean, 1.0 / 5);
  EXPECT_NEAR(m.max_over_rms, 1 / std::sqrt(30.0), 1e-16);
  EXPECT_EQ(m.bias, 8.0 / 120);
  EXPECT_EQ(m.quantiles, (std::array<double, 5>{0, .125, .125, .125, .125}));
  EXPECT_EQ(m.count, 4U);
}

// 1 - cos of vectors that are orthogonal but for a known small angle.
TEST(ErrorMetrics, CosineKeepsItsDigitsForSmallErrors) {
  for (const double tangent : {1e-3, 1e-8, 1e-20, 1e-100}) {
    error_accumulator a;
    a.add(doubles{1, tangent}, doubles{1, 0}, doubles{0, tangent});
    const long double t = static_cast<long double>(tangent) * tangent;
    const long double s = std::sqrt(1 + t);
    expect_close(a.result().one_minus_cosine, t / (s * (1 + s)), 1e-15);
  }
}

// The error is 1e-9 of itself away from a multiple of x: the part that turns
// the vector is not lost in the part that scales it.
TEST(ErrorMetrics, CosineIgnoresAScaleFactor) {
  EXPECT_EQ(measure({3, 6, 9}, {1, 2, 3}).one_minus_cosine, 0);
  error_accumulator a;
  a.add(doubles{1.5, 0}, doubles{1, 0}, doubles{0.5, 1e-9});
  expect_close(a.result().one_minus_cosine, 0.5e-18L / 2.25L, 1e-12);
}

TEST(ErrorMetrics, CosineOfOppositeAndOrthogonalVectors) {
  EXPECT_EQ(measure({-1, -2}, {1, 2}).one_minus_cosine, 2);
  EXPECT_EQ(measure({0, 2}, {1, 0}).one_minus_cosine, 1);
  EXPECT_EQ(measure({0, 0}, {1, 2}).one_minus_cosine, 1);
  EXPECT_NEAR(measure({-1, 1}, {1, 0}).one_minus_cosine, 1 + std::sqrt(0.5),
              1e-15);
}

TEST(ErrorMetrics, DefineTheCaseWithoutError) {
  for (const doubles& x : {doubles{1, -2, 3}, doubles{0, 0}, doubles{}}) {
    const error_metrics m = measure(x, x);
    for (const double v :
         {m.frobenius, m.max_over_max, m.max_over_mean, m.max_over_rms, m.bias,
          m.one_minus_cosine, m.quantiles.front(), m.quantiles.back()}) {
      EXPECT_EQ(v, 0);
    }
    EXPECT_EQ(m.sqnr_db, inf);
    EXPECT_EQ(m.count, x.size());
  }
}

TEST(ErrorMetrics, DefineTheCaseWhereTheExactIsZero) {
  const error_metrics m = measure({0, 0, 1}, {0, 0, 0});
  for (const double v :
       {m.frobenius, m.max_over_max, m.max_over_mean, m.max_over_rms,
        m.quantiles.back(), m.mean_relative, -m.sqnr_db}) {
    EXPECT_EQ(v, inf);
  }
  EXPECT_TRUE(std::isnan(m.bias));
  EXPECT_EQ(m.one_minus_cosine, 1);
  EXPECT_EQ(m.quantiles.front(), 0);
}

TEST(ErrorMetrics, CountElementsThatAreNotFinite) {
  const error_metrics same = measure({nan, inf, -inf, 2}, {nan, inf, -inf, 1});
  EXPECT_EQ(same.nonfinite_matches, 3U);
  EXPECT_EQ(same.nonfinite_mismatches, 0U);
  EXPECT_EQ(same.count, 4U);
  EXPECT_EQ(same.frobenius, 1);
  const struct {
    double computed, exact;
  } rows[] = {{nan, 1}, {1, nan}, {inf, 1}, {1, -inf}, {inf, -inf}, {nan, inf}};
  for (const auto& row : rows) {
    const error_metrics m = measure({1, row.computed}, {1, row.exact});
    EXPECT_EQ(m.nonfinite_mismatches, 1U);
    for (const double v :
         {m.frobenius, m.max_over_max, m.max_over_mean, m.max_over_rms, m.bias,
          m.sqnr_db, m.one_minus_cosine, m.mean_relative, m.quantiles[0]}) {
      EXPECT_TRUE(std::isnan(v));
    }
  }
}

TEST(ErrorMetrics, DoNotDependOnHowTheInputIsCut) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  doubles x(1000), c(1000), e(1000);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = normal(random);
    e[i] = 1e-3 * normal(random);
    c[i] = x[i] + e[i];
  }
  error_accumulator whole, cut;
  whole.add(c, x, e);
  for (std::size_t at = 0; at < x.size();) {
    const std::size_t n = std::min<std::size_t>(1 + random() % 50, 1000 - at);
    cut.add({&c[at], n}, {&x[at], n}, {&e[at], n});
    at += n;
  }
  EXPECT_EQ(whole.result().frobenius, cut.result().frobenius);
  EXPECT_EQ(whole.result().bias, cut.result().bias);
  EXPECT_EQ(whole.result().one_minus_cosine, cut.result().one_minus_cosine);
  EXPECT_EQ(whole.result().quantiles, cut.result().quantiles);
}

TEST(ErrorMetrics, SurviveTheExtremesOfDouble) {
  const error_metrics big = measure({1.5e308, 1e308}, {1e308, 1e308});
  EXPECT_NEAR(big.frobenius, std::sqrt(0.125), 1e-15);
  const error_metrics small = measure({5e-324, 1e-323}, {5e-324, 5e-324});
  EXPECT_NEAR(small.frobenius, std::sqrt(0.5), 1e-15);
}

TEST(ErrorMetrics, RefuseUnequalLengths) {
  error_accumulator a;
  EXPECT_THROW(a.add(doubles{1}, doubles{1, 2}, doubles{1, 2}),
               std::invalid_argument);
  EXPECT_THROW(a.add(doubles{1, 2}, doubles{1, 2}, doubles{1}),
               std::invalid_argument);
}

constexpr code_order e4m3 = {0x80, 0x7F, 0x7E, false};
constexpr code_order e5m2 = {0x80, 0x7F, 0x7C, false};
constexpr code_order fnuz = {0x80, 0x7F, 0x7F, true};
constexpr code_order ue8m0 = {0, 0xFF, 0xFE, false};

bool is_nan(std::uint64_t code, const code_order& o) {
  return (code & o.magnitude_mask) > o.largest ||
         (o.negative_zero_is_nan && code == o.sign_mask);
}

// Every pair of codes: the distance is the number of steps along the codes from
// the lowest to the highest value, -0 left out.
TEST(UlpHistogram, CountsStepsAlongTheSortedCodes) {
  for (const code_order& order : {e4m3, e5m2, fnuz, ue8m0}) {
    std::vector<std::uint64_t> line;
    for (std::uint64_t m = order.largest; order.sign_mask != 0 && m > 0; --m) {
      line.push_back(order.sign_mask | m);
    }
    for (std::uint64_t m = 0; m <= order.largest; ++m) line.push_back(m);
    for (std::size_t i = 0; i < line.size(); ++i) {
      for (std::size_t j = 0; j < line.size(); ++j) {
        ulp_histogram h;
        h.add(line[i], line[j], order);
        const std::size_t distance = i > j ? i - j : j - i;
        ASSERT_EQ(h.max_distance, distance);
        ASSERT_LE(ulp_histogram::first_of(h.buckets.size() - 1), distance);
        ASSERT_GE(ulp_histogram::last_of(h.buckets.size() - 1), distance);
        ASSERT_EQ(h.buckets.back(), 1U);
        ASSERT_EQ(h.first_difference.has_value(), i != j);
      }
    }
  }
}

TEST(UlpHistogram, CountsEveryPairOnce) {
  for (const code_order& order : {e4m3, e5m2, fnuz, ue8m0}) {
    ulp_histogram h;
    std::uint64_t zeros = 0, payloads = 0, mismatches = 0, numbers = 0;
    for (std::uint64_t a = 0; a < 256; ++a) {
      for (std::uint64_t b = 0; b < 256; ++b) {
        h.add(a, b, order);
        const int nans = is_nan(a, order) + is_nan(b, order);
        numbers += nans == 0;
        mismatches += nans == 1;
        payloads += nans == 2 && a != b;
        zeros += nans == 0 && a != b && ((a | b) & order.magnitude_mask) == 0;
      }
    }
    EXPECT_EQ(h.count, 65536U);
    EXPECT_EQ(h.different, 65536U - 256U);
    EXPECT_EQ(h.zero_sign, zeros);
    EXPECT_EQ(h.nan_payload, payloads);
    EXPECT_EQ(h.nan_mismatches, mismatches);
    std::uint64_t sum = 0;
    for (const std::uint64_t n : h.buckets) sum += n;
    EXPECT_EQ(sum, numbers);
    EXPECT_EQ(*h.first_difference, 1U);
  }
}

TEST(DifferenceOf, HasAClassIffTheBitsDifferAndADistanceIffNoneIsNan) {
  for (const code_order& order : {e4m3, e5m2, fnuz, ue8m0}) {
    for (std::uint64_t a = 0; a < 256; ++a) {
      for (std::uint64_t b = 0; b < 256; ++b) {
        const auto d = difference_of(a, b, order);
        const int nans = is_nan(a, order) + is_nan(b, order);
        ASSERT_EQ(d.kind.has_value(), a != b);
        ASSERT_EQ(d.distance.has_value(), nans == 0);
        if (a == b) continue;
        const bool zeros = nans == 0 && *d.distance == 0;
        const auto expected = nans == 1   ? difference_class::nan
                              : nans == 2 ? difference_class::nan_bits
                              : zeros     ? difference_class::zero_sign
                                          : difference_class::values;
        ASSERT_EQ(*d.kind, expected);
      }
    }
  }
}

TEST(UlpHistogram, BucketsMeetWithoutGap) {
  EXPECT_EQ(ulp_histogram::first_of(3), 3U);
  EXPECT_EQ(ulp_histogram::last_of(3), 4U);
  for (std::size_t i = 1; i <= 64; ++i) {
    EXPECT_EQ(ulp_histogram::first_of(i), ulp_histogram::last_of(i - 1) + 1);
  }
}

TEST(UlpHistogram, HoldsTheWidestFormat) {
  const std::uint64_t sign = std::uint64_t{1} << 63;
  const code_order f64 = {sign, sign - 1, 0x7FF0000000000000, false};
  ulp_histogram h;
  h.add(0x7FF0000000000000, 0xFFF0000000000000, f64);
  EXPECT_EQ(h.max_distance, 0xFFE0000000000000);
  EXPECT_EQ(h.buckets.size(), 66U);
  EXPECT_GE(ulp_histogram::last_of(65), h.max_distance);
}

TEST(UlpHistogram, FindsTheFirstDifference) {
  const std::vector<std::uint64_t> a = {1, 2, 0x80, 9, 0x7F},
                                   b = {1, 2, 0, 9, 3};
  ulp_histogram h;
  h.add(a, b, e4m3);
  EXPECT_EQ(h.first_difference, 2U);
  EXPECT_EQ(h.different, 2U);
  EXPECT_EQ(h.zero_sign, 1U);
  EXPECT_EQ(h.nan_mismatches, 1U);
  EXPECT_THROW(h.add({a.data(), 2}, b, e4m3), std::invalid_argument);
}

}  // namespace
}  // namespace zeroulp
