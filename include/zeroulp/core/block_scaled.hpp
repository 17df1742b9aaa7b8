// Defines the tensor-core step with block scales: MXFP8, MXFP6, MXFP4, NVFP4.
//
//   D = output( cut(c) + sum over blocks of cut(sa sb sum of a[k] b[k]) )
//
// A scale covers `block` consecutive elements of K of one row. It is exact: it
// only moves terms. So the step is that of accumulate.hpp on scaled operands,
// which stays the one place that aligns. Source: SPEC clauses T17 to T20.

#ifndef ZEROULP_CORE_BLOCK_SCALED_HPP_
#define ZEROULP_CORE_BLOCK_SCALED_HPP_

#include "zeroulp/core/gemm.hpp"
#include "zeroulp/core/path.hpp"

namespace zeroulp {

/// What a block's scale is stored as, in a byte.
enum class block_scale : std::uint8_t {
  power_of_two,   ///< UE8M0: 2^(byte - 127); 0xff is NaN
  unsigned_e4m3,  ///< UE4M3: E4M3, of which bit 7 is ignored
};

/// Which terms a step with block scales aligns.
enum class block_terms : std::uint8_t {
  products,  ///< each product by itself, its place raised by both scales
  sums,      ///< sums of 16 products, whose place is that of their scales
};

/// A tensor-core path with block scales on both operands. Its accumulator's
/// length counts products.
struct block_scaled_path {
  path unscaled;
  block_scale scale;
  std::int16_t block;  ///< elements of K that share a scale
  block_terms terms;

  ZEROULP_HD constexpr int length() const { return unscaled.acc.length; }
  friend constexpr bool operator==(const block_scaled_path&,
                                   const block_scaled_path&) = default;
};

/// The products of one term of block_terms::sums, and how many such terms a
/// step takes.
inline constexpr int summed_products = 16;
inline constexpr int max_summed = 64;

/// Returns the value of a scale's code.
ZEROULP_HD constexpr unpacked decode(block_scale s, std::uint64_t code) {
  return s == block_scale::power_of_two ? decode(ue8m0, code & 0xff)
                                        : decode(e4m3, code & 0x7f);
}
/// Returns the fraction bits of a scale.
ZEROULP_HD constexpr int fraction_bits(block_scale s) {
  return s == block_scale::power_of_two ? ue8m0.man_bits : e4m3.man_bits;
}

/// Returns true iff a step can follow `p`: products that are terms take scales
/// without a fraction, and sums of products take E2M1, whose normal numbers
/// begin at 1.
ZEROULP_HD constexpr bool is_valid(const block_scaled_path& p) {
  const accumulator& acc = p.unscaled.acc;
  const bool whole = p.block > 0 && acc.length > 0 &&
                     (acc.length % p.block == 0 || p.block % acc.length == 0) &&
                     acc.fraction_bits != uncut &&
                     p.unscaled.lowering == lowering::direct;
  const bool terms = p.terms == block_terms::products
                         ? p.scale == block_scale::power_of_two
                         : p.unscaled.a == e2m1 && p.unscaled.b == e2m1 &&
                               p.block % summed_products == 0 &&
                               acc.length <= max_summed * summed_products;
  return whole && terms && !acc.renormalized && acc.c == addend::aligned;
}

namespace detail {

/// Operands times the scales of their blocks, which are powers of two.
template <class X, class Scales>
struct scaled_elements {
  const X& x;
  const Scales& scales;
  int block;

