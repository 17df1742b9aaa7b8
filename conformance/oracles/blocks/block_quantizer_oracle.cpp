#include "conformance/oracles/blocks/block_quantizer_oracle.hpp"

#include <algorithm>
#include <cmath>

#include "conformance/oracles/nearest_code.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"

#ifdef __FAST_MATH__
#error "The oracles need IEEE 754 arithmetic of the host."
#endif

namespace zeroulp::oracle {
namespace {

constexpr policy saturating{true, true, false, nan_payload::all_ones, true};

/// Q2 over a part of some rows.
float amax_of(const block_quantizer& q, const grid& x, std::ptrdiff_t top,
              std::ptrdiff_t bottom, std::ptrdiff_t begin, std::ptrdiff_t end) {
  float amax = 0;
  for (std::ptrdiff_t i = top; i < bottom; ++i) {
    for (std::ptrdiff_t k = begin; k < end; ++k) {
      const auto v = static_cast<float>(std::fabs(code_value(q.from, x(i, k))));
      if (std::isnan(v)) {
        if (q.how.how.amax == amax_rule::keep_nan) amax = v;
        continue;
      }
      if (std::isinf(v) && q.how.how.amax == amax_rule::finite_only) continue;
      if (v > amax) amax = v;
    }
  }
  return amax;
}

float largest_number(format f) {
  return static_cast<float>(magnitude_value(f, largest_code(f)));
}

/// floor(log2(x)), Inf being 2^128.
int floor_log(float x) { return std::isinf(x) ? 128 : std::ilogb(x); }

/// Q16 (a) to (c).
int exponent_of_amax(const block_quantizer& q, float amax) {
  const int e = floor_log(amax);
  if (std::isinf(amax)) return e;
  const auto exact = static_cast<double>(amax);
  if (q.how.rule == block_rule::ceil) {
    return std::ldexp(1.0, e) < exact ? e + 1 : e;
  }
  if (q.how.rule == block_rule::even) {
    const double units = std::ldexp(exact, q.to.man_bits - e);
    return std::ilogb(std::floor(units + 0.5)) - q.to.man_bits + e;
  }
  return e;
}

std::uint32_t pow2_byte(const block_quantizer& q, float amax) {
  const bool exponents = q.how.rule != block_rule::round_up;
  if (exponents && !std::isnan(amax) && amax > 0) {
    const int e = exponent_of_amax(q, amax) - floor_log(largest_number(q.to));
    return static_cast<std::uint32_t>(std::clamp(e, -127, 127) + 127);
  }
  const quantizer by_scale{
      q.from, q.to, q.how.how, scale_kind::pow2, {1, q.how.block}};
  const float s = to_float(oracle::make_scale(by_scale, to_bits(amax)).scale);
  if (std::isnan(s)) return 0xff;
  if (std::isinf(s)) return 0xfe;
  return s == 0 ? 0 : static_cast<std::uint32_t>(std::ilogb(s) + 127);
}

/// Q17: t and T.
group_scale second_of(const block_quantizer& q, float amax) {
  if (q.level == second_level::none) return {0x3f800000, 0x3f800000};
  quantizer second{fp32, fp32, q.how.second, scale_kind::float32, {0, 0}};
  second.how.largest =
      to_bits(static_cast<float>(q.largest_scale) * largest_number(q.to));
  return oracle::make_scale(second, to_bits(amax));
}

double byte_value(block_scale kind, std::uint32_t byte) {
  if (kind == block_scale::unsigned_e4m3) return code_value(e4m3, byte % 128);
  if (byte == 0xff) return std::nan("");
  return std::ldexp(1.0, static_cast<int>(byte) - 127);
}

/// What elements are divided and multiplied by.
group_scale element_factors(const block_quantizer& q, float t,
                            std::uint32_t byte) {
  const auto value = static_cast<float>(byte_value(q.how.scale, byte));
  float s = value * t;
  if (q.how.ends == block_ends::normal) {
    s = std::isnan(s) ? INFINITY : std::max(s, std::ldexp(1.0f, -126));
  }
  float inverse = q.how.split_inverse ? (1.0f / t) / value : 1.0f / s;
  if (q.how.ends == block_ends::unit_of_zero && byte == 0) inverse = 1.0f;
  if (q.how.how.edges.finite_inverse && inverse == INFINITY) {
    inverse = to_float(0x7f7fffff);
  }
  return {to_bits(s), to_bits(inverse)};
}

/// floor(a / b * 2^32) for 0 <= a < b, exact.
std::uint64_t floor_of_quotient(double a, double b) {
  if (a == 0) return 0;
  int of_a = 0, of_b = 0;
  const auto x =
      static_cast<std::uint64_t>(std::ldexp(std::frexp(a, &of_a), 53));
  const auto y =
      static_cast<std::uint64_t>(std::ldexp(std::frexp(b, &of_b), 53));
  const int shift = 32 + of_a - of_b;  // at most 32
  if (shift < -53) return 0;
  __extension__ typedef unsigned __int128 wide;
  return static_cast<std::uint64_t>(shift >= 0 ? (wide{x} << shift) / y
                                               : wide{x} / (wide{y} << -shift));
}

}  // namespace

std::uint32_t e4m3_byte(const block_quantizer& q, float t, float inverse,
                        float amax) {
  const float max = largest_number(q.to);
  const auto to_byte = [](double x, double scale) {
    return static_cast<std::uint32_t>(nearest_code(e4m3, x, scale, saturating));
  };
  std::uint32_t byte = 0;
  if (q.how.rule == block_rule::exact_quotient) {
    byte = amax == 0
               ? (q.how.how.edges.unit_of_zero ? 0x38u : 0u)
               : to_byte(static_cast<double>(amax),
                         static_cast<double>(max) * static_cast<double>(t));
  } else {
    float r = 0;
    if (q.how.rule == block_rule::quotient) r = amax / (max * t);
    if (q.how.rule == block_rule::two_quotients) r = amax / max / t;
    if (q.how.rule == block_rule::product) {
      r = amax * (inverse * (1.0f / max));
    }
    if (r == 0 && q.how.how.edges.unit_of_zero) r = 1;
    byte = to_byte(static_cast<double>(r), 1);
  }
  return std::max<std::uint32_t>(byte, q.how.least);
}

std::uint32_t stochastic_code(format f, double value, double by,
                              std::uint32_t random, policy p) {
  // Products of codes and scales are exact, and so is what is cut off.
  const double v = std::fabs(value);
  const std::uint64_t beyond = largest_code(f) + 1;
  std::uint64_t below = 0;
  while (below < beyond && magnitude_value(f, below + 1) * by <= v) ++below;
  if (below < beyond) {
    const double low = magnitude_value(f, below) * by;
    const double high = magnitude_value(f, below + 1) * by;
    const std::uint64_t cut = floor_of_quotient(v - low, high - low);
    if ((cut + random) >> 32 != 0) ++below;
  }
  return static_cast<std::uint32_t>(
      nearest_code(f, std::copysign(magnitude_value(f, below), value), 1, p));
}

quantized_blocks quantize_blocks(const block_quantizer& q, const grid& x,
                                 const grid& random) {
  const std::ptrdiff_t block = q.how.block;
  const std::ptrdiff_t blocks = (x.cols + block - 1) / block;
  quantized_blocks result{grid(x.rows, x.cols), grid(x.rows, blocks), {}};
  const bool by_row = q.level == second_level::row;
  if (q.level != second_level::none) {
    result.second = grid(by_row ? x.rows : 1, 1);
  }
  const float whole = amax_of(q, x, 0, x.rows, 0, x.cols);
  const quantizer elements{
      q.from, q.to, q.how.how, scale_kind::pow2, {1, q.how.block}};
  if (q.level == second_level::tensor) {
    result.second(0, 0) = second_of(q, whole).scale;
  }
  const auto code = [&](group_scale s, std::ptrdiff_t i, std::ptrdiff_t k) {
    const auto v = static_cast<float>(code_value(q.from, x(i, k)));
    const auto e = element_of(elements, s, v);
    return random.words.empty() || !std::isfinite(e.value)
               ? oracle::quantize_element(elements, s, v)
               : stochastic_code(q.to, e.value, e.by, random(i, k),
                                 q.how.how.conversion);
  };
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    const float amax = by_row ? amax_of(q, x, i, i + 1, 0, x.cols) : whole;
    const group_scale t = second_of(q, amax);
    if (by_row) result.second(i, 0) = t.scale;
    const std::ptrdiff_t top = i - i % q.block_rows;
    const std::ptrdiff_t bottom = std::min(x.rows, top + q.block_rows);
    for (std::ptrdiff_t n = 0; n < blocks; ++n) {
      const std::ptrdiff_t end = std::min(x.cols, (n + 1) * block);
      const float own = amax_of(q, x, top, bottom, n * block, end);
      const std::uint32_t byte =
          q.how.scale == block_scale::power_of_two
              ? pow2_byte(q, own)
              : e4m3_byte(q, to_float(t.scale), to_float(t.inverse), own);
      result.scales(i, n) = byte;
      const group_scale s = element_factors(q, to_float(t.scale), byte);
      for (std::ptrdiff_t k = n * block; k < end; ++k) {
        result.codes(i, k) = code(s, i, k);
      }
    }
  }
  return result;
}

