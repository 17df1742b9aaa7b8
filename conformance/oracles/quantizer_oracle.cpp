#include "conformance/oracles/quantizer_oracle.hpp"

#include <algorithm>
#include <cmath>

#include "conformance/oracles/nearest_code.hpp"

#ifdef __FAST_MATH__
#error "The oracles need IEEE 754 arithmetic of the host."
#endif

namespace zeroulp::oracle {
namespace {

const float infinity = INFINITY;

/// fl(x) of an operation that the host has done: its NaN may be any NaN.
float fl(float x) { return to_float(to_bits(x)); }

/// Q8. Given, not checked here: what div.full.f32 gives is a matter of its own.
float approximate(float x, float s) {
  return to_float(approximate_quotient(to_bits(x), to_bits(s)));
}

/// The exact x / s where it needs no rounding: zeros, Inf and NaN among them.
double special_quotient(float x, float s) {
  if (std::isnan(x) || std::isnan(s)) return std::nan("");
  if (x == 0 && s == 0) return std::nan("");
  if (std::isinf(x) && std::isinf(s)) return std::nan("");
  return static_cast<double>(x) / static_cast<double>(s);
}

float from_code(format from, std::uint32_t code) {
  return static_cast<float>(code_value(from, code));
}

/// Q2: the magnitude that counts, or -1 if it is left out.
float counted(const convention& how, float x) {
  x = std::fabs(x);
  if (std::isnan(x)) return how.amax == amax_rule::keep_nan ? x : -1;
  if (how.bf16_amax && !std::isinf(x)) {
    const policy p{false, false, true, nan_payload::quiet, false};
    x = from_code(bf16, static_cast<std::uint32_t>(
                            nearest_code(bf16, static_cast<double>(x), 1, p)));
  }
  if (std::isinf(x) && how.amax == amax_rule::finite_only) return -1;
  return x;
}

}  // namespace

float to_float(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

std::uint32_t to_bits(float x) {
  return std::isnan(x) ? 0x7fffffff : __builtin_bit_cast(std::uint32_t, x);
}

int pow2_exponent(double a, double max, scale_kind kind) {
  // 2^down <= a / max < 2^(down + 1)
  int down = std::ilogb(a) - std::ilogb(max) - 1;
  while (std::ldexp(max, down + 1) <= a) ++down;
  int e = down;
  if (kind == scale_kind::pow2 && std::ldexp(max, down) != a) e = down + 1;
  if (kind == scale_kind::ocp) e = std::ilogb(a) - std::ilogb(max);
  // a / max above 2^(down + 1/2): the squares are exact in FP64.
  if (kind == scale_kind::pow2_nearest &&
      a * a > std::ldexp(max * max, 2 * down + 1)) {
    e = down + 1;
  }
  return e < -127 ? -127 : e > 127 ? 127 : e;
}

namespace {

/// fl(x), and that rounded to BF16 where the convention says so.
float scale_step(const convention& how, float x) {
  x = fl(x);
  if (!how.bf16_scale || std::isnan(x) || std::isinf(x)) return x;
  const policy p{false, false, true, nan_payload::quiet, false};
  return from_code(bf16, static_cast<std::uint32_t>(
                             nearest_code(bf16, static_cast<double>(x), 1, p)));
}

/// Q5: the exponent of a power-of-two scale.
int exponent_of(const quantizer& q, float amax, float max, float s) {
  const convention& how = q.how;
  const auto clamped = [](int e) {
    return e < -127 ? -127 : e > 127 ? 127 : e;
  };
  if (how.exponent == exponent_rule::exact || q.scale == scale_kind::ocp) {
    const int e = pow2_exponent(static_cast<double>(amax),
                                static_cast<double>(max), q.scale);
    const float floor = to_float(how.scale_floor);
    return floor > 0 ? std::max(e, pow2_exponent(static_cast<double>(floor), 1,
                                                 q.scale))
                     : clamped(e);
  }
  if (s == 0) return -127;
  if (s == infinity) return 127;
  if (how.exponent == exponent_rule::of_scale ||
      q.scale == scale_kind::pow2_nearest) {
    return pow2_exponent(static_cast<double>(s), 1, q.scale);
  }
  // 11 bits more than FP32 has: nowhere near a midpoint of FP32's.
  const auto l = static_cast<float>(std::log2(static_cast<long double>(s)));
  return clamped(static_cast<int>(q.scale == scale_kind::pow2 ? std::ceil(l)
                                                              : std::floor(l)));
}

/// What an element is rounded to first, or none.
const format* first_format(pre_rounding through) {
  return through == pre_rounding::to_bf16   ? &bf16
         : through == pre_rounding::to_fp16 ? &fp16
                                            : nullptr;
}

/// The largest number of the format, or what the convention has in its place.
float largest_number(const quantizer& q) {
  const auto own = static_cast<double>(to_float(q.how.largest));
  const auto most = magnitude_value(q.to, largest_code(q.to));
  const bool has_it =
      own > 0 && own <= most &&
      code_value(q.to, static_cast<std::uint32_t>(
                           nearest_code(q.to, own, 1, cuda_satfinite))) == own;
  return static_cast<float>(has_it ? own : most);
}

}  // namespace

group_scale make_scale(const quantizer& q, std::uint32_t amax_bits) {
  const convention& how = q.how;
  float amax = to_float(amax_bits);
  const float floor = to_float(how.amax_floor);
  if (amax < floor) amax = floor;
  if (amax == 0 && how.edges.unit_of_zero) return {0x3f800000, 0x3f800000};
  if (std::isnan(amax) && how.edges.unit_of_nan) {
    return {0x3f800000, 0x3f800000};
  }
  if (amax == infinity && how.edges.unit_of_infinity) {
    return {0x3f800000, 0x3f800000};
  }
  const float max = largest_number(q);
  float inverse = how.scale == scale_rule::reciprocal_product
                      ? scale_step(how, max * scale_step(how, 1.0f / amax))
                      : scale_step(how, max / amax);
  if (inverse == infinity && how.edges.finite_inverse) {
    inverse = static_cast<float>(magnitude_value(q.from, largest_code(q.from)));
  }
  float s = 0;
  switch (how.scale) {
    case scale_rule::quotient:
      s = scale_step(how, amax / max);
      break;
    case scale_rule::times_reciprocal:
      s = scale_step(how, amax * scale_step(how, 1.0f / max));
      break;
    case scale_rule::reciprocal_inverse:
    case scale_rule::reciprocal_product:
      s = scale_step(how, 1.0f / inverse);
      break;
  }
  if (s < to_float(how.scale_floor)) s = to_float(how.scale_floor);
  if (q.scale != scale_kind::float32 && amax > 0 && amax < infinity) {
    const int e = exponent_of(q, amax, max, s);
    return {to_bits(std::ldexp(1.0f, e)),
            to_bits(how.unrounded_inverse ? inverse : std::ldexp(1.0f, -e))};
  }
  if (s == 0 && how.edges.positive) s = to_float(1);
  return {to_bits(s), to_bits(inverse)};
}

exact_element element_of(const quantizer& q, group_scale g, float x) {
  const float s = to_float(g.scale);
  switch (q.how.element) {
    case element_rule::exact_quotient:
      if (std::isfinite(x) && std::isfinite(s) && s > 0) {
        return {static_cast<double>(x), static_cast<double>(s)};
      }
      return {special_quotient(x, s), 1};
    case element_rule::quotient:
      return {static_cast<double>(fl(x / s)), 1};
    case element_rule::scale_reciprocal:
      return {static_cast<double>(fl(x * fl(1.0f / s))), 1};
    case element_rule::inverse:
      return {static_cast<double>(fl(x * to_float(g.inverse))), 1};
    case element_rule::approximate_quotient:
      break;
  }
  return {static_cast<double>(approximate(x, s)), 1};
}

std::uint32_t quantize_element(const quantizer& q, group_scale g, float x) {
  auto [v, by] = element_of(q, g, x);
  if (first_format(q.how.through) != nullptr) {
    const format f = *first_format(q.how.through);
    const policy p{false, false, true, nan_payload::quiet, false};
    v = static_cast<double>(
        from_code(f, static_cast<std::uint32_t>(nearest_code(f, v, by, p))));
    by = 1;
  }
  // Beyond the largest number lie the numbers that clamping takes away.
  if (q.how.largest != 0 && std::isfinite(v)) {
    const double most = static_cast<double>(largest_number(q)) * by;
    v = std::fabs(v) > most ? std::copysign(most, v) : v;
  }
  auto code =
      static_cast<std::uint32_t>(nearest_code(q.to, v, by, q.how.conversion));
  if (q.how.largest != 0 && !std::isfinite(v)) {
    const double got = code_value(q.to, code);
    const double most = static_cast<double>(largest_number(q));
    if (std::isfinite(got) && std::fabs(got) > most) {
      code = static_cast<std::uint32_t>(
          nearest_code(q.to, std::copysign(most, got), 1, q.how.conversion));
    }
  }
  return code;
}

namespace {

/// The codes of x by the groups' scales, in the order of the groups.
grid codes_by(const quantizer& q, const grid& x,
              const std::vector<group_scale>& scales) {
  grid codes(x.rows, x.cols);
  const std::ptrdiff_t across = groups_along(x.cols, q.group.cols);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      const auto g =
          group_of(i, q.group.rows) * across + group_of(j, q.group.cols);
      codes(i, j) = oracle::quantize_element(
          q, scales[static_cast<std::size_t>(g)], from_code(q.from, x(i, j)));
    }
  }
  return codes;
}

}  // namespace

