// Error measures: sums in a fixed order, compensated, in long double.

#include "zeroulp/metrics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace zeroulp {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// Neumaier's sum: the error does not grow with the number of terms.
class compensated_sum {
 public:
  void add(long double x) {
    const long double next = sum_ + x;
    rest_ +=
        std::fabs(sum_) >= std::fabs(x) ? (sum_ - next) + x : (x - next) + sum_;
    sum_ = next;
  }
  long double value() const { return sum_ + rest_; }

 private:
  long double sum_ = 0, rest_ = 0;
};

// 0 / 0 is 0: no error.
double ratio(long double numerator, long double denominator) {
  if (numerator == 0) return 0;
  return static_cast<double>(numerator / denominator);
}

// 1 - cos of the angle between x and x + e. With e = slope x + r, r orthogonal
// to x, and t = tan^2 = ||r||^2 / ((1 + slope)^2 ||x||^2):
//   1 - 1 / sqrt(1 + t) = t / (sqrt(1 + t) (1 + sqrt(1 + t))).
double one_minus_cosine(long double rr, long double xx, long double slope) {
  const long double along = 1 + slope;
  if (rr == 0 && along > 0) return 0;
  if (along == 0) return 1;
  const long double t = rr / (along * along * xx);
  const long double s = std::sqrt(1 + t);
  const long double result = along > 0 ? t / (s * (1 + s)) : 1 + 1 / s;
  return static_cast<double>(std::isinf(t) ? 1 : result);
}

}  // namespace

void error_accumulator::add(std::span<const double> computed,
                            std::span<const double> exact,
                            std::span<const double> errors) {
  if (computed.size() != exact.size() || errors.size() != exact.size()) {
    throw std::invalid_argument("zeroulp::error_accumulator: unequal lengths");
  }
  if (exact_.empty()) {
    exact_.reserve(exact.size());
    errors_.reserve(exact.size());
  }
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double c = computed[i], x = exact[i];
    if (std::isfinite(c) && std::isfinite(x) && std::isfinite(errors[i])) {
      exact_.push_back(x);
      errors_.push_back(errors[i]);
    } else if ((std::isnan(c) && std::isnan(x)) || (c == x && std::isinf(c))) {
      ++matches_;
    } else {
      ++mismatches_;
    }
  }
}

error_metrics error_accumulator::result() const {
  const std::size_t n = exact_.size();
  error_metrics m;
  m.count = n + matches_ + mismatches_;
  m.nonfinite_matches = matches_;
  m.nonfinite_mismatches = mismatches_;
  if (mismatches_ != 0) {
    m.frobenius = m.max_over_max = m.max_over_mean = m.max_over_rms = nan;
    m.bias = m.sqnr_db = m.one_minus_cosine = m.mean_relative = nan;
    m.quantiles.fill(nan);
    return m;
  }

  compensated_sum sum_xx, sum_ee, sum_ex, sum_x;
  long double max_x = 0, max_e = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const long double x = exact_[i], e = errors_[i];
    sum_xx.add(x * x);
    sum_ee.add(e * e);
    sum_ex.add(e * x);
    sum_x.add(std::fabs(x));
    max_x = std::max(max_x, std::fabs(x));
    max_e = std::max(max_e, std::fabs(e));
  }
  if (max_e == 0) {
    m.sqnr_db = infinity;
    return m;
  }

  const long double xx = sum_xx.value(), ee = sum_ee.value();
  const auto size = static_cast<long double>(n);
  const long double rms = std::sqrt(xx / size);
  m.frobenius = ratio(std::sqrt(ee), std::sqrt(xx));
  m.max_over_max = ratio(max_e, max_x);
  m.max_over_mean = ratio(max_e, sum_x.value() / size);
  m.max_over_rms = ratio(max_e, rms);
  m.sqnr_db = static_cast<double>(10 * std::log10(xx / ee));
  if (max_x == 0) {
    m.bias = nan;
    m.one_minus_cosine = 1;
  } else {
    const long double slope = sum_ex.value() / xx;
    compensated_sum sum_rr;
    for (std::size_t i = 0; i < n; ++i) {
      const long double r = errors_[i] - slope * exact_[i];
      sum_rr.add(r * r);
    }
    m.bias = static_cast<double>(slope);
    m.one_minus_cosine = one_minus_cosine(sum_rr.value(), xx, slope);
  }

  std::vector<double> relative(n);
  compensated_sum sum_relative;
  for (std::size_t i = 0; i < n; ++i) {
    const long double x = std::fabs(static_cast<long double>(exact_[i]));
    relative[i] = ratio(std::fabs(static_cast<long double>(errors_[i])),
                        std::max(x, 1e-3L * rms));
    sum_relative.add(relative[i]);
  }
  static_assert(error_quantiles.back() == 1);  // the largest
  auto above = relative.begin();  // what is before it is not larger
  for (std::size_t q = 0; q < error_quantiles.size(); ++q) {
    const auto rank = static_cast<std::size_t>(
        std::ceil(error_quantiles[q] * static_cast<double>(n)));
    const auto at =
        relative.begin() +
        static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(rank, 1, n) - 1);
    if (at >= above) {
      std::nth_element(above, at, relative.end());
      above = at + 1;
    }
    m.quantiles[q] = *at;
  }
  m.mean_relative = std::isinf(m.quantiles.back())
                        ? infinity
                        : static_cast<double>(sum_relative.value() / size);
  return m;
}

