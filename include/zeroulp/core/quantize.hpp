// Defines quantization: a matrix cut into groups, a scale for each, a code for
// each element.
//
//   scale(g) = make_scale(amax(g)),  code(i, j) = encode(x(i, j) by scale(g))
//
// Groups are rows x cols (0: all of them); at the edges a group is its real
// elements. Source: SPEC clauses Q1 to Q14. Also here: dequantization and the
// layouts of scale matrices.

#ifndef ZEROULP_CORE_QUANTIZE_HPP_
#define ZEROULP_CORE_QUANTIZE_HPP_

#include "zeroulp/core/reciprocal.hpp"
#include "zeroulp/core/scale.hpp"
#include "zeroulp/core/view.hpp"

namespace zeroulp {

/// Returns true iff elements can be quantized to `f`: it has a sign, at most 32
/// bits, and its largest number is one of FP32's.
ZEROULP_HD constexpr bool is_quantizable(format f) {
  return f.has_sign() && f.bits() <= 32 &&
         msb(decode(f, f.max_code()).significand) +
                 decode(f, f.max_code()).exponent <
             128;
}

static_assert(is_quantizable(e4m3) && is_quantizable(fp32));
static_assert(!is_quantizable(ue8m0) && !is_quantizable(fp64));
static_assert(!is_quantizable({9, 4, 255, specials::ieee}));

/// Returns the FP32 bits of an element of `from`: exact.
ZEROULP_HD constexpr std::uint32_t as_fp32(format from, std::uint64_t code) {
  return from == fp32 ? static_cast<std::uint32_t>(code)
                      : static_cast<std::uint32_t>(encode(
                            fp32, decode(from, code), {}, ocp_nonsaturate));
}

/// Returns the amax of a group, FP32 bits, by the convention's amax rule.
template <class X>
ZEROULP_HD constexpr std::uint32_t group_amax(const quantizer& q,
                                              matrix_view<const X> group) {
  std::uint32_t amax = 0;
  for (std::ptrdiff_t i = 0; i < group.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < group.cols; ++j) {
      std::uint32_t x = as_fp32(q.from, group(i, j)) & 0x7fffffff;
      const bool is_nan = x > fp32_infinity;
      if (is_nan && q.how.amax != amax_rule::keep_nan) continue;
      if (q.how.bf16_amax && !is_nan) {
        x = as_fp32(bf16, recode(fp32, x, bf16, {}, ocp_nonsaturate));
      }
      if (x == fp32_infinity && q.how.amax == amax_rule::finite_only) continue;
      amax = x > amax ? x : amax;
    }
  }
  return amax;
}

inline constexpr rounder nearest_rounder{};

/// Returns the code of a number that takes the place of an element, rounded by
/// `r`; a pre-rounding is to nearest-even.
template <class Significand>
ZEROULP_HD constexpr std::uint64_t encode_element(const quantizer& q,
                                                  const number<Significand>& v,
                                                  rounder r = nearest_rounder) {
  const auto to_code = [&](const auto& value) {
    return encode(q.to, value, r, q.how.conversion);
  };
  const format f = q.how.through == pre_rounding::to_bf16 ? bf16 : fp16;
  const std::uint64_t code =
      q.how.through == pre_rounding::none
          ? to_code(v)
          : to_code(decode(f, encode(f, v, {}, ocp_nonsaturate)));
  if (q.how.largest == 0) return code;
  const std::uint64_t most = recode(fp32, largest_of(q), q.to);
  const std::uint64_t magnitude = code & q.to.magnitude_mask();
  return magnitude > most && magnitude <= q.to.max_code()
             ? (code & q.to.sign_mask()) | most
             : code;
}

/// Returns the code of one element, FP32 bits, under its group's scale.
ZEROULP_HD constexpr std::uint64_t quantize_element(
    const quantizer& q, group_scale s, std::uint32_t x,
    rounder r = nearest_rounder) {
  using detail::fl_divide;
  using detail::fl_multiply;
  std::uint32_t v = 0;
  switch (q.how.element) {
    case element_rule::exact_quotient:
      return encode_element(q, quotient(decode(fp32, x), decode(fp32, s.scale)),
                            r);
    case element_rule::quotient:
      v = fl_divide(x, s.scale);
      break;
    case element_rule::scale_reciprocal:
      v = fl_multiply(x, fl_divide(fp32_one, s.scale));
      break;
    case element_rule::approximate_quotient:
      v = approximate_quotient(x, s.scale);
      break;
    case element_rule::inverse:
      v = fl_multiply(x, s.inverse);
      break;
  }
  return encode_element(q, decode(fp32, v), r);
}

