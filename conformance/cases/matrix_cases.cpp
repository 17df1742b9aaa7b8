#include "conformance/cases/matrix_cases.hpp"

#include <algorithm>
#include <cmath>

#include "conformance/oracles/nearest_code.hpp"

namespace zeroulp::conformance {
namespace {

std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
float float_of(std::uint32_t x) { return __builtin_bit_cast(float, x); }

/// Nearly N(0, 1): the sum of twelve uniform 16-bit numbers, exact.
double bell(counter_rng& rng) {
  std::int64_t sum = 0;
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t word = rng.next();
    for (int j = 0; j < 64; j += 16) {
      sum += static_cast<std::int64_t>(word >> j & 0xffff);
    }
  }
  return static_cast<double>(sum - std::int64_t{6} * 65535) / 65536.0;
}

/// A magnitude code for a format's NaN or Inf.
std::uint32_t special_code(format from, counter_rng& rng) {
  const std::uint32_t quantum = 1u << from.man_bits;
  const std::uint32_t infinity = ((1u << from.exp_bits) - 1) * quantum;
  switch (rng.below(4)) {
    case 0:
      return infinity;
    case 1:
      return infinity + 1 + rng.below(quantum - 1);
    case 2:
      return infinity + quantum - 1;
    default:
      return 0;
  }
}

}  // namespace

std::uint32_t code_near(format from, double x) {
  // The oracle's rounding takes 49 bits; FP32 loses nothing that matters here.
  const auto narrow = static_cast<float>(x);
  const std::uint32_t bits = bits_of(narrow);
  // Most matrices are of these, and the oracle takes longer than all else; BF16
  // that could overflow is left to it.
  if (from == fp32) return bits;
  if (from == bf16 && (bits & 0x7fffffff) < 0x7f7f8000) {
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  }
  return static_cast<std::uint32_t>(oracle::nearest_code(
      from, static_cast<double>(narrow), 1, keep_specials));
}

oracle::grid make_matrix(matrix_family family, format from, std::ptrdiff_t m,
                         std::ptrdiff_t n, counter_rng rng) {
  const auto sign = static_cast<std::uint32_t>(oracle::sign_bit(from));
  const auto largest = static_cast<std::uint32_t>(oracle::largest_code(from));
  const int magnitude = rng.between(-8, 8);
  oracle::grid x(m, n);
  std::uint32_t zeros = 0;
  for (std::uint32_t& word : x.words) {
    const std::uint32_t signed_zero = rng.one_in(2) ? sign : 0;
    double v = std::ldexp(bell(rng), magnitude);
    switch (family) {
      case matrix_family::normal:
        break;
      case matrix_family::outliers:
        if (rng.one_in(50)) v = std::ldexp(v, rng.between(1, 20));
        break;
      case matrix_family::zero_tiles:
        if (zeros == 0 && rng.one_in(40)) zeros = 1 + rng.below(300);
        if (zeros > 0) {
          --zeros;
          v = signed_zero == 0 ? 0.0 : -0.0;
        }
        break;
      case matrix_family::subnormal:
        word = signed_zero | rng.below(1 + (1u << rng.below(from.man_bits)));
        continue;
      case matrix_family::specials:
        if (rng.one_in(60)) {
          word = signed_zero | special_code(from, rng);
          continue;
        }
        break;
      case matrix_family::any_bits:
        word = rng.next32() & (sign | (sign - 1));
        continue;
      case matrix_family::wide:
        word = signed_zero | rng.below(largest + 1);
        continue;
    }
    word = code_near(from, v);
  }
  return x;
}

std::vector<std::uint32_t> midpoint_row(format to, float s, std::uint32_t amax,
                                        std::uint64_t first,
                                        std::uint64_t step) {
  std::vector<std::uint32_t> row{amax};
  const auto scale = static_cast<double>(s);
  for (std::uint64_t c = first; c <= oracle::largest_code(to); c += step) {
    const double middle =
        (oracle::magnitude_value(to, c) + oracle::magnitude_value(to, c + 1)) /
        2 * scale;
    if (!(middle <= static_cast<double>(float_of(amax)))) break;
    const std::uint32_t at = bits_of(static_cast<float>(middle));
    for (std::uint32_t x = at < 2 ? 0 : at - 2; x <= at + 2; ++x) {
      if (x > amax) continue;
      row.push_back(x);
      row.push_back(x | 0x80000000u);
    }
  }
  return row;
}

std::uint32_t exact_amax(format to, int bits, int exponent, counter_rng& rng) {
  const std::uint32_t significand =
      (1u << (bits - 1) | rng.below(1u << (bits - 1))) | 1u;
  const double max = oracle::magnitude_value(to, oracle::largest_code(to));
  const double s = std::ldexp(significand, exponent - bits + 1);
  return bits_of(static_cast<float>(max * s));
}

std::uint32_t disputed_amax(format to, counter_rng& rng) {
  const auto max =
      static_cast<float>(oracle::magnitude_value(to, oracle::largest_code(to)));
  std::uint32_t bits = 0;
  for (int tries = 0; tries < 1000; ++tries) {
    bits = 0x3e000000 + rng.below(0x05000000);
    const float amax = float_of(bits);
    const float s = amax / max;
    const float q = max / amax;
    const float inverse = 1.0f / q;
    const float by_reciprocal = amax * (1.0f / max);
    const bool one_inverse = 1.0f / inverse == q || 1.0f / s == q;
    if (s != by_reciprocal && s != inverse && !one_inverse) break;
  }
  return bits;
}

std::vector<std::uint32_t> boundary_amaxes(format to) {
  constexpr std::uint32_t infinity = 0x7f800000;
  std::vector<std::uint32_t> all{infinity,   infinity + 1, 0x7fc00000,
                                 0x7fffffff, 0x00400000,   0x007fffff,
                                 0x00ffffff, 0x3f800000};
  const auto around = [&all](double x) {
    if (!(x < 0x1p128)) return;
    const std::uint32_t at = bits_of(static_cast<float>(x));
    for (std::int64_t c = std::int64_t{at} - 1; c <= std::int64_t{at} + 1;
         ++c) {
      if (c >= 0 && c <= std::int64_t{infinity}) {
        all.push_back(static_cast<std::uint32_t>(c));
      }
    }
  };
  for (const double x :
       {0.0, 0x1p-148, 0x1p-147, 0x1p-126, 0x1.cp-120, 1e-4, 1e-10, 1e-12,
        0x1.fffffep127, 0x1.fep127, 0x1.ffp127}) {
    around(x);
  }
  const double max = oracle::magnitude_value(to, oracle::largest_code(to));
  for (int e = -280; e <= 140; ++e) {
    around(std::ldexp(max, e));
    around(std::ldexp(max * 1.4142135623730951, e));
  }
  around(max / 0x1.fffffep127);  // max / amax overflows below
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace zeroulp::conformance
