// Wrong elements, dequantization and delayed scaling; the whole list.

#include <iterator>
#include <vector>

#include "conformance/mutants/quantizer_parts.hpp"

namespace zeroulp::conformance {
namespace {

using detail::fl_divide;
using detail::fl_multiply;

bool is_nan(std::uint32_t x) { return (x & 0x7fffffff) > fp32_infinity; }

std::uint64_t to_code(const quantizer& q, std::uint32_t v, rounder r = {}) {
  return encode(q.to, decode(fp32, v), r, q.how.conversion);
}

/// The FP32 value of an element before it is encoded, by any rule.
std::uint32_t value_of(const quantizer& q, element e) {
  switch (q.how.element) {
    case element_rule::inverse:
      return fl_multiply(e.x, e.s.inverse);
    case element_rule::scale_reciprocal:
      return fl_multiply(e.x, fl_divide(fp32_one, e.s.scale));
    case element_rule::approximate_quotient:
      return approximate_quotient(e.x, e.s.scale);
    case element_rule::exact_quotient:
    case element_rule::quotient:
      break;
  }
  return fl_divide(e.x, e.s.scale);
}

std::uint64_t unrounded_scale(const quantizer& q, element e) {
  const bool ours = q.how.element == element_rule::exact_quotient &&
                    q.scale == scale_kind::float32 && e.amax != 0;
  if (!ours || is_nan(e.x)) return right_element(q, e);
  // x * max / amax, exact but for its one rounding: not by the stored scale.
  const auto times = product(decode(fp32, e.x), decode(q.to, q.to.max_code()));
  if (times.kind != kind::finite) return right_element(q, e);
  const unpacked x_max{times.significand.word[0], times.exponent, kind::finite,
                       times.negative};
  return encode(q.to, quotient(x_max, decode(fp32, e.amax)), {},
                q.how.conversion);
}

std::uint64_t rounded_quotient(const quantizer& q, element e) {
  return q.how.element == element_rule::exact_quotient
             ? to_code(q, fl_divide(e.x, e.s.scale))
             : right_element(q, e);
}

std::uint64_t nan_is_minus_max(const quantizer& q, element e) {
  return is_nan(e.x) ? q.to.sign_mask() | q.to.max_code() : right_element(q, e);
}

std::uint64_t nan_passes_the_clamp(const quantizer& q, element e) {
  quantizer other = q;
  other.how.conversion.payload = nan_payload::all_ones;
  return right_element(other, e);
}

std::uint64_t nan_rounds_up(const quantizer& q, element e) {
  // All ones plus the rounding bit carries into the sign: E5M6 gives -0.
  return is_nan(e.x) && q.to == e5m6 ? q.to.sign_mask() : right_element(q, e);
}

std::uint64_t subnormals_at_wrong_bit(const quantizer& q, element e) {
  const auto code = right_element(q, e);
  const bool subnormal = (code & q.to.magnitude_mask()) >> q.to.man_bits == 0;
  if (q.to != e5m6 || !subnormal || is_nan(e.x)) return code;
  format coarse = q.to;  // rounded one bit too high
  coarse.man_bits -= 1;
  const std::uint64_t magnitude =
      encode(coarse, decode(fp32, value_of(q, e) & 0x7fffffff)) << 1;
  return (code & q.to.sign_mask()) | magnitude;
}

std::uint64_t through_fp16(const quantizer& q, element e) {
  const std::uint32_t v = value_of(q, e);
  if (decode(fp32, v).kind != kind::finite) return right_element(q, e);
  const auto half = recode(fp32, v, fp16);
  return encode(q.to, decode(fp16, half), {}, q.how.conversion);
}

std::uint64_t ties_away(const quantizer& q, element e) {
  return q.how.element == element_rule::exact_quotient
             ? encode(q.to,
                      quotient(decode(fp32, e.x), decode(fp32, e.s.scale)),
                      {rounding::nearest_away}, q.how.conversion)
             : to_code(q, value_of(q, e), {rounding::nearest_away});
}

std::uint64_t truncated(const quantizer& q, element e) {
  return to_code(q, value_of(q, e), {rounding::toward_zero});
}

std::uint64_t flushed_input(const quantizer& q, element e) {
  if ((e.x & 0x7fffffff) < 0x00800000) e.x &= 0x80000000;
  return right_element(q, e);
}

std::uint64_t flushed_code(const quantizer& q, element e) {
  const auto code = right_element(q, e);
  const bool subnormal = (code & q.to.magnitude_mask()) >> q.to.man_bits == 0;
  return subnormal ? code & q.to.sign_mask() : code;
}

std::uint64_t overflow_is_special(const quantizer& q, element e) {
  quantizer other = q;
  other.how.conversion.saturate_finite = false;
  return right_element(other, e);
}

std::uint64_t infinity_saturates(const quantizer& q, element e) {
  quantizer other = q;
  other.how.conversion.saturate_infinite = true;
  return right_element(other, e);
}

std::uint64_t unsigned_zero(const quantizer& q, element e) {
  const auto code = right_element(q, e);
  return code == q.to.sign_mask() && q.to.kind != specials::fnuz ? 0 : code;
}

template <element_rule Rule, element_rule Instead>
std::uint64_t other_element(const quantizer& q, element e) {
  quantizer other = q;
  if (q.how.element == Rule) other.how.element = Instead;
  return right_element(other, e);
}

void transposed_scales(const quantizer& q, codes_in x, codes_out codes,
                       codes_out scales) {
  // Right where the scales are one row or one column, wrong elsewhere.
  const codes_out wrong(scales.data, scales.rows, scales.cols, 1, scales.rows);
  const bool dense = scales.row_stride == scales.cols && scales.col_stride == 1;
  quantize(q, x, codes, dense ? wrong : scales);
}

void no_partial_groups(const quantizer& q, codes_in x, codes_out codes,
                       codes_out scales) {
  quantize(q, x, codes, scales);
  // The last group of a row takes its neighbour's scale if it is partial.
  const auto w = q.group.width(x.cols);
  if (x.cols <= w || x.cols % w == 0) return;
  for (std::ptrdiff_t g = 0; g < scales.rows; ++g) {
    scales(g, scales.cols - 1) = scales(g, scales.cols - 2);
  }
}

void leading_dimension_ignored(const quantizer& q, codes_in x, codes_out codes,
                               codes_out scales) {
  const bool padded = x.col_stride == 1 && x.row_stride > x.cols;
  quantize(q, padded ? codes_in(x.data, x.rows, x.cols) : x, codes, scales);
}

void dequantized_in_bf16(format from, group_shape g, codes_in codes,
                         codes_in scales, codes_out out) {
  dequantize(from, g, codes, scales, out);
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
      if (!is_nan(out(i, j))) {
        out(i, j) =
            as_fp32(bf16, recode(fp32, out(i, j), bf16, {}, ocp_nonsaturate));
      }
    }
  }
}

