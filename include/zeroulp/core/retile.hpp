// Defines re-tiling: codes with one scale per 1 x T row tile become the codes
// of the transpose with one scale per 1 x T tile of its rows (T x 1 tiles of
// the source), without the original values.
//
//   v(i, j)  = code(i, j) * s(i, j / T)          exact if the scales are powers
//                                                of two, else rounded to FP32
//   t(j, i / T) = scale of the tile of column j  by one of two rules
//   out(j, i)   = v(i, j) / t(j, i / T)          rounded once, nearest-even
//
// Weights need no arithmetic: codes and 128 x 128 scales are transposed, which
// a view does (matrix_view::transposed). Source: SPEC clauses W1 to W7.

#ifndef ZEROULP_CORE_RETILE_HPP_
#define ZEROULP_CORE_RETILE_HPP_

#include "zeroulp/core/quantize.hpp"

namespace zeroulp {

/// Where the scale of a column tile comes from.
enum class retile_rule : std::uint8_t {
  amax,       ///< the largest value of the tile, as in quantization; no floor
  max_scale,  ///< the largest scale of its rows, times 2^ceil(log2(max / max'))
};

struct named_retile_rule {
  const char* name;
  retile_rule value;
};

inline constexpr named_retile_rule named_retile_rules[] = {
    {"amax", retile_rule::amax},
    {"max_scale", retile_rule::max_scale},
};

/// A re-tiling as a value: formats of source and target, kind of scale (both
/// sides), length of a tile (0: the whole dimension), rule.
struct retiling {
  format from;
  format to;
  scale_kind scale;
  std::int32_t tile;
  retile_rule rule;
};

namespace detail {

/// The value of a code under its scale, as the re-tiling sees it.
ZEROULP_HD constexpr unpacked retiled_value(const retiling& r,
                                            std::uint64_t code,
                                            std::uint32_t scale) {
  if (r.scale == scale_kind::float32) {
    return decode(fp32, dequantize_element(r.from, code, scale));
  }
  unpacked v = decode(r.from, code);
  const unpacked s = decode(fp32, scale);
  const bool power = !s.negative && (s.significand & (s.significand - 1)) == 0;
  if (s.kind != kind::finite || !power) return {0, 0, kind::nan, false};
  if (!v.is_finite() || v.is_zero()) return v;
  v.exponent += s.exponent + msb(s.significand);
  return v;
}

/// Returns true iff |a| > |b|, both finite.
ZEROULP_HD constexpr bool larger(const unpacked& a, const unpacked& b) {
  if (a.is_zero() || b.is_zero()) return b.is_zero() && !a.is_zero();
  const int ae = msb(a.significand) + a.exponent;
  const int be = msb(b.significand) + b.exponent;
  if (ae != be) return ae > be;
  return a.significand << (63 - msb(a.significand)) >
         b.significand << (63 - msb(b.significand));
}

/// The scale of the tile: rows of `codes` and of `scales` are its elements, of
/// one column.
template <class Code>
ZEROULP_HD constexpr std::uint32_t retiled_scale(
    const retiling& r, matrix_view<const Code> codes,
    matrix_view<const std::uint32_t> scales) {
  const unpacked max_from = decode(r.from, r.from.max_code());
  const unpacked max_to = decode(r.to, r.to.max_code());
  if (r.rule == retile_rule::max_scale) {
    std::uint32_t largest = 0;
    for (std::ptrdiff_t i = 0; i < scales.rows; ++i) {
      const std::uint32_t s = scales(i, 0);
      if (s < fp32_infinity && s > largest) largest = s;
    }
    if (largest == 0) return fp32_one;
    const int e = integer_log2(max_from, max_to, scale_kind::pow2);
    const std::uint32_t s = fl_multiply(largest, pow2_as_fp32(e));
    const bool any = r.scale == scale_kind::float32;
    const std::uint32_t low = any ? 1 : pow2_as_fp32(-127);
    const std::uint32_t high = any ? fp32_max : pow2_as_fp32(127);
    return s < low ? low : s > high ? high : s;
  }
  unpacked amax{};
  for (std::ptrdiff_t i = 0; i < codes.rows; ++i) {
    const unpacked v = retiled_value(r, codes(i, 0), scales(i, 0));
    if (v.is_finite() && larger(v, amax)) amax = v;
  }
  if (amax.is_zero()) return fp32_one;
  amax.negative = false;
  if (r.scale == scale_kind::float32) {
    const auto bits = static_cast<std::uint32_t>(encode(fp32, amax));
    const convention ours = zeroulp_convention;  // device code has no globals
    return make_scale({fp32, r.to, ours, r.scale}, bits).scale;
  }
  const int e = integer_log2(amax, max_to, r.scale);
  return pow2_as_fp32(e < -127 ? -127 : e > 127 ? 127 : e);
}

}  // namespace detail

/// Re-tiles an m x n matrix. `scales` is m x ceil(n / tile); `out` is n x m,
/// `out_scales` n x ceil(m / tile). Inf and NaN codes stay Inf (where the
/// target has it, else NaN) and NaN; finite values saturate.
template <class From, class To>
ZEROULP_HD constexpr void retile(const retiling& r,
                                 matrix_view<const From> codes,
                                 matrix_view<const std::uint32_t> scales,
                                 matrix_view<To> out,
                                 matrix_view<std::uint32_t> out_scales) {
  const group_shape row_tile{1, r.tile};
  const std::ptrdiff_t width = row_tile.width(codes.cols);
  for_each_group(
      {r.tile, 1}, codes.rows, codes.cols,
      [&](std::ptrdiff_t gi, std::ptrdiff_t j, std::ptrdiff_t i0,
          std::ptrdiff_t, std::ptrdiff_t m, std::ptrdiff_t) {
        const auto column = codes.block(i0, j, m, 1);
        const auto column_scales = scales.block(i0, j / width, m, 1);
        const auto t = detail::retiled_scale(r, column, column_scales);
        out_scales(j, gi) = t;
        for (std::ptrdiff_t i = 0; i < m; ++i) {
          const auto v =
              detail::retiled_value(r, column(i, 0), column_scales(i, 0));
          out(j, i0 + i) = static_cast<To>(
              encode(r.to, quotient(v, decode(fp32, t)), {}, keep_specials));
        }
      });
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_RETILE_HPP_
