// Wrong re-tilings.

#include "conformance/mutants/quantizer_parts.hpp"

namespace zeroulp::conformance {
namespace {

/// A value on its way from one tile to another.
struct moved {
  std::uint64_t code;   ///< of r.from
  std::uint32_t scale;  ///< of the source
  std::uint32_t to;     ///< scale of the result
};

std::uint64_t right_code(const retiling& r, moved m) {
  const auto v = detail::retiled_value(r, m.code, m.scale);
  return encode(r.to, quotient(v, decode(fp32, m.to)), {}, keep_specials);
}

/// The core's re-tiling with the codes, or first the scales, made otherwise.
template <auto Scale, auto Code>
void retile_by(const retiling& r, codes_in codes, codes_in scales,
               codes_out out, codes_out out_scales) {
  const auto width = group_shape{1, r.tile}.width(codes.cols);
  for_each_group({r.tile, 1}, codes.rows, codes.cols,
                 [&](std::ptrdiff_t gi, std::ptrdiff_t j, std::ptrdiff_t i0,
                     std::ptrdiff_t, std::ptrdiff_t m, std::ptrdiff_t) {
                   const auto column_scales = scales.block(i0, j / width, m, 1);
                   const std::uint32_t t =
                       Scale(r, codes.block(i0, j, m, 1), column_scales);
                   out_scales(j, gi) = t;
                   for (std::ptrdiff_t i = 0; i < m; ++i) {
                     out(j, i0 + i) = static_cast<std::uint32_t>(Code(
                         r, moved{codes(i0 + i, j), column_scales(i, 0), t}));
                   }
                 });
}

std::uint32_t right_scale(const retiling& r, codes_in codes, codes_in scales) {
  return detail::retiled_scale(r, codes, scales);
}

template <auto Code>
mutant code_mutant(const char* name, const char* what) {
  return core_but(name, what, &implementation::retile,
                  retile_by<right_scale, Code>);
}

template <auto Scale>
mutant tile_scale_mutant(const char* name, const char* what) {
  return core_but(name, what, &implementation::retile,
                  retile_by<Scale, right_code>);
}

/// What the exponent of the scale changes by; 0 if it is none.
int shift_of(moved m) {
  return static_cast<int>(m.scale >> 23) - static_cast<int>(m.to >> 23);
}

bool shifts(const retiling& r, moved m) {
  const auto v = decode(r.from, m.code);
  return r.scale != scale_kind::float32 && r.from == r.to &&
         v.kind == kind::finite && m.scale >= 0x00800000 &&
         m.scale < fp32_infinity && m.to >= 0x00800000;
}

std::uint64_t keeps_fraction(const retiling& r, moved m) {
  if (!shifts(r, m)) return right_code(r, m);
  // The exponent field stops at 0 and the fraction stays.
  const auto fraction = m.code & low_bits(r.from.man_bits);
  const auto magnitude = m.code & r.from.magnitude_mask();
  const int e = static_cast<int>(magnitude >> r.from.man_bits) + shift_of(m);
  if (e > 0) return right_code(r, m);
  return (m.code & r.from.sign_mask()) | fraction;
}

std::uint64_t truncated_underflow(const retiling& r, moved m) {
  const auto v = detail::retiled_value(r, m.code, m.scale);
  return encode(r.to, quotient(v, decode(fp32, m.to)), {rounding::toward_zero},
                keep_specials);
}

std::uint64_t flushed_underflow(const retiling& r, moved m) {
  const auto code = right_code(r, m);
  const bool subnormal = (code & r.to.magnitude_mask()) >> r.to.man_bits == 0;
  return subnormal ? code & r.to.sign_mask() : code;
}

std::uint64_t away_at_ties(const retiling& r, moved m) {
  const auto v = detail::retiled_value(r, m.code, m.scale);
  return encode(r.to, quotient(v, decode(fp32, m.to)), {rounding::nearest_away},
                keep_specials);
}

std::uint64_t rounded_value(const retiling& r, moved m) {
  // Values are rounded to BF16 in between.
  const auto v = dequantize_element(r.from, m.code, m.scale);
  const auto x = decode(bf16, recode(fp32, v, bf16, {}, cuda_nosat));
  return x.kind == kind::finite && r.scale == scale_kind::float32
             ? encode(r.to, quotient(x, decode(fp32, m.to)), {}, keep_specials)
             : right_code(r, m);
}

std::uint64_t rounded_quotient(const retiling& r, moved m) {
  if (r.scale != scale_kind::float32) return right_code(r, m);
  const auto v = dequantize_element(r.from, m.code, m.scale);
  return recode(fp32, divide(fp32, v, m.to), r.to, {}, keep_specials);
}

std::uint64_t bad_scale_is_one(const retiling& r, moved m) {
  const bool bad = m.scale == 0 || m.scale >= fp32_infinity;
  return right_code(r, {m.code, bad ? fp32_one : m.scale, m.to});
}

std::uint64_t special_saturates(const retiling& r, moved m) {
  const auto v = detail::retiled_value(r, m.code, m.scale);
  return encode(r.to, quotient(v, decode(fp32, m.to)), {}, cuda_satfinite);
}

std::uint32_t no_power(const retiling& r, codes_in codes, codes_in scales) {
  retiling same = r;
  if (r.rule == retile_rule::max_scale) same.from = same.to;
  return detail::retiled_scale(same, codes, scales);
}

std::uint32_t first_scale(const retiling& r, codes_in codes, codes_in scales) {
  return detail::retiled_scale(
      r, codes,
      r.rule == retile_rule::max_scale ? scales.block(0, 0, 1, 1) : scales);
}

std::uint32_t zero_column(const retiling& r, codes_in codes, codes_in scales) {
  for (std::ptrdiff_t i = 0; i < codes.rows; ++i) {
    const auto v = detail::retiled_value(r, codes(i, 0), scales(i, 0));
    if (v.kind == kind::finite) return detail::retiled_scale(r, codes, scales);
  }
  return r.rule == retile_rule::amax ? 0
                                     : detail::retiled_scale(r, codes, scales);
}

void not_transposed_scales(const retiling& r, codes_in codes, codes_in scales,
                           codes_out out, codes_out out_scales) {
  // Each element under the scale of the first tile of its row.
  const auto first = scales.cols > 0
                         ? codes_in(scales.data, scales.rows, scales.cols,
                                    scales.row_stride, 0)
                         : scales;
  retile(r, codes, first, out, out_scales);
}

}  // namespace

mutant_list retile_mutants() {
  return {
      code_mutant<keeps_fraction>(
          "retile_keeps_fraction",
          "as if a value that underflows kept its fraction bits"),
      code_mutant<truncated_underflow>("retile_truncates",
                                       "as if re-tiled values were truncated"),
      code_mutant<flushed_underflow>(
          "retile_flushes", "as if subnormal results were flushed to zero"),
      code_mutant<away_at_ties>("retile_ties_away",
                                "as if ties went away from zero"),
      code_mutant<rounded_value>("retile_through_bf16",
                                 "as if dequantized values were BF16"),
      code_mutant<rounded_quotient>("retile_rounds_twice",
                                    "as if v / t were rounded to FP32"),
      code_mutant<bad_scale_is_one>("retile_bad_scale_is_one",
                                    "as if a scale of 0, Inf or NaN were 1"),
      code_mutant<special_saturates>("retile_special_saturates",
                                     "as if Inf became max"),
      tile_scale_mutant<no_power>(
          "retile_no_power", "as if max_scale ignored the change of format"),
      tile_scale_mutant<first_scale>(
          "retile_first_scale", "as if max_scale took the first row's scale"),
      tile_scale_mutant<zero_column>("retile_zero_column",
                                     "as if a zero tile had scale 0"),
      core_but("retile_first_tile",
               "as if a row had its first tile's scale throughout",
               &implementation::retile, not_transposed_scales),
  };
}

}  // namespace zeroulp::conformance
