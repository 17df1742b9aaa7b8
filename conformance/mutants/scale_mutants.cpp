// Wrong scales and wrong amaxes.

#include <cmath>

#include "conformance/mutants/quantizer_parts.hpp"

namespace zeroulp::conformance {
namespace {

using detail::fl_divide;

bool has_pow2(const quantizer& q, std::uint32_t amax) {
  return q.scale != scale_kind::float32 && amax != 0 && amax < fp32_infinity;
}

std::uint32_t floored(const quantizer& q, std::uint32_t amax) {
  return amax < q.how.amax_floor ? q.how.amax_floor : amax;
}

group_scale scale_by(quantizer q, scale_kind kind, std::uint32_t amax) {
  q.scale = kind;
  return make_scale(q, amax);
}

/// Q12 with other edges.
template <scale_edges (*Instead)(scale_edges)>
group_scale other_edges(const quantizer& q, std::uint32_t amax) {
  quantizer other = q;
  other.how.edges = Instead(q.how.edges);
  return make_scale(other, amax);
}

scale_edges no_unit_of_zero(scale_edges e) {
  e.unit_of_zero = false;
  return e;
}
/// One rule for all edges.
scale_edges all_or_none(scale_edges e) {
  return e.unit_of_zero ? all_scale_edges : no_scale_edges;
}

group_scale infinite_amax(const quantizer& q, std::uint32_t amax) {
  if (q.scale == scale_kind::float32 || amax != fp32_infinity) {
    return make_scale(q, amax);
  }
  // 254 - 255 in the exponent field runs over into the sign.
  return {fp32_infinity, (254u - 255u) << 23};
}

group_scale by_log2f(const quantizer& q, std::uint32_t amax) {
  amax = floored(q, amax);
  if (q.scale != scale_kind::pow2 || !has_pow2(q, amax)) {
    return make_scale(q, amax);
  }
  const float ratio =
      bit_cast<float>(amax) / bit_cast<float>(max_as_fp32(q.to));
  const float e = std::ceil(std::log2(ratio));
  const int kept = e < -127 ? -127 : e > 127 ? 127 : static_cast<int>(e);
  return {pow2_as_fp32(kept), pow2_as_fp32(-kept)};
}

group_scale always_up(const quantizer& q, std::uint32_t amax) {
  // floor(log2) + 1: an exact power of two goes one binade too far.
  const group_scale s = make_scale(q, amax);
  amax = floored(q, amax);
  if (q.scale != scale_kind::pow2 || !has_pow2(q, amax)) return s;
  const int e = pow2_exponent(amax, q.to, scale_kind::pow2_down) + 1;
  const int kept = e > 127 ? 127 : e;
  return {pow2_as_fp32(kept), pow2_as_fp32(-kept)};
}

group_scale normal_pow2(const quantizer& q, std::uint32_t amax) {
  const group_scale s = make_scale(q, amax);
  const bool lowest =
      has_pow2(q, floored(q, amax)) && s.scale == pow2_as_fp32(-127);
  return lowest ? group_scale{pow2_as_fp32(-126), pow2_as_fp32(126)} : s;
}

group_scale nearest_exponent(const quantizer& q, std::uint32_t amax) {
  // Compares the ratio with 1.5, not with the square root of 2.
  amax = floored(q, amax);
  if (q.scale != scale_kind::pow2_nearest || !has_pow2(q, amax)) {
    return make_scale(q, amax);
  }
  const group_scale down = scale_by(q, scale_kind::pow2_down, amax);
  const std::uint32_t ratio =
      fl_divide(fl_divide(amax, max_as_fp32(q.to)), down.scale);
  return ratio < 0x3fc00000 ? down : scale_by(q, scale_kind::pow2, amax);
}

group_scale no_floor(const quantizer& q, std::uint32_t amax) {
  quantizer bare = q;
  bare.how.amax_floor = 0;
  return make_scale(bare, amax);
}

group_scale floor_of_scale(const quantizer& q, std::uint32_t amax) {
  group_scale s = no_floor(q, amax);
  if (s.scale < q.how.amax_floor) s.scale = q.how.amax_floor;
  return s;
}

group_scale flushed_scale(const quantizer& q, std::uint32_t amax) {
  group_scale s = make_scale(q, amax);
  if (s.scale < 0x00800000) s.scale = 0;
  if (s.inverse < 0x00800000) s.inverse = 0;
  return s;
}

template <scale_rule Rule, scale_rule Instead>
group_scale other_rule(const quantizer& q, std::uint32_t amax) {
  quantizer other = q;
  if (q.how.scale == Rule) other.how.scale = Instead;
  return make_scale(other, amax);
}

group_scale inverse_of_scale(const quantizer& q, std::uint32_t amax) {
  group_scale s = make_scale(q, amax);
  s.inverse = fl_divide(fp32_one, s.scale);
  return s;
}

group_scale infinite_inverse(const quantizer& q, std::uint32_t amax) {
  const group_scale s = make_scale(q, amax);
  if (s.inverse == max_as_fp32(q.from) && q.scale == scale_kind::float32) {
    return {0, fp32_infinity};
  }
  return s;
}

group_scale inverse_up_to_fp32(const quantizer& q, std::uint32_t amax) {
  quantizer other = q;
  other.from = fp32;
  return make_scale(other, amax);
}

group_scale always_448(const quantizer& q, std::uint32_t amax) {
  quantizer other = q;
  if (q.to == e5m6) other.to = e5m2;
  return make_scale(other, amax);
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
      scale_mutant<other_edges<no_unit_of_zero>>(
          "zero_tile", "as if a zero tile had scale 0: 0 / 0 is NaN"),
      scale_mutant<other_edges<all_or_none>>(
          "edges_in_one",
          "as if scale 1 for amax 0 meant scale 1 for Inf and a finite q, too"),
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
                                     "as if q = Inf stayed so"),
      scale_mutant<inverse_up_to_fp32>(
          "inverse_up_to_fp32",
          "as if q = Inf were FLT_MAX whatever the input format"),
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
