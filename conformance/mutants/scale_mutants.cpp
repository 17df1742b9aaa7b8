// Wrong scales and wrong amaxes.

#include <cmath>

#include "conformance/mutants/quantizer_parts.hpp"

namespace zeroulp::conformance {
namespace {

using detail::fl_divide;

bool is_pow2(scale_kind kind, std::uint32_t amax) {
  return kind != scale_kind::float32 && amax != 0 && amax < fp32_infinity;
}

std::uint32_t floored(const convention& how, std::uint32_t amax) {
  return amax < how.amax_floor ? how.amax_floor : amax;
}

group_scale zero_tile(const convention& how, scale_kind kind, format to,
                      std::uint32_t amax) {
  convention bare = how;
  bare.unit_scale = false;
  return make_scale(amax == 0 ? bare : how, kind, to, amax);
}

group_scale infinite_amax(const convention& how, scale_kind kind, format to,
                          std::uint32_t amax) {
  if (kind == scale_kind::float32 || amax != fp32_infinity) {
    return make_scale(how, kind, to, amax);
  }
  // 254 - 255 in the exponent field runs over into the sign.
  return {fp32_infinity, (254u - 255u) << 23};
}

group_scale by_log2f(const convention& how, scale_kind kind, format to,
                     std::uint32_t amax) {
  amax = floored(how, amax);
  if (kind != scale_kind::pow2 || !is_pow2(kind, amax)) {
    return make_scale(how, kind, to, amax);
  }
  const float ratio = bit_cast<float>(amax) / bit_cast<float>(max_as_fp32(to));
  const float e = std::ceil(std::log2(ratio));
  const int kept = e < -127 ? -127 : e > 127 ? 127 : static_cast<int>(e);
  return {pow2_as_fp32(kept), pow2_as_fp32(-kept)};
}

group_scale always_up(const convention& how, scale_kind kind, format to,
                      std::uint32_t amax) {
  // floor(log2) + 1: an exact power of two goes one binade too far.
  group_scale s = make_scale(how, kind, to, amax);
  amax = floored(how, amax);
  if (kind != scale_kind::pow2 || !is_pow2(kind, amax)) return s;
  if (how.unit_scale && amax == 0) return s;
  const int e = pow2_exponent(amax, to, scale_kind::pow2_down) + 1;
  const int kept = e > 127 ? 127 : e;
  return {pow2_as_fp32(kept), pow2_as_fp32(-kept)};
}

group_scale normal_pow2(const convention& how, scale_kind kind, format to,
                        std::uint32_t amax) {
  const group_scale s = make_scale(how, kind, to, amax);
  const bool lowest =
      is_pow2(kind, floored(how, amax)) && s.scale == pow2_as_fp32(-127);
  return lowest ? group_scale{pow2_as_fp32(-126), pow2_as_fp32(126)} : s;
}

group_scale nearest_exponent(const convention& how, scale_kind kind, format to,
                             std::uint32_t amax) {
  // Compares the ratio with 1.5, not with the square root of 2.
  amax = floored(how, amax);
  const group_scale down = make_scale(how, scale_kind::pow2_down, to, amax);
  if (kind != scale_kind::pow2_nearest || !is_pow2(kind, amax)) {
    return make_scale(how, kind, to, amax);
  }
  const std::uint32_t ratio =
      fl_divide(fl_divide(amax, max_as_fp32(to)), down.scale);
  return ratio < 0x3fc00000 ? down
                            : make_scale(how, scale_kind::pow2, to, amax);
}

group_scale no_floor(const convention& how, scale_kind kind, format to,
                     std::uint32_t amax) {
  convention bare = how;
  bare.amax_floor = 0;
  return make_scale(bare, kind, to, amax);
}

group_scale floor_of_scale(const convention& how, scale_kind kind, format to,
                           std::uint32_t amax) {
  convention bare = how;
  bare.amax_floor = 0;
  group_scale s = make_scale(bare, kind, to, amax);
  if (s.scale < how.amax_floor) s.scale = how.amax_floor;
  return s;
}

group_scale flushed_scale(const convention& how, scale_kind kind, format to,
                          std::uint32_t amax) {
  group_scale s = make_scale(how, kind, to, amax);
  if (s.scale < 0x00800000) s.scale = 0;
  if (s.inverse < 0x00800000) s.inverse = 0;
  return s;
}

template <scale_rule Rule, scale_rule Instead>
group_scale other_rule(const convention& how, scale_kind kind, format to,
                       std::uint32_t amax) {
  convention other = how;
  if (how.scale == Rule) other.scale = Instead;
  return make_scale(other, kind, to, amax);
}

group_scale inverse_of_scale(const convention& how, scale_kind kind, format to,
                             std::uint32_t amax) {
  group_scale s = make_scale(how, kind, to, amax);
  s.inverse = fl_divide(fp32_one, s.scale);
  return s;
}

group_scale infinite_inverse(const convention& how, scale_kind kind, format to,
                             std::uint32_t amax) {
  group_scale s = make_scale(how, kind, to, amax);
  if (s.inverse == fp32_max && kind == scale_kind::float32) {
    return {0, fp32_infinity};
  }
  return s;
}

group_scale always_448(const convention& how, scale_kind kind, format to,
                       std::uint32_t amax) {
  return make_scale(how, kind, to == e5m6 ? e5m2 : to, amax);
}

template <amax_rule Rule, amax_rule Instead>
std::uint32_t other_amax(const quantizer& q, codes_in group) {
  quantizer other = q;
  if (q.how.amax == Rule) other.how.amax = Instead;
  return group_amax(other, group);
}

std::uint32_t truncated_amax(const quantizer& q, codes_in group) {
  if (!q.how.bf16_amax) return group_amax(q, group);
  quantizer other = q;
  other.how.bf16_amax = false;
  return group_amax(other, group) & 0xffff0000;
}

std::uint32_t fp32_amax(const quantizer& q, codes_in group) {
  quantizer other = q;
  other.how.bf16_amax = false;
  return group_amax(other, group);
}

std::uint32_t signed_amax(const quantizer& q, codes_in group) {
  std::uint32_t amax = 0;
  for (std::ptrdiff_t i = 0; i < group.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < group.cols; ++j) {
      const std::uint32_t x = as_fp32(q.from, group(i, j));
      if (x <= 0x7fffffff) {
        const std::uint32_t one = group_amax(q, group.block(i, j, 1, 1));
        amax = one > amax ? one : amax;
      }
    }
  }
  return amax;
}

}  // namespace

