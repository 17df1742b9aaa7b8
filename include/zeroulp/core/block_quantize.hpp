// Defines the quantizers of products with block scales: MXFP8, MXFP6, MXFP4 and
// NVFP4.
//
//   x(i, k)  is about  code(i, k) * scale(i, k / block) * t(i)
//
// A block is `block` consecutive elements of K of one row, or of several; its
// scale is a byte of UE8M0 or UE4M3, stored for each of its rows. Under two
// levels t is an FP32 number of the whole matrix or of the row, else 1. Also
// here: the order of these bytes in memory. Source: SPEC clauses Q15 to Q19.
// The products are in block_scaled.hpp.

#ifndef ZEROULP_CORE_BLOCK_QUANTIZE_HPP_
#define ZEROULP_CORE_BLOCK_QUANTIZE_HPP_

#include "zeroulp/core/block_scaled.hpp"
#include "zeroulp/core/quantize.hpp"

namespace zeroulp {

// In the comments: `max` is the largest finite value of the element's format,
// t the scale of the second level, T its inverse.

/// How the scale of a block follows from its amax.
enum class block_rule : std::uint8_t {
  // ue8m0: 2^e
  floor,     ///< e = floor(log2(amax)) - floor(log2(max)): OCP MX
  ceil,      ///< e = ceil(log2(amax)) - floor(log2(max))
  even,      ///< floor, amax being rounded to the fraction bits of the element
  round_up,  ///< e = ceil(log2(amax / max)) by the convention's exponent rule
  // ue4m3: r, rounded to nearest-even
  exact_quotient,  ///< r = amax / (max * t), unrounded
  quotient,        ///< r = fl(amax / fl(max * t))
  two_quotients,   ///< r = fl(fl(amax / max) / t)
  product,         ///< r = fl(amax * fl(T * fl(1 / max)))
};

/// What the elements of a block are divided or multiplied by where its byte of
/// UE8M0 is 0 or NaN.
enum class block_ends : std::uint8_t {
  exact,         ///< the scale
  normal,        ///< at least 2^-126; Inf for NaN
  unit_of_zero,  ///< byte 0: they are multiplied by 1
};

/// How a kernel quantizes for a product with block scales.
struct block_convention {
  /// amax, the element, its policy; Q4's scale under round_up. Edges: *zero*
  /// and *nan* of the block, *inverse* of what elements are multiplied by.
  convention how;
  block_scale scale;
  std::int16_t block;
  block_rule rule;
  block_ends ends = block_ends::exact;
  /// The byte of a scale is at least this.
  std::uint8_t least = 0;
  /// Under the rule inverse elements are multiplied by fl(fl(1 / t) / scale),
  /// not by fl(1 / fl(scale * t)).
  bool split_inverse = false;
  /// How t follows from the amax of the second level.
  convention second{};

