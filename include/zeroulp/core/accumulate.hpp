// Defines the tensor-core step: the ONE place that aligns.
//
//   D = output( cut(c) + sum_k cut(a[k] * b[k]) )
//
// Every term (L exact products and c) is cut to F fraction bits below the
// largest exponent among the nonzero terms; the integer sum is exact; the
// result is converted once. A product of p and q in [1, 2) keeps the exponent
// of its factors, so it lies in [1, 4). Source: SPEC clauses T1 to T11,
// measured on an H200. Left out: names and rows (path.hpp), chaining over K
// (gemm.hpp).

#ifndef ZEROULP_CORE_ACCUMULATE_HPP_
#define ZEROULP_CORE_ACCUMULATE_HPP_

#include "zeroulp/core/arith.hpp"

namespace zeroulp {

/// How c joins the sum.
enum class addend : std::uint8_t {
  aligned,  ///< one more term
  last,     ///< added to the converted sum, with the output rounding
};

/// An accumulator as a value: what a step does with its terms.
struct accumulator {
  std::int16_t length;          ///< L: products a step takes; 0: all of K
  std::int16_t fraction_bits;   ///< F, 0 to 44; or uncut: the sum is exact
  std::int16_t exponent_floor;  ///< the largest exponent is at least this
  format output;                ///< what the sum is rounded to
  rounding conversion;          ///< how it is rounded
  format stored;  ///< what c and D are stored as: holds every `output` exactly
  // The rest is what-ifs; the defaults are the hardware's.
  rounding cut = rounding::toward_zero;  ///< of sign and magnitude
  addend c = addend::aligned;
  bool renormalized = false;  ///< align a product by its highest bit

  friend constexpr bool operator==(const accumulator&,
                                   const accumulator&) = default;
};

inline constexpr std::int16_t uncut = -1;
inline constexpr std::int16_t no_floor = -32768;
/// L + 1 terms of F + 2 bits must fit in 63 bits.
inline constexpr int max_length = 1 << 16;
inline constexpr int max_fraction_bits = 44;

/// How the instruction reaches the accumulator.
enum class lowering : std::uint8_t {
  direct,        ///< the instruction is one step
  hmma_chained,  ///< FP8 -> FP16; T1 takes k mod 4 in {0,1}, T2 the rest and
                 ///< T1 as its c; D = c + T2, rounded to nearest
  hmma_zero,     ///< as above with T2 from zero; D = c + (T1 + T2)
};

/// A tensor-core path: operand formats, accumulator, lowering. With a lowering,
/// the accumulator is that of the FP16 instruction, of half the length.
struct path {
  format a;
  format b;
  accumulator acc;
  zeroulp::lowering lowering = zeroulp::lowering::direct;

  /// Products that one instruction step takes; 0: all of K.
  ZEROULP_HD constexpr int length() const {
    return lowering == zeroulp::lowering::direct ? acc.length : 2 * acc.length;
  }
  friend constexpr bool operator==(const path&, const path&) = default;
};

namespace detail {

/// A product or c as the aligner sees it: significand * 2^exponent, aligned by
/// `place`.
struct term {
  std::uint64_t significand;
  int exponent;
  int place;
  bool negative;
};

/// What the special values among the terms make of the sum.
struct special_sum {
  bool nan = false;
  bool plus = false;
  bool minus = false;