void dequantized_by_first_column(format from, group_shape g, codes_in codes,
                                 codes_in scales, codes_out out) {
  dequantize(from, {g.rows, 0}, codes, scales, out);
}

void dequantized_with_ftz(format from, group_shape g, codes_in codes,
                          codes_in scales, codes_out out) {
  dequantize(from, g, codes, scales, out);
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
      if ((out(i, j) & 0x7fffffff) < 0x00800000) out(i, j) &= 0x80000000;
    }
  }
}

std::uint32_t separate_rounding(const std::uint32_t* history,
                                std::ptrdiff_t count, std::uint32_t current,
                                history_rule rule, std::uint32_t decay) {
  if (rule == history_rule::maximum || count == 0) {
    return delayed_amax(history, count, current, rule, decay);
  }
  std::uint32_t m = history[0];
  for (std::ptrdiff_t i = 1; i < count; ++i) {
    const auto d = static_cast<std::uint32_t>(subtract(fp32, m, history[i]));
    m = detail::fl_add(fl_multiply(decay, d), history[i]);
  }
  return m;
}

std::uint32_t newest_first(const std::uint32_t* history, std::ptrdiff_t count,
                           std::uint32_t current, history_rule rule,
                           std::uint32_t decay) {
  const std::vector<std::uint32_t> reversed(
      std::make_reverse_iterator(history + count),
      std::make_reverse_iterator(history));
  return delayed_amax(reversed.data(), count, current, rule, decay);
}