/// Quantizes one group by its scale.
template <class X, class Code>
ZEROULP_HD constexpr void encode_group(const quantizer& q, group_scale s,
                                       matrix_view<const X> x,
                                       matrix_view<Code> codes) {
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      codes(i, j) =
          static_cast<Code>(quantize_element(q, s, as_fp32(q.from, x(i, j))));
    }
  }
}

/// Quantizes one group whose amax is given: that of the group, or, under
/// delayed scaling, of the past. Returns the stored scale, FP32 bits.
template <class X, class Code>
ZEROULP_HD constexpr std::uint32_t quantize_group(const quantizer& q,
                                                  matrix_view<const X> x,
                                                  std::uint32_t amax,
                                                  matrix_view<Code> codes) {
  const group_scale s = make_scale(q, amax);
  encode_group(q, s, x, codes);
  return s.scale;
}

/// A scale that is not made here but given (static scaling), FP32 bits: q, by
/// which some conventions multiply, is its reciprocal. SPEC Q14.
ZEROULP_HD constexpr group_scale given_scale(std::uint32_t scale) {
  return {scale, detail::fl_divide(fp32_one, scale)};
}

/// Calls `use(gi, gj, i0, j0, rows, cols)` for each group of an m x n matrix.
template <class Use>
ZEROULP_HD constexpr void for_each_group(group_shape g, std::ptrdiff_t m,
                                         std::ptrdiff_t n, Use use) {
  const std::ptrdiff_t h = g.height(m);
  const std::ptrdiff_t w = g.width(n);
  for (std::ptrdiff_t i = 0; i < m; i += h) {
    for (std::ptrdiff_t j = 0; j < n; j += w) {
      use(i / h, j / w, i, j, m - i < h ? m - i : h, n - j < w ? n - j : w);
    }
  }
}

/// Quantizes an m x n matrix online: each group by its own amax. `codes` is
/// m x n; `scales` has one FP32 number (bits) a group, row-major by group.
template <class X, class Code>
ZEROULP_HD constexpr void quantize(const quantizer& q, matrix_view<const X> x,
                                   matrix_view<Code> codes,
                                   matrix_view<std::uint32_t> scales) {
  for_each_group(q.group, x.rows, x.cols,
                 [&](std::ptrdiff_t gi, std::ptrdiff_t gj, std::ptrdiff_t i,
                     std::ptrdiff_t j, std::ptrdiff_t m, std::ptrdiff_t n) {
                   const auto group = x.block(i, j, m, n);
                   scales(gi, gj) = quantize_group(
                       q, group, group_amax(q, group), codes.block(i, j, m, n));
                 });
}

/// Quantizes an m x n matrix by given scales, one (FP32 bits) a group.
template <class X, class Code>
ZEROULP_HD constexpr void quantize_by_scale(
    const quantizer& q, matrix_view<const X> x,
    matrix_view<const std::uint32_t> scales, matrix_view<Code> codes) {
  for_each_group(q.group, x.rows, x.cols,
                 [&](std::ptrdiff_t gi, std::ptrdiff_t gj, std::ptrdiff_t i,
                     std::ptrdiff_t j, std::ptrdiff_t m, std::ptrdiff_t n) {
                   encode_group(q, given_scale(scales(gi, gj)),
                                x.block(i, j, m, n), codes.block(i, j, m, n));
                 });
}

/// Returns fl(code * scale), FP32 bits: the dequantized element.
ZEROULP_HD constexpr std::uint32_t dequantize_element(format from,
                                                      std::uint64_t code,
                                                      std::uint32_t scale) {
  return static_cast<std::uint32_t>(encode(
      fp32, product(decode(from, code), decode(fp32, scale)), {}, cuda_nosat));
}