  friend constexpr bool operator==(const block_convention&,
                                   const block_convention&) = default;
};

/// A convention of blocks and what the program calls it.
struct named_block_convention {
  const char* name;
  block_convention value;
  const char* source;
};

/// MX as the OCP has it, each operation exact.
ZEROULP_HD constexpr block_convention exact_mx(block_rule rule) {
  return {zeroulp_convention, block_scale::power_of_two, 32, rule};
}
/// 2^-117: by the least scale of a block, 2^-9, FP32's least normal number.
inline constexpr std::uint32_t least_second = 0x05000000;
inline constexpr block_convention exact_nvfp4{
    .how = zeroulp_convention,
    .scale = block_scale::unsigned_e4m3,
    .block = 16,
    .rule = block_rule::exact_quotient,
    .least = 1,
    .second = {.amax_floor = 0,
               .scale = scale_rule::quotient,
               .element = element_rule::exact_quotient,
               .amax = amax_rule::finite_only,
               .edges = all_scale_edges,
               .scale_floor = least_second}};
inline constexpr block_convention transformer_engine_mx{
    .how = {.amax_floor = 0,
            .scale = scale_rule::times_reciprocal,
            .element = element_rule::inverse,
            .amax = amax_rule::skip_nan,
            .exponent = exponent_rule::of_scale},
    .scale = block_scale::power_of_two,
    .block = 32,
    .rule = block_rule::round_up};
inline constexpr block_convention transformer_engine_nvfp4{
    .how = {.amax_floor = 0,
            .scale = scale_rule::reciprocal_inverse,
            .element = element_rule::inverse,
            .amax = amax_rule::skip_nan,
            .edges = {.finite_inverse = true}},
    .scale = block_scale::unsigned_e4m3,
    .block = 16,
    .rule = block_rule::product,
    .second = transformer_engine_convention};
/// The floor, ceil and even modes of torchao.
ZEROULP_HD constexpr block_convention torchao_mx(block_rule rule) {
  return {{.amax_floor = 0,
           .scale = scale_rule::quotient,
           .element = element_rule::quotient,
           .amax = amax_rule::keep_nan},
          block_scale::power_of_two,
          32,
          rule,
          block_ends::normal};
}
inline constexpr block_convention torchao_rceil{
    .how = {.amax_floor = 0,
            .scale = scale_rule::quotient,
            .element = element_rule::inverse,
            .amax = amax_rule::keep_nan,
            .exponent = exponent_rule::of_log2},
    .scale = block_scale::power_of_two,
    .block = 32,
    .rule = block_rule::round_up,
    .ends = block_ends::unit_of_zero};
/// amax / (448 * 6), without an edge.
inline constexpr convention plain_quotient{.amax_floor = 0,
                                           .scale = scale_rule::quotient,
                                           .element = element_rule::quotient,
                                           .amax = amax_rule::keep_nan};
inline constexpr block_convention torchao_nvfp4{
    .how = {.amax_floor = 0,
            .scale = scale_rule::quotient,
            .element = element_rule::inverse,
            .amax = amax_rule::keep_nan},
    .scale = block_scale::unsigned_e4m3,
    .block = 16,
    .rule = block_rule::two_quotients,
    .least = 8,
    .split_inverse = true,
    .second = plain_quotient};
inline constexpr block_convention modelopt_nvfp4{
    .how = {.amax_floor = 0,
            .scale = scale_rule::quotient,
            .element = element_rule::quotient,
            .amax = amax_rule::keep_nan,
            .edges = {.unit_of_zero = true}},
    .scale = block_scale::unsigned_e4m3,
    .block = 16,
    .rule = block_rule::quotient,
    .least = 1,
    .second = plain_quotient};

inline constexpr named_block_convention named_block_conventions[] = {
    {"mx.floor", exact_mx(block_rule::floor), "OCP MX 1.0, 6.3"},
    {"mx.ceil", exact_mx(block_rule::ceil), "ours"},
    {"mx.even", exact_mx(block_rule::even), "ours"},
    {"mx.rceil", exact_mx(block_rule::round_up), "ours: no element saturates"},
    {"nvfp4", exact_nvfp4, "ours: SPEC clause Q17"},
    {"transformer_engine.mx", transformer_engine_mx,
     "Transformer Engine MXFP8: cvt.rp of fl(amax * fl(1 / max))"},
    {"transformer_engine.nvfp4", transformer_engine_nvfp4,
     "Transformer Engine NVFP4, 1x16, nearest-even"},
    {"torchao.floor", torchao_mx(block_rule::floor), "torchao to_mx, FLOOR"},
    {"torchao.ceil", torchao_mx(block_rule::ceil), "torchao to_mx, CEIL"},
    {"torchao.even", torchao_mx(block_rule::even), "torchao to_mx, EVEN"},
    {"torchao.rceil", torchao_rceil,
     "torchao to_mx, RCEIL, not compiled: ceil(log2(fl(amax / max)))"},
    {"torchao.nvfp4", torchao_nvfp4, "torchao nvfp4_quantize"},
    {"modelopt.nvfp4", modelopt_nvfp4, "ModelOpt NVFP4QTensor.quantize"},
};

/// What a scale of the second level covers.
enum class second_level : std::uint8_t { none, tensor, row };

struct block_quantizer {
  format from;
  format to;
  block_convention how;
  second_level level = second_level::none;
  /// The block scale that the largest amax gets: 448, or less, which leaves
  /// room above.
  std::int16_t largest_scale = 448;
  /// Rows that share a block's scale: 16 for the weights of NVFP4's training.
  std::int16_t block_rows = 1;