grid quantize_by_scale(const quantizer& q, const grid& x, const grid& scales) {
  std::vector<group_scale> given;
  for (const auto s : scales.words) {
    given.push_back({s, to_bits(1 / to_float(s))});
  }
  return codes_by(q, x, given);
}

quantized quantize(const quantizer& q, const grid& x) {
  const std::ptrdiff_t h = q.group.rows;
  const std::ptrdiff_t w = q.group.cols;
  quantized out{grid(x.rows, x.cols),
                grid(groups_along(x.rows, h), groups_along(x.cols, w))};
  grid amax(out.scales.rows, out.scales.cols);
  const auto largest = [](std::uint32_t& m, float magnitude) {
    const float so_far = to_float(m);
    if (std::isnan(so_far) || magnitude < 0) return;
    if (std::isnan(magnitude) || magnitude > so_far) m = to_bits(magnitude);
  };
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      largest(amax(group_of(i, h), group_of(j, w)),
              counted(q.how, from_code(q.from, x(i, j))));
    }
  }
  std::vector<group_scale> scales;
  for (std::size_t g = 0; g < amax.words.size(); ++g) {
    scales.push_back(oracle::make_scale(q, amax.words[g]));
    out.scales.words[g] = scales.back().scale;
  }
  out.codes = codes_by(q, x, scales);
  return out;
}

std::uint32_t delayed_amax(const std::uint32_t* history, std::ptrdiff_t count,
                           std::uint32_t current, history_rule rule,
                           std::uint32_t decay) {
  if (count == 0) return current;
  float m = to_float(history[0]);
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    if (std::isnan(to_float(history[i]))) return to_bits(NAN);
  }
  for (std::ptrdiff_t i = 1; i < count; ++i) {
    const float a = to_float(history[i]);
    m = rule == history_rule::maximum
            ? (a > m ? a : m)
            : fl(std::fma(to_float(decay), fl(m - a), a));
  }
  return to_bits(m);
}

grid dequantize(format from, group_shape group, const grid& codes,
                const grid& scales) {
  grid out(codes.rows, codes.cols);
  for (std::ptrdiff_t i = 0; i < codes.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < codes.cols; ++j) {
      const float s =
          to_float(scales(group_of(i, group.rows), group_of(j, group.cols)));
      // The product of a code and a scale has at most 48 bits: one rounding.
      const double v = code_value(from, codes(i, j)) * static_cast<double>(s);
      out(i, j) = to_bits(static_cast<float>(v));
    }
  }
  return out;
}

}  // namespace zeroulp::oracle
