// engine::rope_table and rope_frequency: cosines and sines in pairs of doubles,
// about 100 bits, so that they are rounded once.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "src/arrays/lines.hpp"
#include "src/base/float_mode.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/model.hpp"

namespace zeroulp::engine {
namespace {

/// 10000^(-i / 64), rounded to FP64.
constexpr std::uint64_t frequency_bits[64] = {
    0x3ff0000000000000, 0x3febb5fad00ab22c, 0x3fe7ff2224115d9a,
    0x3fe4c7bbfcc7c63c, 0x3fe1feb33c1c381e, 0x3fdf2a79d6b34ac7,
    0x3fdafd1354c40d50, 0x3fd75f034d79e965, 0x3fd43d136248490f,
    0x3fd186a0714c181b, 0x3fce5a84719edcd2, 0x3fca48fda581eeb9,
    0x3fc6c310e3769f3f, 0x3fc3b607ff6227d8, 0x3fc111aedafb9a9d,
    0x3fbd8ffaadd33b09, 0x3fb999999999999a, 0x3fb62b2f0cd55b56,
    0x3fb33281b6744ae1, 0x3fb09fc997063830, 0x3faccab8602d2697,
    0x3fa8eec7def5d56c, 0x3fa59742aa36710d, 0x3fa2b2690ac7edea,
    0x3fa030dc4ea03a72, 0x3f9c0a9a4ee02692, 0x3f984869f47f170f,
    0x3f9507315134befa, 0x3f9235a71c5ee5cc, 0x3f8f89a66569d95a,
    0x3f8b4f7e2b2c2a95, 0x3f87a66224a8fc07, 0x3f847ae147ae147b,
    0x3f81bc25a3dde2ac, 0x3f7eb735f0ba1168, 0x3f7a99428b3d26b3,
    0x3f77089380241edf, 0x3f73f2397f2b1123, 0x3f7145ceee91f40b,
    0x3f6dea41aad97caa, 0x3f69e7c6e43390b7, 0x3f666ee1d8b3520e,
    0x3f636d219065ac0c, 0x3f60d28dda9098c8, 0x3f5d22a4fa316fac,
    0x3f593aeb8454ade2, 0x3f55d931bc235544, 0x3f52eb81b6ed966c,
    0x3f50624dd2f1a9fc, 0x3f4c603c39630446, 0x3f4892918d61a787,
    0x3f4547686f641ef6, 0x3f426d42cce9b24c, 0x3f3fe9f59844e838,
    0x3f3ba2e4b0e98677, 0x3f37ee9aef1463bb, 0x3f34b96be9c2da2c,
    0x3f31f24e46f5db3e, 0x3f2f150280a2ace0, 0x3f2aea7c90e75ada,
    0x3f274eea61c12623, 0x3f242f22d043be4e, 0x3f217a8e301c4436,
    0x3f1e459c57e28a47};

/// The number high + low, |low| at most half an ulp of high.
struct double_pair {
  double high;
  double low;
};

double_pair exact_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
double_pair exact_product(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

double_pair add(double_pair a, double_pair b) {
  const double_pair high = exact_sum(a.high, b.high);
  const double_pair low = exact_sum(a.low, b.low);
  const double_pair sum = exact_sum(high.high, high.low + low.high);
  return exact_sum(sum.high, sum.low + low.low);
}
double_pair multiply(double_pair a, double_pair b) {
  const double_pair product = exact_product(a.high, b.high);
  return exact_sum(product.high,
                   product.low + (a.high * b.low + a.low * b.high));
}
double_pair divide(double_pair a, double b) {
  const double high = a.high / b;
  return exact_sum(high, (std::fma(-high, b, a.high) + a.low) / b);
}

/// x = quarters pi / 2 + rest, |rest| at most about pi / 4.
struct reduced_angle {
  int quarters;
  double_pair rest;
};
reduced_angle reduce_angle(double_pair x) {
  // pi / 2 in three parts.
  constexpr double parts[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54,
                              -0x1.f1976b7ed8fbcp-110};
  const double n = std::nearbyint(x.high * 0x1.45f306dc9c883p-1);
  double_pair rest = x;
  for (const double part : parts) {
    const double_pair product = exact_product(n, part);
    rest = add(rest, {-product.high, -product.low});
  }
  return {static_cast<int>(n) & 3, rest};
}

/// first - first x^2 / ((k + 1)(k + 2)) + ..., first being 1 (k = 0) or x (1).
double_pair series(double_pair x, double_pair first, int k) {
  const double_pair square = multiply(x, x);
  double_pair sum = first;
  double_pair term = first;
  for (; std::abs(term.high) > 0x1p-120 * std::abs(first.high); k += 2) {
    term =
        divide(multiply(term, square), -static_cast<double>((k + 1) * (k + 2)));
    sum = add(sum, term);
  }
  return sum;
}

/// FP32 bits of a pair, rounded once: first to odd in FP64.
std::uint32_t rounded(double_pair x) {
  auto bits = bit_cast<std::uint64_t>(x.high);
  if (x.low != 0 && (bits & 1) == 0) {
    const bool away = (x.low > 0) == (x.high > 0);
    bits = away ? bits | 1 : bits - 1;
  }
  return bit_cast<std::uint32_t>(static_cast<float>(bit_cast<double>(bits)));
}

}  // namespace

double rope_frequency(std::ptrdiff_t n, std::ptrdiff_t i) {
  const bool power = n >= 2 && n <= 128 && (n & (n - 1)) == 0;
  if (!power || i < 0 || i >= n / 2) {
    throw input_error(fmt::format(
        "rope_frequency: pair {} of {} elements; a power of two from 2 to 128 "
        "has a pair below its half",
        i, n));
  }
  return bit_cast<double>(frequency_bits[128 / n * i]);
}

void rope_table(std::span<const double> frequencies, std::ptrdiff_t first,
                matrix_view<std::uint32_t> cosines,
                matrix_view<std::uint32_t> sines) {
  const auto count = static_cast<std::ptrdiff_t>(frequencies.size());
  constexpr std::ptrdiff_t last = std::ptrdiff_t{1} << 20;
  check_shape(cosines, cosines.rows, count, "rope_table, cosines",
              "the frequencies need");
  check_shape(sines, cosines.rows, count, "rope_table, sines",
              "the cosines are");
  if (first < 0 || first > last || cosines.rows > last + 1 - first) {
    throw input_error(fmt::format(
        "rope_table: {} positions from {} on, but 0 to 2^20 are there",
        cosines.rows, first));
  }
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const double f = frequencies[static_cast<std::size_t>(i)];
    if (f >= 0 && f <= 1) continue;
    throw input_error(
        fmt::format("rope_table: frequency {} is {}, not from 0 to 1", i, f));
  }
  for_tiles(
      cosines.rows, count, 1, count,
      [&](std::ptrdiff_t p, std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t) {
        for (std::ptrdiff_t i = 0; i < count; ++i) {
          const auto angle = reduce_angle(
              exact_product(static_cast<double>(first + p),
                            frequencies[static_cast<std::size_t>(i)]));
          const double_pair x = angle.rest;
          std::uint32_t cosine = rounded(series(x, {1, 0}, 0));
          std::uint32_t sine = rounded(series(x, x, 1));
          if ((angle.quarters & 1) != 0) {
            std::swap(cosine, sine);
            cosine ^= 0x80000000;
          }
          if ((angle.quarters & 2) != 0) {
            cosine ^= 0x80000000;
            sine ^= 0x80000000;
          }
          cosines(p, i) = cosine;
          sines(p, i) = sine;
        }
      },
      1000);
}

}  // namespace zeroulp::engine