std::uint32_t current_counts(const std::uint32_t* history, std::ptrdiff_t count,
                             std::uint32_t current, history_rule rule,
                             std::uint32_t decay) {
  const auto m = delayed_amax(history, count, current, rule, decay);
  return rule == history_rule::maximum && current > m ? current : m;
}

}  // namespace

mutant_list element_mutants() {
  return {
      element_mutant<unrounded_scale>(
          "unrounded_scale",
          "as if elements were divided by amax / max before it is rounded"),
      element_mutant<rounded_quotient>(
          "rounded_quotient", "as if the exact quotient were rounded to FP32"),
      element_mutant<nan_is_minus_max>("nan_is_minus_max",
                                       "as if NaN became -448"),
      element_mutant<nan_passes_the_clamp>("nan_passes_the_clamp",
                                           "as if clamping to max kept NaN"),
      element_mutant<nan_rounds_up>("nan_rounds_up",
                                    "as if E5M6's NaN were rounded up to -0"),
      element_mutant<subnormals_at_wrong_bit>(
          "subnormals_at_wrong_bit",
          "as if E5M6 subnormals were rounded one bit too high"),
      element_mutant<through_fp16>("through_fp16",
                                   "as if elements were rounded to FP16 first"),
      element_mutant<ties_away>("ties_away", "as if ties went away from zero"),
      element_mutant<truncated>("truncated", "as if elements were truncated"),
      element_mutant<flushed_input>(
          "flushed_input", "as if subnormal inputs were flushed to zero"),
      element_mutant<flushed_code>(
          "flushed_code", "as if subnormal codes were flushed to zero"),
      element_mutant<overflow_is_special>(
          "overflow_is_special", "as if elements beyond max did not saturate"),
      element_mutant<infinity_saturates>("infinity_saturates",
                                         "as if Inf became max"),
      element_mutant<unsigned_zero>("unsigned_zero", "as if -0 were +0"),
      element_mutant<other_element<element_rule::quotient,
                                   element_rule::scale_reciprocal>>(
          "reciprocal_for_division", "as if x / s were x * fl(1 / s)"),
      element_mutant<
          other_element<element_rule::inverse, element_rule::scale_reciprocal>>(
          "scale_for_inverse", "as if x * q were x * fl(1 / s)"),
      element_mutant<other_element<element_rule::scale_reciprocal,
                                   element_rule::quotient>>(
          "division_for_reciprocal", "as if x * fl(1 / s) were x / s"),
      element_mutant<other_element<element_rule::approximate_quotient,
                                   element_rule::quotient>>(
          "exact_div_full", "as if div.full were rounded correctly"),
      core_but("transposed_scales", "as if scales were column-major",
               &implementation::quantize, transposed_scales),
      core_but("no_partial_groups",
               "as if a partial group had the scale of its neighbour",
               &implementation::quantize, no_partial_groups),
      core_but("leading_dimension_ignored",
               "as if the input had no gaps between its rows",
               &implementation::quantize, leading_dimension_ignored),
      core_but("dequantized_in_bf16", "as if the product were rounded to BF16",
               &implementation::dequantize, dequantized_in_bf16),
      core_but("dequantized_by_first_column",
               "as if a row had its first group's scale throughout",
               &implementation::dequantize, dequantized_by_first_column),
      core_but("dequantized_with_ftz", "as if subnormal products were flushed",
               &implementation::dequantize, dequantized_with_ftz),
      core_but("average_rounded_twice",
               "as if the moving average were not fused",
               &implementation::delayed_amax, separate_rounding),
      core_but("newest_first", "as if the history were newest first",
               &implementation::delayed_amax, newest_first),
      core_but("current_counts", "as if the current amax joined the history",
               &implementation::delayed_amax, current_counts),
  };
}

mutant_list quantizer_mutants() {
  mutant_list all;
  for (const auto& list : {scale_mutants(), element_mutants(), layout_mutants(),
                           retile_mutants()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

}  // namespace zeroulp::conformance
