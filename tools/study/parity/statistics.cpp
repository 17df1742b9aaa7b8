// Estimates of paired gaps; distributions and quadrature are Boost's.

#include "tools/study/parity/statistics.hpp"

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <stdexcept>

namespace zeroulp::parity {
namespace {

namespace math = boost::math;

/// Student's t of a two-sided level.
double t_of(int n, double level) {
  return math::quantile(math::students_t(n - 1), 0.5 + level / 2);
}

}  // namespace

estimate estimate_of(std::span<const double> gaps, double level) {
  const auto n = static_cast<int>(gaps.size());
  if (n < 2) throw std::logic_error("an interval needs two gaps");
  estimate e;
  e.n = n;
  for (const double g : gaps) e.mean += g / n;
  double squares = 0;
  for (const double g : gaps) squares += (g - e.mean) * (g - e.mean);
  e.sd = std::sqrt(squares / (n - 1));
  const double half = t_of(n, level) * e.sd / std::sqrt(n);
  e.low = e.mean - half;
  e.high = e.mean + half;
  const math::chi_squared chi(n - 1);
  e.sd_low = std::sqrt(squares / math::quantile(chi, 0.95));
  e.sd_high = std::sqrt(squares / math::quantile(chi, 0.05));
  return e;
}

const char* name_of(verdict v) {
  constexpr const char* names[] = {"within", "beyond", "undecided"};
  return names[static_cast<std::size_t>(v)];
}

verdict verdict_of(const estimate& e, double bound) {
  if (e.low > -bound && e.high < bound) return verdict::within;
  if (e.low > bound || e.high < -bound) return verdict::beyond;
  return verdict::undecided;
}

double power_within(int n, double mean, double sd, double bound, double level) {
  if (sd == 0) return std::abs(mean) < bound ? 1 : 0;
  const math::normal normal;
  const math::chi_squared chi(n - 1);
  const double error = sd / std::sqrt(n);
  const double t = t_of(n, level);
  // Over the deviation that is found, s = sd sqrt(chi2 / (n - 1)).
  const auto at = [&](double x) {
    if (x <= 0) return 0.0;
    const double room = bound - t * error * std::sqrt(x / (n - 1));
    if (room <= 0) return 0.0;
    return math::pdf(chi, x) * (math::cdf(normal, (room - mean) / error) -
                                math::cdf(normal, (-room - mean) / error));
  };
  // Beyond it the interval is wider than the bounds.
  const double last = (n - 1) * std::pow(bound / (t * error), 2);
  const double most = std::min(last, math::quantile(chi, 1 - 1e-12));
  return math::quadrature::gauss_kronrod<double, 61>::integrate(at, 0.0, most,
                                                                15, 1e-10);
}

}  // namespace zeroulp::parity
