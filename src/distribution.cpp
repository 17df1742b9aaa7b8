#include "distribution.hpp"

#include <cmath>

#include "zeroulp/random.hpp"

namespace zeroulp {
namespace {

/// Uniform in (-1, 1), symmetric, never 0.
double symmetric(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-52 - 1;
}

/// The natural logarithm of x in (0, 1), to about 1e-16. A library's log may
/// differ in its last bit from one machine to the next.
double logarithm(double x) {
  int e = 0;
  double m = std::frexp(x, &e);  // exact
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    --e;
  }
  const double t = (m - 1) / (m + 1);  // |t| < 0.172
  double sum = 0;
  for (int n = 21; n >= 1; n -= 2) sum = sum * (t * t) + 1.0 / n;
  return 2 * t * sum + e * 0x1.62e42fefa39efp-1;
}

/// N(0, 1) by the polar method; a rejected pair is followed by the next try.
double normal(std::uint64_t seed, std::uint64_t index) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    const std::uint64_t stream = seed + (2 * attempt + 1) * golden;
    const double u = symmetric(random_bits(stream, 2 * index));
    const double v = symmetric(random_bits(stream, 2 * index + 1));
    const double s = u * u + v * v;
    if (s < 1) return u * std::sqrt(-2 * logarithm(s) / s);
  }
}

}  // namespace

std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  return mix64(mix64(seed + golden) + index * golden);
}

double draw(const distribution& d, std::uint64_t seed, std::uint64_t index) {
  const double z =
      d.normal ? normal(seed, index) : symmetric(random_bits(seed, index));
  return d.mean + d.spread * z;
}

}  // namespace zeroulp