namespace {

/// Calls use(byte, row, block) for each byte, in their order.
template <class Use>
void for_each_interleaved(std::ptrdiff_t rows, std::ptrdiff_t blocks, Use use) {
  std::size_t at = 0;
  for (std::ptrdiff_t i = 0; i < rows; i += 128) {
    for (std::ptrdiff_t k = 0; k < blocks; k += 4) {
      for (std::ptrdiff_t lane = 0; lane < 32; ++lane) {
        for (std::ptrdiff_t quarter = 0; quarter < 4; ++quarter) {
          for (std::ptrdiff_t n = 0; n < 4; ++n) {
            use(at++, i + 32 * quarter + lane, k + n);
          }
        }
      }
    }
  }
}

}  // namespace

grid interleave(const grid& scales) {
  grid out(1, (scales.rows + 127) / 128 * ((scales.cols + 3) / 4) * 512);
  for_each_interleaved(
      scales.rows, scales.cols,
      [&](std::size_t at, std::ptrdiff_t row, std::ptrdiff_t block) {
        if (row < scales.rows && block < scales.cols) {
          out.words[at] = scales(row, block);
        }
      });
  return out;
}

grid separate(const std::uint8_t* interleaved, std::ptrdiff_t rows,
              std::ptrdiff_t blocks) {
  grid out(rows, blocks);
  for_each_interleaved(
      rows, blocks,
      [&](std::size_t at, std::ptrdiff_t row, std::ptrdiff_t block) {
        if (row < rows && block < blocks) out(row, block) = interleaved[at];
      });
  return out;
}

grid dequantize_blocks(format f, block_scale kind, int block, const grid& codes,
                       const grid& scales, const grid& second, format to) {
  constexpr policy special{false, false, false, nan_payload::all_ones, true};
  grid out(codes.rows, codes.cols);
  for (std::ptrdiff_t i = 0; i < codes.rows; ++i) {
    const float t = to_float(second(second.rows == 1 ? 0 : i, 0));
    for (std::ptrdiff_t k = 0; k < codes.cols; ++k) {
      // Of at most 49 bits, by t too: exact in FP64.
      const double scaled = code_value(f, codes(i, k)) *
                            byte_value(kind, scales(i, k / block)) *
                            static_cast<double>(t);
      out(i, k) =
          static_cast<std::uint32_t>(nearest_code(to, scaled, 1, special));
    }
  }
  return out;
}

}  // namespace zeroulp::oracle
