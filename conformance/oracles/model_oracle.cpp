#include "conformance/oracles/model_oracle.hpp"

#include <algorithm>
#include <cmath>

#include "conformance/oracles/quantizer_oracle.hpp"
#include "conformance/oracles/training_oracle.hpp"

#ifdef __FAST_MATH__
#error "The oracles need IEEE 754 arithmetic of the host."
#endif

namespace zeroulp::oracle {
namespace {

/// The fraction of an FP32 number, 23 bits, and its exponent.
struct normalized {
  int exponent;
  std::uint32_t fraction;
};

normalized normalize(float x) {
  int e = 0;
  const float half = std::frexp(x, &e);  // 0.1f
  return {e - 1, to_bits(half) & 0x007fffff};
}

double double_log(float x) {
  if (std::isnan(x) || x < 0) return NAN;
  if (x == 0) return -INFINITY;
  if (std::isinf(x)) return INFINITY;
  const normalized v = normalize(x);
  int e = v.exponent;
  double m = 1 + std::ldexp(static_cast<double>(v.fraction), -23);
  if (v.fraction >= 0x3504f3) {
    m /= 2;
    ++e;
  }
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  double p = 2.0 / 19;
  for (int k = 8; k >= 1; --k) p = std::fma(p, z, 2.0 / (2 * k + 1));
  const double l = std::fma(s, z * p, 2 * s);
  const auto ln2 = __builtin_bit_cast(double, 0x3fe62e42fefa39ef);
  return std::fma(static_cast<double>(e), ln2, l);
}

/// The 256 partial sums become one, by neighbours.
template <class Number>
Number neighbours_added(std::vector<Number> p) {
  while (p.size() > 1) {
    std::vector<Number> half;
    for (std::size_t i = 0; i < p.size(); i += 2) {
      half.push_back(p[i] + p[i + 1]);
    }
    p = half;
  }
  return p.front();
}

std::vector<float> floats_of_row(const grid& g, std::ptrdiff_t i) {
  std::vector<float> row;
  for (std::ptrdiff_t j = 0; j < g.cols; ++j) row.push_back(to_float(g(i, j)));
  return row;
}

float bf16_at(const grid& g, std::ptrdiff_t i, std::ptrdiff_t j) {
  return number_of(bf16, g(i, j));
}

}  // namespace

std::uint32_t logarithm(std::uint32_t x) {
  return to_bits(static_cast<float>(double_log(to_float(x))));
}

std::uint32_t usual_scale(std::ptrdiff_t n) {
  return to_bits(static_cast<float>(1 / std::sqrt(static_cast<double>(n))));
}

float dot(const std::vector<float>& x, const std::vector<float>& y) {
  std::vector<float> p(256);
  for (std::size_t j = 0; j < x.size(); ++j) {
    float& partial = p[j / 8 % 256];
    partial = std::fma(x[j], y[j], partial);
  }
  return neighbours_added(p);
}

float row_sum(const std::vector<float>& x) {
  std::vector<float> p(256);
  for (std::size_t j = 0; j < x.size(); ++j) p[j / 8 % 256] += x[j];
  return neighbours_added(p);
}

float token_sum(const std::vector<float>& x, const std::vector<float>& y) {
  float sum = 0;
  for (std::size_t begin = 0; begin < x.size(); begin += 256) {
    float range = 0;
    for (std::size_t t = begin; t < std::min(begin + 256, x.size()); ++t) {
      range = std::fma(x[t], y[t], range);
    }
    sum += range;
  }
  return sum;
}

float largest_of(const std::vector<float>& x) {
  float m = -INFINITY;
  for (const float number : x) {
    if (std::isnan(number)) return NAN;
    if (number > m || (number == 0 && m == 0 && !std::signbit(number))) {
      m = number;
    }
  }
  return m;
}

norm_outputs norm_backward(const norm_inputs& t) {
  const std::ptrdiff_t m = t.x.rows;
  const std::ptrdiff_t n = t.x.cols;
  norm_outputs out{grid(m, n), grid(1, n)};
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    const float rstd = to_float(t.rstd(i, 0));
    std::vector<float> g, x;
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      g.push_back(bf16_at(t.dy, i, j) * to_float(t.w(0, j)));
      x.push_back(bf16_at(t.x, i, j));
    }
    const float a = dot(g, x) * rstd * rstd / static_cast<float>(n);
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      const auto at = static_cast<std::size_t>(j);
      float d = rstd * std::fma(-a, x[at], g[at]);
      if (t.residual.rows > 0) d += bf16_at(t.residual, i, j);
      out.dx(i, j) = code_of(bf16, d);
    }
  }
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    std::vector<float> dy, x;
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      dy.push_back(bf16_at(t.dy, i, j));
      x.push_back(bf16_at(t.x, i, j) * to_float(t.rstd(i, 0)));
    }
    out.dw(0, j) = to_bits(token_sum(dy, x));
  }
  return out;
}