  ZEROULP_HD constexpr quantizer elements() const {
    return {from, to, how.how, scale_kind::pow2, {block_rows, how.block}};
  }
};

/// 32 random bits for each element, for stochastic rounding; a view without
/// data means nearest-even.
using random_view = matrix_view<const std::uint32_t>;

/// Returns true iff a matrix can be quantized so: MX has one level, NVFP4 is
/// E2M1, and rows that share a scale have no t of their own.
ZEROULP_HD constexpr bool is_valid(const block_quantizer& q) {
  const bool input = q.from == fp32 || q.from == bf16 || q.from == fp16;
  const bool by_bytes = q.how.scale == block_scale::power_of_two;
  const bool rule = by_bytes == (q.how.rule <= block_rule::round_up);
  const bool fits =
      by_bytes ? q.level == second_level::none && is_quantizable(q.to)
               : q.to == e2m1 && q.largest_scale > 0 && q.largest_scale <= 448;
  const bool shared =
      q.block_rows == 1 || (q.block_rows > 1 && q.level != second_level::row);
  return input && rule && fits && shared && q.how.block > 0;
}

namespace detail {

/// floor(log2(x)) of a positive FP32 number; Inf counts as 2^128.
ZEROULP_HD constexpr int floor_log2(std::uint32_t x) {
  return x == fp32_infinity
             ? 128
             : integer_log2(decode(fp32, x), scale_kind::pow2_down);
}

/// Returns true iff `x`, rounded to `bits` fraction bits, ties away, is the
/// next power of two.
ZEROULP_HD constexpr bool rounds_to_next_power(std::uint32_t x, int bits) {
  if (x >= fp32_infinity) return false;
  const std::uint64_t s = decode(fp32, x).significand;
  const int top = msb(s);
  // 1.f >= 2 - 2^-(bits + 1)
  const std::uint64_t gap = (std::uint64_t{2} << top) - s;
  return gap << (bits + 1) <= std::uint64_t{1} << top;
}

/// The byte of UE8M0 of a block; `amax` is FP32 bits, not negative.
ZEROULP_HD constexpr std::uint8_t pow2_scale_byte(const block_quantizer& q,
                                                  std::uint32_t amax) {
  const bool by_exponent = q.how.rule != block_rule::round_up;
  if (by_exponent && amax > 0 && amax <= fp32_infinity) {
    int e = floor_log2(amax);
    if (q.how.rule == block_rule::ceil && amax < fp32_infinity) {
      e = integer_log2(decode(fp32, amax), scale_kind::pow2);
    }
    if (q.how.rule == block_rule::even &&
        rounds_to_next_power(amax, q.to.man_bits)) {
      ++e;
    }
    const int most = floor_log2(max_as_fp32(q.to));
    return static_cast<std::uint8_t>(clamp_exponent(e - most) + 127);
  }
  const std::uint32_t s = make_scale(q.elements(), amax).scale;
  return static_cast<std::uint8_t>(recode(fp32, s, ue8m0, {}, cuda_satfinite));
}

/// The byte of UE4M3 of a block.
ZEROULP_HD constexpr std::uint8_t e4m3_scale_byte(const block_quantizer& q,
                                                  group_scale t,
                                                  std::uint32_t amax) {
  const std::uint32_t max = max_as_fp32(q.to);
  std::uint32_t r = 0;
  switch (q.how.rule) {
    case block_rule::quotient:
      r = fl_divide(amax, fl_multiply(max, t.scale));
      break;
    case block_rule::two_quotients:
      r = fl_divide(fl_divide(amax, max), t.scale);
      break;
    case block_rule::product:
      r = fl_multiply(amax, fl_multiply(t.inverse, fl_divide(fp32_one, max)));
      break;
    default: {
      if (amax == 0) break;
      unpacked divisor = decode(fp32, t.scale);
      const unpacked most = decode(fp32, max);
      divisor.significand *= most.significand;
      divisor.exponent += most.exponent;
      const auto exact = quotient(decode(fp32, amax), divisor);
      const auto byte = encode(e4m3, exact, {}, cuda_satfinite);
      return static_cast<std::uint8_t>(byte < q.how.least ? q.how.least : byte);
    }
  }
  if (r == 0 && q.how.how.edges.unit_of_zero) r = fp32_one;
  const auto byte = recode(fp32, r, e4m3, {}, cuda_satfinite);
  return static_cast<std::uint8_t>(byte < q.how.least ? q.how.least : byte);
}

}  // namespace detail

/// Returns t and T for the amax (FP32 bits) of the second level; without one, 1
/// and 1. `q` is valid.
ZEROULP_HD constexpr group_scale second_scale(const block_quantizer& q,
                                              std::uint32_t amax) {
  if (q.level == second_level::none) return {fp32_one, fp32_one};
  const auto most = static_cast<unsigned>(q.largest_scale);
  const auto bits = static_cast<std::uint32_t>(
      encode(fp32, product(decode(fp32, max_as_fp32(q.to)),
                           unpacked{most, 0, kind::finite, false})));
  quantizer second{fp32, fp32, q.how.second, scale_kind::float32};
  second.how.largest = bits;
  return make_scale(second, amax);
}

/// Returns the byte of the scale of a block whose amax is `amax`, FP32 bits.
ZEROULP_HD constexpr std::uint8_t block_scale_byte(const block_quantizer& q,
                                                   group_scale t,
                                                   std::uint32_t amax) {
  return q.how.scale == block_scale::power_of_two
             ? detail::pow2_scale_byte(q, amax)
             : detail::e4m3_scale_byte(q, t, amax);
}

/// Returns the scale of a block's elements, and what they may be multiplied by,
/// FP32 bits.
ZEROULP_HD constexpr group_scale element_scale(const block_quantizer& q,
                                               group_scale t,
                                               std::uint8_t byte) {
  const block_scale kind = q.how.scale;
  const auto value =
      static_cast<std::uint32_t>(encode(fp32, decode(kind, byte)));
  std::uint32_t s = detail::fl_multiply(value, t.scale);
  if (q.how.ends == block_ends::normal) {
    constexpr std::uint32_t smallest_normal = 0x00800000;
    s = s > fp32_infinity ? fp32_infinity
                          : (s < smallest_normal ? smallest_normal : s);
  }
  std::uint32_t inverse =
      q.how.split_inverse
          ? detail::fl_divide(detail::fl_divide(fp32_one, t.scale), value)
          : detail::fl_divide(fp32_one, s);
  if (q.how.ends == block_ends::unit_of_zero && byte == 0) inverse = fp32_one;
  if (q.how.how.edges.finite_inverse && inverse == fp32_infinity) {
    inverse = fp32_max;
  }
  return {s, inverse};
}

/// How the element (i, j) is rounded.
ZEROULP_HD constexpr rounder rounder_of(random_view random, std::ptrdiff_t i,
                                        std::ptrdiff_t j) {
  return random.data == nullptr ? nearest_rounder
                                : rounder{rounding::stochastic, random(i, j)};
}

/// Quantizes the rows of one scale of the second level; `scales` gets the byte
/// of a block in each of the block's rows.
template <class X, class Code>
ZEROULP_HD constexpr void quantize_blocks_of_level(
    const block_quantizer& q, group_scale t, matrix_view<const X> x,
    random_view random, matrix_view<Code> codes,
    matrix_view<std::uint8_t> scales) {
  const quantizer elements = q.elements();
  for_each_group(elements.group, x.rows, x.cols,
                 [&](std::ptrdiff_t, std::ptrdiff_t gk, std::ptrdiff_t i0,
                     std::ptrdiff_t k0, std::ptrdiff_t m, std::ptrdiff_t n) {
                   const std::uint8_t byte = block_scale_byte(
                       q, t, group_amax(elements, x.block(i0, k0, m, n)));
                   const group_scale s = element_scale(q, t, byte);
                   for (std::ptrdiff_t i = i0; i < i0 + m; ++i) {
                     scales(i, gk) = byte;
                     for (std::ptrdiff_t k = k0; k < k0 + n; ++k) {
                       codes(i, k) = static_cast<Code>(quantize_element(
                           elements, s, as_fp32(q.from, x(i, k)),
                           rounder_of(random, i, k)));
                     }
                   }
                 });
}

/// Quantizes an m x k matrix. `codes` is m x k, `scales` m x ceil(k / block);
/// `second`, FP32 bits of t, is 1 x 1 (tensor) or m x 1 (row) and not used
/// without a second level. `random` is m x k or without data. `q` is valid.
template <class X, class Code>
ZEROULP_HD constexpr void quantize_blocks(const block_quantizer& q,
                                          matrix_view<const X> x,
                                          matrix_view<Code> codes,
                                          matrix_view<std::uint8_t> scales,
                                          matrix_view<std::uint32_t> second,
                                          random_view random) {
  const bool by_row = q.level == second_level::row;
  const std::ptrdiff_t height = by_row ? 1 : x.rows;
  for (std::ptrdiff_t i = 0; i < (by_row ? x.rows : 1); ++i) {
    const auto part = x.block(i, 0, height, x.cols);
    const group_scale t = second_scale(q, group_amax(q.elements(), part));
    if (q.level != second_level::none) second(i, 0) = t.scale;
    quantize_blocks_of_level(q, t, part, random.block(i, 0, height, x.cols),
                             codes.block(i, 0, height, x.cols),
                             scales.block(i, 0, height, scales.cols));
  }
}

/// Returns the value of an element, rounded once to `to`, nearest-even: a code.
/// `second` is t, FP32 bits; codes have at most 24 bits.
ZEROULP_HD constexpr std::uint64_t dequantize_block_element(
    format f, std::uint64_t code, block_scale kind, std::uint8_t byte,
    std::uint32_t second, format to = fp32) {
  const auto scaled = product(decode(f, code), decode(kind, byte));
  const unpacked low{scaled.significand.word[0], scaled.exponent, scaled.kind,
                     scaled.negative};
  return encode(to, product(low, decode(fp32, second)), {}, cuda_nosat);
}

// Where the products of Blackwell expect the bytes: tiles of 128 rows by 4
// blocks, each of 512 bytes, the four blocks of a row side by side. The tiles
// of 128 rows follow one another along K.

/// Bytes of the scales of `rows` rows of `blocks` blocks.
ZEROULP_HD constexpr std::ptrdiff_t interleaved_bytes(std::ptrdiff_t rows,
                                                      std::ptrdiff_t blocks) {
  return ceil_div(rows, 128) * ceil_div(blocks, 4) * 512;
}

/// Where the scale of block k of row i stands among them.
ZEROULP_HD constexpr std::ptrdiff_t interleaved_at(std::ptrdiff_t i,
                                                   std::ptrdiff_t k,
                                                   std::ptrdiff_t blocks) {
  const std::ptrdiff_t tile = i / 128 * ceil_div(blocks, 4) + k / 4;
  return tile * 512 + i % 32 * 16 + i % 128 / 32 * 4 + k % 4;
}

/// Writes all interleaved_bytes(): the scales, and 0 where there are none.
ZEROULP_HD constexpr void interleave_scales(
    matrix_view<const std::uint8_t> scales, std::uint8_t* out) {
  const std::ptrdiff_t size = interleaved_bytes(scales.rows, scales.cols);
  for (std::ptrdiff_t at = 0; at < size; ++at) out[at] = 0;
  for (std::ptrdiff_t i = 0; i < scales.rows; ++i) {
    for (std::ptrdiff_t k = 0; k < scales.cols; ++k) {
      out[interleaved_at(i, k, scales.cols)] = scales(i, k);
    }
  }
}

/// Reads them back.
ZEROULP_HD constexpr void separate_scales(const std::uint8_t* interleaved,
                                          matrix_view<std::uint8_t> scales) {
  for (std::ptrdiff_t i = 0; i < scales.rows; ++i) {
    for (std::ptrdiff_t k = 0; k < scales.cols; ++k) {
      scales(i, k) = interleaved[interleaved_at(i, k, scales.cols)];
    }
  }
}

static_assert(interleaved_at(127, 3, 4) == 511);
static_assert(interleaved_at(33, 1, 4) == 16 + 4 + 1);
static_assert(interleaved_at(128, 5, 8) == 3 * 512 + 1);
static_assert(interleaved_bytes(129, 5) == 2048);

}  // namespace zeroulp

#endif  // ZEROULP_CORE_BLOCK_QUANTIZE_HPP_