code_order order_of(format f) {
  return {f.sign_mask(), f.magnitude_mask(),
          f.has_infinity() ? f.infinity_code() : f.max_code(),
          f.kind == specials::fnuz};
}

code_difference difference_of(std::uint64_t a, std::uint64_t b,
                              const code_order& order) {
  const std::uint64_t mask = order.sign_mask | order.magnitude_mask;
  a &= mask;
  b &= mask;
  const std::uint64_t size_a = a & order.magnitude_mask;
  const std::uint64_t size_b = b & order.magnitude_mask;
  const bool negative_a = (a & order.sign_mask) != 0;
  const bool negative_b = (b & order.sign_mask) != 0;
  const auto is_nan = [&](std::uint64_t size, bool negative) {
    return size > order.largest ||
           (order.negative_zero_is_nan && negative && size == 0);
  };
  const bool nan_a = is_nan(size_a, negative_a);
  const bool nan_b = is_nan(size_b, negative_b);
  using enum difference_class;
  if (nan_a != nan_b) return {nan, {}};
  if (nan_a) {
    return {a == b ? std::nullopt : std::optional(nan_bits), {}};
  }
  const std::uint64_t distance =
      negative_a != negative_b
          ? size_a + size_b
          : std::max(size_a, size_b) - std::min(size_a, size_b);
  if (a == b) return {{}, distance};
  return {distance == 0 ? zero_sign : values, distance};
}

void ulp_histogram::add(std::uint64_t a, std::uint64_t b,
                        const code_order& order) {
  const auto [kind, distance] = difference_of(a, b, order);
  if (kind) {
    ++different;
    if (!first_difference) first_difference = count;
    if (*kind == difference_class::nan) ++nan_mismatches;
    if (*kind == difference_class::nan_bits) ++nan_payload;
    if (*kind == difference_class::zero_sign) ++zero_sign;
  }
  ++count;
  if (!distance) return;
  max_distance = std::max(max_distance, *distance);
  const auto bucket = static_cast<std::size_t>(
      *distance == 0 ? 0 : 1 + std::bit_width(*distance - 1));
  if (buckets.size() <= bucket) buckets.resize(bucket + 1);
  ++buckets[bucket];
}

void ulp_histogram::add(std::span<const std::uint64_t> a,
                        std::span<const std::uint64_t> b,
                        const code_order& order) {
  if (a.size() != b.size()) {
    throw std::invalid_argument("zeroulp::ulp_histogram: unequal lengths");
  }
  for (std::size_t i = 0; i < a.size(); ++i) add(a[i], b[i], order);
}

std::uint64_t ulp_histogram::first_of(std::size_t i) {
  if (i < 2) return i;
  return (std::uint64_t{1} << (i - 2)) + 1;
}

std::uint64_t ulp_histogram::last_of(std::size_t i) {
  if (i < 2) return i;
  return i > 64 ? ~std::uint64_t{0} : std::uint64_t{1} << (i - 1);
}

}  // namespace zeroulp
