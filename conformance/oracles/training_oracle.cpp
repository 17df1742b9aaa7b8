#include "conformance/oracles/training_oracle.hpp"

#include <algorithm>
#include <cmath>

#include "conformance/oracles/mpfr_oracle.hpp"
#include "conformance/oracles/nearest_code.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"

#ifdef __FAST_MATH__
#error "The oracles need IEEE 754 arithmetic of the host."
#endif

namespace zeroulp::oracle {
namespace {

/// E1, by FP64 where that is exact.
struct reduction {
  int n;
  float high, low, r, bend;
};

reduction reduce(float x) {
  const float log2_of_e = 0x1.715476p0f;
  const float ln2_high = 0x1.62e4p-1f;
  const float ln2_low = 0x1.7f7d1cp-20f;
  reduction e{};
  e.n = static_cast<int>(
      std::nearbyint(static_cast<double>(x) * static_cast<double>(log2_of_e)));
  const auto n = static_cast<float>(e.n);
  e.high = x - n * ln2_high;
  e.low = -(n * ln2_low);
  e.r =
      static_cast<float>(static_cast<double>(e.high) -
                         static_cast<double>(n) * static_cast<double>(ln2_low));
  const float c[] = {0x1.fffffcp-2f, 0x1.55549p-3f, 0x1.5558fap-5f,
                     0x1.123b6ap-7f, 0x1.6a21acp-10f};
  e.bend = c[4];
  for (int k = 3; k >= 0; --k) e.bend = std::fma(e.bend, e.r, c[k]);
  return e;
}

float float_exp(float x) {
  if (std::isnan(x)) return x;
  const reduction e = reduce(std::max(-104.0f, std::min(x, 89.0f)));
  const float line = 1 + e.high;
  const float rest = (e.high - (line - 1)) + e.low;
  const float p = line + std::fma(e.bend, e.r * e.r, rest);
  return static_cast<float>(std::ldexp(static_cast<double>(p), e.n));
}

float float_sigmoid(float x) {
  if (std::isnan(x)) return x;
  const reduction e = reduce(std::min(std::fabs(x), 104.0f));
  const float f = std::fma(e.bend, e.r * e.r, e.r);
  const double s = std::ldexp(1.0, -e.n);
  const float d = static_cast<float>(1 + s) + f;
  const float rest = static_cast<float>(s + static_cast<double>(1 - d)) + f;
  const float y = 1 / d;
  const float error = std::fma(-y, rest, std::fma(-y, d, 1.0f));
  const double v = static_cast<double>(std::fma(error, y, y)) * s;
  return static_cast<float>(std::signbit(x) ? v : 1 - v);
}

float float_rsqrt(float x) {
  if (std::isnan(x) || x < 0) return NAN;
  if (x == 0) return std::copysign(INFINITY, x);
  if (std::isinf(x)) return 0;
  const bool small = x < 0x1p-64f;
  const float v = small ? x * 0x1p64f : x;
  const float s = std::sqrt(v);
  const float y = 1 / s;
  const float d = std::fma(-s, y, 1.0f);
  const float e = std::fma(-s, s, v);
  const float z = std::fma(y, std::fma(e * y, -0.5f * y, d), y);
  return small ? z * 0x1p32f : z;
}

float tree(const std::vector<float>& p, std::size_t from, std::size_t count) {
  if (count == 1) return p[from];
  return tree(p, from, count / 2) + tree(p, from + count / 2, count / 2);
}

double power(double base, std::int64_t t) {
  double result = 1;
  for (; t > 0; t /= 2) {
    if (t % 2 == 1) result *= base;
    base *= base;
  }
  return result;
}

std::uint32_t bits_of(double x) {
  return static_cast<std::uint32_t>(convert(
      fp64, __builtin_bit_cast(std::uint64_t, x), fp32, {}, cuda_nosat));
}

}  // namespace

std::uint32_t exponential(std::uint32_t x) {
  return to_bits(float_exp(to_float(x)));
}
std::uint32_t logistic(std::uint32_t x) {
  return to_bits(float_sigmoid(to_float(x)));
}
std::uint32_t inverse_root(std::uint32_t x) {
  return to_bits(float_rsqrt(to_float(x)));
}

std::uint32_t code_of(format to, float x, rounder r) {
  return static_cast<std::uint32_t>(
      convert(fp32, to_bits(x), to, r, cuda_nosat));
}

float number_of(format from, std::uint32_t code) {
  return static_cast<float>(code_value(from, code));
}

float swiglu(float g, float u) {
  const float silu = g * float_sigmoid(g);
  return silu * u;
}

gradients swiglu_gradients(float g, float u, float dh) {
  const float s = float_sigmoid(g);
  const float silu = g * s;
  const float slope = s * std::fma(g, 1 - s, 1.0f);
  const float du = dh * silu;
  const float dg = (dh * u) * slope;
  return {silu * u, dg, du};
}

float rms_factor(const std::vector<float>& x, float eps) {
  std::vector<float> p(256);
  for (std::size_t j = 0; j < x.size(); ++j) {
    float& lane = p[j / 8 % 256];
    lane = std::fma(x[j], x[j], lane);
  }
  const float mean = tree(p, 0, 256) / static_cast<float>(x.size());
  return float_rsqrt(mean + eps);
}

moments adamw(const adamw_factors& f, moments old, float g) {
  const float m = std::fma(to_float(f.one_minus_beta1), g - old.m, old.m);
  const float square = g * g;
  const float v = std::fma(to_float(f.one_minus_beta2), square - old.v, old.v);
  const float scaled = std::sqrt(v) * to_float(f.inverse_sqrt_bias2);
  const float denominator = scaled + to_float(f.eps);
  const float decayed = std::fma(-to_float(f.decay), old.w, old.w);
  return {m, v, std::fma(-to_float(f.step), m / denominator, decayed)};
}

adamw_factors factors(const adamw_settings& s) {
  const double bias1 = 1 - power(s.beta1, s.t);
  const double bias2 = 1 - power(s.beta2, s.t);
  return {bits_of(1 - s.beta1),
          bits_of(1 - s.beta2),
          bits_of(1 / std::sqrt(bias2)),
          bits_of(s.eps),
          bits_of(s.rate * s.weight_decay),
          bits_of(s.rate / bias1)};
}

std::uint32_t random_bits(std::uint64_t seed, std::uint64_t index,
                          bool second) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15 * (index + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return static_cast<std::uint32_t>(second ? z >> 32 : z);
}

std::uint32_t combine(combine_rule rule,
                      const std::vector<std::uint32_t>& contributions,
                      const std::vector<float>& weights) {
  if (rule == combine_rule::bf16_pair && contributions.size() == 2) {
    return static_cast<std::uint32_t>(compute(
        function::add, bf16, contributions[0], contributions[1], 0, {}));
  }
  float sum = 0;
  for (std::size_t s = 0; s < contributions.size(); ++s) {
    const float x = number_of(bf16, contributions[s]);
    sum = !weights.empty() ? std::fma(weights[s], x, sum)
          : s == 0         ? x
                           : sum + x;
    if (rule == combine_rule::bf16_hops) {
      sum = number_of(bf16, code_of(bf16, sum));
    }
  }
  return code_of(bf16, sum);
}

}  // namespace zeroulp::oracle