grid turned(const rope_inputs& t) {
  const std::ptrdiff_t n = t.x.cols / t.heads;
  const bool adjacent = t.pairs == rope_pairs::adjacent;
  grid y(t.x.rows, t.x.cols);
  for (std::ptrdiff_t row = 0; row < y.rows; ++row) {
    const std::ptrdiff_t position = row % t.cosines.rows;
    for (std::ptrdiff_t pair = 0; pair < t.x.cols / 2; ++pair) {
      const std::ptrdiff_t head = pair / (n / 2);
      const std::ptrdiff_t i = pair % (n / 2);
      const std::ptrdiff_t j0 = head * n + (adjacent ? 2 * i : i);
      const std::ptrdiff_t j1 = adjacent ? j0 + 1 : j0 + n / 2;
      const float c = to_float(t.cosines(position, i));
      float s = to_float(t.sines(position, i));
      if (t.backward) s = -s;
      const float x0 = bf16_at(t.x, row, j0);
      const float x1 = bf16_at(t.x, row, j1);
      y(row, j0) = code_of(bf16, std::fma(-x1, s, x0 * c));
      y(row, j1) = code_of(bf16, std::fma(x0, s, x1 * c));
    }
  }
  return y;
}

entropy cross_entropy(const grid& logits, const grid& targets,
                      std::uint32_t factor) {
  const std::ptrdiff_t n = logits.cols;
  entropy out{grid(logits.rows, 1), grid(logits.rows, n)};
  for (std::ptrdiff_t i = 0; i < logits.rows; ++i) {
    const auto target = static_cast<std::int32_t>(targets(i, 0));
    if (target < 0) continue;
    const auto z = floats_of_row(logits, i);
    const float m = largest_of(z);
    std::vector<float> u;
    for (const float number : z) {
      u.push_back(to_float(exponential(to_bits(number - m))));
    }
    const float sum = row_sum(u);
    const float log_of_sum = to_float(logarithm(to_bits(sum)));
    const float shifted = z[static_cast<std::size_t>(target)] - m;
    out.losses(i, 0) = to_bits(log_of_sum - shifted);
    const float inverse = 1 / sum;
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      const float share = u[static_cast<std::size_t>(j)] * inverse;
      const float difference = share - (j == target ? 1.0f : 0.0f);
      out.dlogits(i, j) = code_of(bf16, difference * to_float(factor));
    }
  }
  return out;
}

double loss_sum(const grid& losses) {
  double sum = 0;
  for (std::ptrdiff_t begin = 0; begin < losses.rows; begin += 1024) {
    double range = 0;
    for (std::ptrdiff_t i = begin; i < std::min(begin + 1024, losses.rows);
         ++i) {
      range += static_cast<double>(to_float(losses(i, 0)));
    }
    sum += range;
  }
  return sum;
}

grid shard_sum(const std::vector<grid>& shards) {
  if (shards.size() == 1) return shards[0];  // no sum, the same bits
  grid sum(shards[0].rows, shards[0].cols);
  for (std::size_t at = 0; at < sum.words.size(); ++at) {
    std::vector<float> g;
    for (const grid& shard : shards) g.push_back(to_float(shard.words[at]));
    sum.words[at] = to_bits(neighbours_added(g));
  }
  return sum;
}

double square_sum(const grid& g) {
  constexpr std::size_t chunk = 65536;
  double sum = 0;
  for (std::size_t begin = 0; begin < g.words.size(); begin += chunk) {
    std::vector<double> p(256);
    const std::size_t end = std::min(begin + chunk, g.words.size());
    for (std::size_t at = begin; at < end; ++at) {
      const auto x = static_cast<double>(to_float(g.words[at]));
      double& partial = p[(at - begin) / 8 % 256];
      partial = std::fma(x, x, partial);
    }
    sum += neighbours_added(p);
  }
  return sum;
}

std::uint32_t clipping(double norm, double clip) {
  return to_bits(norm > clip ? static_cast<float>(clip / norm) : 1.0f);
}

double rate(const rate_schedule& s, std::int64_t t) {
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  if (t <= s.warmup) return s.rate * number(t) / number(s.warmup);
  if (t <= s.hold) return s.rate;
  const double fall = (1 - s.last) * (number(t) - number(s.hold));
  return s.rate * (1 - fall / (number(s.steps) - number(s.hold)));
}

grid averaged(const grid& average, const grid& weights, std::uint32_t rate) {
  grid out = average;
  for (std::size_t i = 0; i < out.words.size(); ++i) {
    const float a = to_float(average.words[i]);
    out.words[i] =
        to_bits(std::fma(to_float(rate), to_float(weights.words[i]) - a, a));
  }
  return out;
}

}  // namespace zeroulp::oracle