  ZEROULP_HD constexpr unpacked operator[](int k) const {
    const unpacked s = scales[k / block];
    if (s.is_nan()) return s;
    unpacked value = x[k];
    value.exponent += s.exponent;
    return value;
  }
};

/// The exact sum of up to 16 products of E2M1 in units of `summed_unit`.
struct summed_block {
  std::int64_t sum = 0;
  bool takes_part = false;  ///< one of the products is not zero
};
inline constexpr int summed_unit = 2 * e2m1.quantum_exponent();

template <class A, class B>
ZEROULP_HD constexpr summed_block sum_block(const A& a, const B& b, int begin,
                                            int end) {
  summed_block s;
  for (int k = begin; k < end; ++k) {
    const unpacked x = a[k];
    const unpacked y = b[k];
    if (x.is_zero() || y.is_zero()) continue;
    const auto magnitude =
        static_cast<std::int64_t>(x.significand * y.significand
                                  << (x.exponent + y.exponent - summed_unit));
    s.sum += x.negative != y.negative ? -magnitude : magnitude;
    s.takes_part = true;
  }
  return s;
}

/// A step over sums of products as one over products: `count` of a[n] * b[n],
/// by the path `as`.
struct step_of_sums {
  path as;
  unpacked a[max_summed];
  unpacked b[max_summed];
  int count = 0;
};

/// A sum of products times its scales becomes the product of sum * sa and sb.
/// A sum that cancels would be zero and take no part; what remains of it is its
/// place, for which the floor then stands.
template <class A, class B, class ScalesA, class ScalesB>
ZEROULP_HD constexpr step_of_sums sum_blocks(const block_scaled_path& p,
                                             const A& a, const B& b,
                                             const ScalesA& sa,
                                             const ScalesB& sb, int count) {
  step_of_sums s{p.unscaled, {}, {}};
  // A product's place is its exponent plus the fraction bits of both formats.
  // That is the sum of the scales' exponents if each format has those of a
  // scale and of an operand.
  const int point = fraction_bits(p.scale) - e2m1.quantum_exponent();
  s.as.a.man_bits = static_cast<std::uint8_t>(point);
  s.as.b.man_bits = s.as.a.man_bits;
  std::int16_t& floor = s.as.acc.exponent_floor;
  for (int k = 0; k < count; k += summed_products) {
    unpacked& left = s.a[s.count];
    unpacked& right = s.b[s.count];
    ++s.count;
    const unpacked x = sa[k / p.block];
    const unpacked y = sb[k / p.block];
    if (x.is_nan() || y.is_nan()) {
      left.kind = kind::nan;
      continue;
    }
    const int end = count - k < summed_products ? count : k + summed_products;
    const summed_block block = sum_block(a, b, k, end);
    if (!block.takes_part || x.is_zero() || y.is_zero()) continue;
    const int place = x.exponent + y.exponent + 2 * fraction_bits(p.scale);
    if (block.sum == 0) {
      floor = place > floor ? static_cast<std::int16_t>(place) : floor;
      continue;
    }
    const auto magnitude =
        static_cast<std::uint64_t>(block.sum < 0 ? -block.sum : block.sum);
    left = {magnitude * x.significand, x.exponent + summed_unit, kind::finite,
            block.sum < 0};
    right = y;
  }
  return s;
}

}  // namespace detail

/// Returns D of one step with block scales: a code of acc.stored. `a` and `b`
/// are indexed from 0 to count - 1 and give unpacked values of the path's
/// formats; `sa` and `sb` give the unpacked scale of each of their blocks.
/// count <= p.length(), and what is missing counts as zero. `p` is valid.
template <class A, class B, class ScalesA, class ScalesB>
ZEROULP_HD constexpr std::uint64_t step(const block_scaled_path& p, const A& a,
                                        const B& b, const ScalesA& sa,
                                        const ScalesB& sb, int count,
                                        std::uint64_t c) {
  if (p.terms == block_terms::sums) {
    const auto s = detail::sum_blocks(p, a, b, sa, sb, count);
    return detail::accumulate(s.as, s.a, s.b, s.count, c);
  }
  using detail::scaled_elements;
  return detail::accumulate(
      p.unscaled, scaled_elements<A, ScalesA>{a, sa, p.block},
      scaled_elements<B, ScalesB>{b, sb, p.block}, count, c);
}

/// Returns the chain of steps over k elements of K from c: codes of acc.stored.
/// The scales of block n are sa[n] and sb[n].
template <class A, class B, class ScalesA, class ScalesB>
ZEROULP_HD constexpr std::uint64_t chain(const block_scaled_path& p, const A& a,
                                         const B& b, const ScalesA& sa,
                                         const ScalesB& sb, std::ptrdiff_t k,
                                         std::uint64_t c) {
  const std::ptrdiff_t length = p.length();
  for (std::ptrdiff_t at = 0; at < k; at += length) {
    const std::ptrdiff_t count = k - at < length ? k - at : length;
    const std::ptrdiff_t block = at / p.block;
    c = step(p, tail<A>{a, at}, tail<B>{b, at}, tail<ScalesA>{sa, block},
             tail<ScalesB>{sb, block}, static_cast<int>(count), c);
  }
  return c;
}

/// A GEMM of operands with block scales: one chain over K, then the scales of
/// their second level, FP32 numbers of a matrix or of a row.
struct block_recipe {
  block_scaled_path path;
  epilogue end = epilogue::store;
  format output = fp32;  ///< fp32 or bf16, nearest-even
};

ZEROULP_HD constexpr bool is_valid(const block_recipe& r) {
  return is_valid(r.path) && r.path.unscaled.acc.stored == fp32 &&
         (r.output == fp32 || r.output == bf16);
}

/// Returns D for the chain's result `acc` and the product of both scales of the
/// second level, FP32 bits; `c` is used by accumulate. SPEC G14.
ZEROULP_HD constexpr std::uint32_t finish(const block_recipe& r,
                                          std::uint32_t acc,
                                          std::uint32_t scale,
                                          std::uint32_t c) {
  const recipe end{.acc = r.path.unscaled.acc,
                   .interval = 0,
                   .update = promotion::add,
                   .a = per_tensor,
                   .b = per_tensor,
                   .splits = 1,
                   .end = r.end,
                   .output = r.output};
  return finish(end, detail::fl_multiply(acc, scale), c);
}

/// MXFP8, MXFP6 and MXFP4 in one instruction: tcgen05 and mma.sync of sm_120,
/// kind::mxf8f6f4.
ZEROULP_HD constexpr block_scaled_path mxf8f6f4(format a, format b) {
  return {{a, b, blackwell_fp8_f32},
          block_scale::power_of_two,
          32,
          block_terms::products};
}
/// The accumulator of kind::mxf4 and kind::mxf4nvf4.
inline constexpr accumulator blackwell_fp4_f32{
    .length = 64,
    .fraction_bits = 35,
    .exponent_floor = -139,
    .output = fp32,
    .conversion = rounding::toward_zero,
    .stored = fp32};
ZEROULP_HD constexpr block_scaled_path fp4_by_blocks(block_scale s, int block) {
  return {{e2m1, e2m1, blackwell_fp4_f32},
          s,
          static_cast<std::int16_t>(block),
          block_terms::sums};
}
/// Hopper's FP8 unit, if it took a power of two for every 128 elements of K and
/// kept `fraction_bits` (8 to 34).
ZEROULP_HD constexpr block_scaled_path what_if_block_scaled(format a, format b,
                                                            int fraction_bits) {
  return {{a, b, what_if_fraction(fraction_bits)},
          block_scale::power_of_two,
          128,
          block_terms::products};
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_BLOCK_SCALED_HPP_
