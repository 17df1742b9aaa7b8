#include "tools/study/error/distribution.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "zeroulp/io.hpp"
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

/// e^x for |x| < 700, to about 1e-16 of itself, for the same reason.
double exponential(double x) {
  const double n = std::nearbyint(x * 0x1.71547652b82fep+0);
  // ln 2 in two parts, the first of few bits: n times it is exact.
  const double r = (x - n * 0x1.62e42fefp-1) - n * 0x1.473de6af278edp-34;
  double sum = 1;
  for (int i = 15; i >= 1; --i) sum = 1 + sum * r / i;
  return std::ldexp(sum, static_cast<int>(n));
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

std::optional<double> read_number(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(std::fabs(value) <= 1e30)) {
    return {};
  }
  return value;
}

/// The one or two numbers in the parentheses of NAME(x) or NAME(x,y).
std::optional<std::pair<double, double>> read_arguments(std::string_view text,
                                                        std::string_view name,
                                                        int count) {
  if (text.size() < name.size() + 2 || !text.starts_with(name) ||
      text[name.size()] != '(' || text.back() != ')') {
    return {};
  }
  text = text.substr(name.size() + 1, text.size() - name.size() - 2);
  const auto comma = text.find(',');
  if ((comma != std::string_view::npos) != (count == 2)) return {};
  const auto first = read_number(text.substr(0, comma));
  const auto second =
      count == 2 ? read_number(text.substr(comma + 1)) : std::optional(0.0);
  if (!first || !second) return {};
  return std::pair(*first, *second);
}

}  // namespace

std::string name_of(const distribution& d) {
  switch (d.kind) {
    case law::normal:
      return fmt::format("N({:g},{:g})", d.mean, d.spread);
    case law::uniform:
      return fmt::format("U({:g},{:g})", d.mean - d.spread, d.mean + d.spread);
    case law::lognormal:
      return fmt::format("lognormal({:g})", d.spread);
    case law::swiglu:
      break;
  }
  return fmt::format("swiglu({:g})", d.spread);
}

distribution parse_distribution(std::string_view text) {
  constexpr double widest = 8;  // of an exponent or what SwiGLU squares
  if (const auto x = read_arguments(text, "N", 2); x && x->second > 0) {
    return {law::normal, x->first, x->second};
  }
  if (const auto x = read_arguments(text, "U", 2); x && x->first < x->second) {
    return {law::uniform, (x->first + x->second) / 2,
            (x->second - x->first) / 2};
  }
  if (const auto x = read_arguments(text, "lognormal", 1);
      x && x->first > 0 && x->first <= widest) {
    return {law::lognormal, 0, x->first};
  }
  if (const auto x = read_arguments(text, "swiglu", 1);
      x && x->first > 0 && x->first <= 1e3) {
    return {law::swiglu, 0, x->first};
  }
  throw input_error(
      fmt::format("input '{}': use N(mean,sigma), U(low,high), "
                  "lognormal(sigma) with sigma up to 8 or swiglu(sigma)",
                  text));
}

std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  return mix64(mix64(seed + golden) + index * golden);
}

double draw(const distribution& d, std::uint64_t seed, std::uint64_t index) {
  if (d.kind == law::uniform) {
    return d.mean + d.spread * symmetric(random_bits(seed, index));
  }
  const double x = d.mean + d.spread * normal(seed, index);
  if (d.kind == law::normal) return x;
  if (d.kind == law::lognormal) return exponential(x);
  const double u = d.mean + d.spread * normal(mix64(seed), index);
  // e^700 is within FP64.
  return x / (1 + exponential(x < -700 ? 700 : -x)) * u;
}

}  // namespace zeroulp