/// Dequantizes an m x n matrix of codes to FP32 bits.
template <class Code>
ZEROULP_HD constexpr void dequantize(format from, group_shape group,
                                     matrix_view<const Code> codes,
                                     matrix_view<const std::uint32_t> scales,
                                     matrix_view<std::uint32_t> out) {
  const std::ptrdiff_t h = group.height(codes.rows);
  const std::ptrdiff_t w = group.width(codes.cols);
  for (std::ptrdiff_t i = 0; i < codes.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < codes.cols; ++j) {
      out(i, j) = dequantize_element(from, codes(i, j), scales(i / h, j / w));
    }
  }
}

/// How a matrix of scales lies in memory. Its rows run along M or N, its
/// columns along K.
enum class scale_layout : std::uint8_t {
  row_major,  ///< FP32, as it is
  mn_major,   ///< FP32, transposed; M or N padded to a multiple of 4 (TMA)
  blk128,  ///< FP32, row-major; K groups padded to a multiple of 4 (cuBLASLt)
  packed_ue8m0,  ///< four exponents along K a word, first in the low byte;
                 ///< words transposed, M or N padded to a multiple of 4
};

struct named_scale_layout {
  const char* name;
  scale_layout value;
};

inline constexpr named_scale_layout named_scale_layouts[] = {
    {"row_major", scale_layout::row_major},
    {"mn_major", scale_layout::mn_major},
    {"blk128", scale_layout::blk128},
    {"ue8m0", scale_layout::packed_ue8m0},
};

/// The shape of the stored 32-bit words for mn x k scales.
struct layout_shape {
  std::ptrdiff_t rows;
  std::ptrdiff_t cols;
};

ZEROULP_HD constexpr layout_shape stored_shape(scale_layout layout,
                                               std::ptrdiff_t mn,
                                               std::ptrdiff_t k) {
  switch (layout) {
    case scale_layout::row_major:
      return {mn, k};
    case scale_layout::mn_major:
      return {k, ceil_div(mn, 4) * 4};
    case scale_layout::blk128:
      return {mn, ceil_div(k, 4) * 4};
    case scale_layout::packed_ue8m0:
      break;
  }
  return {ceil_div(k, 4), ceil_div(mn, 4) * 4};
}

/// Lays out FP32 scales (bits). `out` has stored_shape; padding is 0, for ue8m0
/// the exponent byte 0x7f (scale 1). A scale that ue8m0 cannot hold exactly is
/// the caller's error and stored as NaN (0xff).
ZEROULP_HD constexpr void lay_out_scales(
    scale_layout layout, matrix_view<const std::uint32_t> scales,
    matrix_view<std::uint32_t> out) {
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
      out(i, j) = layout == scale_layout::packed_ue8m0 ? 0x7f7f7f7fu : 0;
    }
  }
  for (std::ptrdiff_t i = 0; i < scales.rows; ++i) {
    for (std::ptrdiff_t k = 0; k < scales.cols; ++k) {
      const std::uint32_t s = scales(i, k);
      switch (layout) {
        case scale_layout::row_major:
        case scale_layout::blk128:
          out(i, k) = s;
          break;
        case scale_layout::mn_major:
          out(k, i) = s;
          break;
        case scale_layout::packed_ue8m0: {
          const auto e = static_cast<std::uint32_t>(
              recode(fp32, s, ue8m0, {}, ocp_nonsaturate));
          const bool exact = s != 0 && recode(ue8m0, e, fp32) == s;
          const int at = static_cast<int>(k % 4) * 8;
          out(k / 4, i) =
              (out(k / 4, i) & ~(0xffu << at)) | ((exact ? e : 0xffu) << at);
          break;
        }
      }
    }
  }
}

/// Reads scales laid out by lay_out_scales back as FP32 bits.
ZEROULP_HD constexpr std::uint32_t scale_at(
    scale_layout layout, matrix_view<const std::uint32_t> stored,
    std::ptrdiff_t i, std::ptrdiff_t k) {
  switch (layout) {
    case scale_layout::row_major:
    case scale_layout::blk128:
      return stored(i, k);
    case scale_layout::mn_major:
      return stored(k, i);
    case scale_layout::packed_ue8m0:
      break;
  }
  const auto e = stored(k / 4, i) >> (k % 4 * 8) & 0xff;
  return static_cast<std::uint32_t>(recode(ue8m0, e, fp32, {}, cuda_nosat));
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_QUANTIZE_HPP_