mutant_list scale_mutants() {
  return {
      scale_mutant<zero_tile>("zero_tile",
                              "as if a zero tile had scale 0: 0 / 0 is NaN"),
      scale_mutant<infinite_amax>(
          "pow2_of_infinity",
          "as if the exponent of an infinite amax ran into "
          "the sign of its inverse"),
      scale_mutant<by_log2f>("pow2_by_log2f", "as if e were ceil(log2f(x))"),
      scale_mutant<always_up>("pow2_floor_plus_one",
                              "as if e were floor(log2(x)) + 1"),
      scale_mutant<normal_pow2>("pow2_above_2_to_minus_126",
                                "as if e were kept within -126..127"),
      scale_mutant<nearest_exponent>(
          "pow2_nearest_at_1.5",
          "as if the nearest power of two changed at 1.5"),
      scale_mutant<no_floor>("no_floor", "as if there were no floor of amax"),
      scale_mutant<floor_of_scale>(
          "floor_of_scale", "as if the floor of amax were one of the scale"),
      scale_mutant<flushed_scale>("flushed_scale",
                                  "as if subnormal scales were flushed"),
      scale_mutant<
          other_rule<scale_rule::quotient, scale_rule::times_reciprocal>>(
          "reciprocal_for_quotient",
          "as if amax / max were amax * fl(1 / max)"),
      scale_mutant<
          other_rule<scale_rule::times_reciprocal, scale_rule::quotient>>(
          "quotient_for_reciprocal",
          "as if amax * fl(1 / max) were amax / max"),
      scale_mutant<
          other_rule<scale_rule::reciprocal_inverse, scale_rule::quotient>>(
          "quotient_for_inverse",
          "as if fl(1 / fl(max / amax)) were amax / max"),
      scale_mutant<inverse_of_scale>("inverse_of_scale",
                                     "as if q were fl(1 / s)"),
      scale_mutant<infinite_inverse>("infinite_inverse",
                                     "as if q = Inf were not FLT_MAX"),
      scale_mutant<always_448>("maximum_of_another_format",
                               "as if E5M6 ended where E5M2 does"),
      amax_mutant<other_amax<amax_rule::finite_only, amax_rule::skip_nan>>(
          "infinity_counts", "as if Inf counted where only finite values do"),
      amax_mutant<other_amax<amax_rule::skip_nan, amax_rule::keep_nan>>(
          "nan_counts", "as if a NaN made amax NaN where it is skipped"),
      amax_mutant<other_amax<amax_rule::keep_nan, amax_rule::skip_nan>>(
          "nan_skipped", "as if a NaN were skipped where it makes amax NaN"),
      amax_mutant<truncated_amax>("bf16_amax_truncated",
                                  "as if amax were truncated to BF16"),
      amax_mutant<fp32_amax>("bf16_amax_in_fp32",
                             "as if amax were not rounded to BF16"),
      amax_mutant<signed_amax>("amax_of_positives",
                               "as if negative elements had no magnitude"),
  };
}

}  // namespace zeroulp::conformance
