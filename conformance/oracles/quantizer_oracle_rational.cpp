// The second path of the quantizer's oracle: rational numbers, no host
// rounding.

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

#include "conformance/oracles/nearest_code.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"

namespace zeroulp::oracle {
namespace {

using rational = boost::multiprecision::cpp_rational;

rational exact(double x) {
  int e = 0;
  const double fraction = std::frexp(x, &e);
  rational r(static_cast<std::int64_t>(std::ldexp(fraction, 53)));
  e -= 53;
  const boost::multiprecision::cpp_int power = boost::multiprecision::cpp_int(1)
                                               << std::abs(e);
  return e < 0 ? rational(r / power) : rational(r * power);
}

rational magnitude_of(const rational& x) { return x < 0 ? rational(-x) : x; }

/// FP32 nearest to an exact value: the search is over codes as integers.
float round_to_float(const rational& x, bool negative_zero) {
  const rational a = magnitude_of(x);
  std::uint64_t low = 0;
  std::uint64_t high = 0x7f800000;
  const auto value = [](std::uint64_t c) {
    return exact(magnitude_value(fp32, c));
  };
  if (a >= value(high)) return x < 0 ? -INFINITY : INFINITY;
  while (high - low > 1) {  // value(low) <= a < value(high)
    const std::uint64_t middle = (low + high) / 2;
    (value(middle) <= a ? low : high) = middle;
  }
  const rational below = a - value(low);
  const rational above = value(high) - a;
  const bool up = above < below || (above == below && low % 2 != 0);
  const auto bits = static_cast<std::uint32_t>(up ? high : low);
  return to_float(bits | (x < 0 || negative_zero ? 0x80000000u : 0));
}

}  // namespace

int rational_pow2_exponent(double a, double max, scale_kind kind) {
  if (kind == scale_kind::ocp) {
    // The difference of the two, of which each is 2^floor(log2()).
    const auto floor = [](double x) {
      int e = -1080;
      while (exact(std::ldexp(1.0, e + 1)) <= exact(x)) ++e;
      return e;
    };
    const int e = floor(a) - floor(max);
    return e < -127 ? -127 : e > 127 ? 127 : e;
  }
  const rational ratio = exact(a) / exact(max);
  const auto power = [](int e) { return exact(std::ldexp(1.0, e)); };
  int e = -127;
  for (; e < 127; ++e) {  // the first e that is not too small
    const bool enough = kind == scale_kind::pow2 ? ratio <= power(e)
                        : kind == scale_kind::pow2_down
                            ? ratio < power(e + 1)
                            : ratio * ratio < power(2 * e + 1);
    if (enough) break;
  }
  return e;
}

std::uint64_t rational_nearest_code(format f, double x, double s, policy p) {
  const rational ratio = magnitude_of(exact(x) / exact(s));
  const std::uint64_t beyond = largest_code(f) + 1;
  std::uint64_t best = 0;
  rational least = ratio + 1;
  for (std::uint64_t c = 0; c <= beyond; ++c) {
    const rational d = magnitude_of(ratio - exact(magnitude_value(f, c)));
    if (d < least || (d == least && c % 2 == 0)) {
      best = c;
      least = d;
    }
  }
  // Zero, overflow and the sign are the policy's, which the value 0 or a value
  // on a code tells `nearest_code` without rounding.
  const double value = magnitude_value(f, best);
  return nearest_code(f, std::copysign(value, x), 1, p);
}

float rational_divide(float a, float b) {
  const auto x = static_cast<double>(a);
  const auto y = static_cast<double>(b);
  return round_to_float(exact(x) / exact(y),
                        std::signbit(a) != std::signbit(b));
}

float rational_multiply(float a, float b) {
  const auto x = static_cast<double>(a);
  const auto y = static_cast<double>(b);
  return round_to_float(exact(x) * exact(y),
                        std::signbit(a) != std::signbit(b));
}

float rational_fma(float a, float b, float c) {
  const auto x = static_cast<double>(a);
  const auto y = static_cast<double>(b);
  const auto z = static_cast<double>(c);
  return round_to_float(exact(x) * exact(y) + exact(z), false);
}

}  // namespace zeroulp::oracle