  ZEROULP_HD constexpr void take(kind k, bool negative) {
    if (k == kind::nan) nan = true;
    if (k == kind::infinite) (negative ? minus : plus) = true;
  }
  ZEROULP_HD constexpr bool any() const { return nan || plus || minus; }
};

/// Returns a[k] * b[k], both finite and nonzero. `point`: fraction bits of an
/// exact product.
ZEROULP_HD constexpr term product_term(const accumulator& acc,
                                       const unpacked& a, const unpacked& b,
                                       int point) {
  term t{a.significand * b.significand, a.exponent + b.exponent, 0,
         a.negative != b.negative};
  t.place = t.exponent + (acc.renormalized ? msb(t.significand) : point);
  return t;
}

/// Returns the magnitude of `t` in units of 2^unit.
ZEROULP_HD constexpr std::uint64_t cut(const term& t, int unit, rounding mode) {
  return round_shift(t.significand, unit - t.exponent, t.negative, {mode});
}

/// Calls `use` with each nonzero term, products in k order, then c.
template <class A, class B, class Use>
ZEROULP_HD constexpr void for_each_term(const path& p, const A& a, const B& b,
                                        int count, const unpacked& c, Use use) {
  const int point = p.a.man_bits + p.b.man_bits;
  for (int k = 0; k < count; ++k) {
    const unpacked x = a[k];
    const unpacked y = b[k];
    if (x.is_zero() || y.is_zero()) continue;
    use(product_term(p.acc, x, y, point));
  }
  if (!c.is_zero()) {
    use(term{c.significand, c.exponent, c.exponent + p.acc.stored.man_bits,
             c.negative});
  }
}

/// The exact sum of terms whose exponents span the whole range of FP32 twice.
template <class A, class B>
ZEROULP_HD constexpr number<wide<11>> exact_sum(const path& p, const A& a,
                                                const B& b, int count,
                                                const unpacked& c) {
  int lowest = 1 << 20;
  for_each_term(p, a, b, count, c, [&](const term& t) {
    lowest = t.exponent < lowest ? t.exponent : lowest;
  });
  wide<11> positive;
  wide<11> negative;
  for_each_term(p, a, b, count, c, [&](const term& t) {
    (t.negative ? negative : positive).add(t.significand, t.exponent - lowest);
  });
  const int order = compare(positive, negative);
  if (order == 0) return {};
  return {order > 0 ? positive - negative : negative - positive, lowest,
          kind::finite, order < 0};
}

/// The sum of the terms cut to F fraction bits below the largest exponent.
template <class A, class B>
ZEROULP_HD constexpr unpacked aligned_sum(const path& p, const A& a, const B& b,
                                          int count, const unpacked& c) {
  const accumulator& acc = p.acc;
  int largest = acc.exponent_floor;
  for_each_term(p, a, b, count, c, [&](const term& t) {
    largest = t.place > largest ? t.place : largest;
  });
  const int unit = largest - acc.fraction_bits;
  std::int64_t total = 0;
  for_each_term(p, a, b, count, c, [&](const term& t) {
    const auto magnitude = static_cast<std::int64_t>(cut(t, unit, acc.cut));
    total += t.negative ? -magnitude : magnitude;
  });
  if (total == 0) return {};
  return {static_cast<std::uint64_t>(total < 0 ? -total : total), unit,
          kind::finite, total < 0};
}

/// Returns `sum` as a code of acc.stored: converted once; every zero is +0, and
/// a magnitude beyond the exponents of `output` is Inf, also by truncation.
template <class Significand>
ZEROULP_HD constexpr std::uint64_t convert_sum(const accumulator& acc,
                                               const number<Significand>& sum) {
  const int beyond = acc.output.min_exponent() + (1 << acc.output.exp_bits) - 2;
  if (!sum.is_zero() && msb(sum.significand) + sum.exponent >= beyond) {
    return acc.stored.infinity_code() |
           (sum.negative ? acc.stored.sign_mask() : 0);
  }
  const auto rounded = encode(acc.output, sum, {acc.conversion}, cuda_nosat);
  const auto value = decode(acc.output, rounded);
  return value.is_zero() ? 0 : encode(acc.stored, value, {}, cuda_nosat);
}

template <class A, class B>
ZEROULP_HD constexpr special_sum find_specials(const A& a, const B& b,
                                               int count, const unpacked& c) {
  special_sum found;
  found.take(c.kind, c.negative);
  for (int k = 0; k < count; ++k) {
    const unpacked x = a[k];
    const unpacked y = b[k];
    if (x.is_finite() && y.is_finite()) continue;
    const auto xy = product(x, y);
    found.take(xy.kind, xy.negative);
  }
  return found;
}

/// One accumulator step over `count` <= L products; the rest count as zeros.
template <class A, class B>
ZEROULP_HD constexpr std::uint64_t accumulate(const path& p, const A& a,
                                              const B& b, int count,
                                              std::uint64_t c_code) {
  const accumulator& acc = p.acc;
  const unpacked stored_c = decode(acc.stored, c_code);
  const special_sum found = find_specials(a, b, count, stored_c);
  if (found.any()) {
    const bool nan = found.nan || (found.plus && found.minus);
    return nan ? nan_code(acc.stored, false, cuda_nosat)
               : acc.stored.infinity_code() |
                     (found.minus ? acc.stored.sign_mask() : 0);
  }
  const bool last = acc.c == addend::last;
  const unpacked c = last ? unpacked{} : stored_c;
  const std::uint64_t result =
      acc.fraction_bits == uncut
          ? convert_sum(acc, exact_sum(p, a, b, count, c))
          : convert_sum(acc, aligned_sum(p, a, b, count, c));
  if (!last) return result;
  return convert_sum(acc,
                     sum(decode(acc.stored, result), stored_c, acc.conversion));
}

/// The FP16 operands of every fourth pair of k: those with k mod 4 equal to
/// `first` and first + 1. `x` is indexed as the FP8 operand.
template <class X>
struct fp16_pairs {
  const X& x;
  int first;

  ZEROULP_HD constexpr unpacked operator[](int i) const {
    const unpacked value = x[i / 2 * 4 + i % 2 + first];
    // NaN and Inf survive as such; numbers are exact in FP16.
    return decode(fp16, encode(fp16, value, {}, cuda_nosat));
  }
};

/// How many of `count` products have k mod 4 equal to `first` or first + 1.
ZEROULP_HD constexpr int pairs_below(int count, int first) {
  const int rest = count % 4 - first;
  return count / 4 * 2 + (rest < 0 ? 0 : rest > 2 ? 2 : rest);
}

template <class A, class B>
ZEROULP_HD constexpr std::uint64_t lowered_step(const path& p, const A& a,
                                                const B& b, int count,
                                                std::uint64_t c) {
  const path hmma{fp16, fp16, p.acc};
  const format f = p.acc.stored;
  const auto half = [&](int first, std::uint64_t from) {
    return accumulate(hmma, fp16_pairs<A>{a, first}, fp16_pairs<B>{b, first},
                      pairs_below(count, first), from);
  };
  const std::uint64_t first = half(0, 0);
  if (p.lowering == lowering::hmma_chained) return add(f, c, half(2, first));
  return add(f, c, add(f, first, half(2, 0)));
}

}  // namespace detail

/// Returns D of one instruction step: codes of p.acc.stored. `a` and `b` are
/// indexed from 0 to count - 1 and give unpacked values of p.a and p.b;
/// count <= p.length() (or any, where that is 0), and what is missing counts as
/// zero.
template <class A, class B>
ZEROULP_HD constexpr std::uint64_t step(const path& p, const A& a, const B& b,
                                        int count, std::uint64_t c) {
  return p.lowering == lowering::direct
             ? detail::accumulate(p, a, b, count, c)
             : detail::lowered_step(p, a, b, count, c);
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_ACCUMULATE_HPP_
