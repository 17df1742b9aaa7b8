// Defines the random inputs of a tensor-core step, for host and device: pairs
// of operand codes, and c.
//
// Operands are drawn in pairs because a sum cancels only if the product at k
// and its partner's cancel. All rows of A meet all rows of B in one matrix
// product, so that no closer match of A and B is possible.

#ifndef ZEROULP_CONFORMANCE_DEVICE_SUPPORT_OPERANDS_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SUPPORT_OPERANDS_HPP_

#include "zeroulp/core/accumulate.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {

enum class family : std::uint8_t {
  bits,        ///< any code
  finite,      ///< any finite code: the whole range of exponents
  normal,      ///< about N(0, 1)
  sparse,      ///< mostly zeros, of both signs
  tiny,        ///< products near and below the smallest place of the result
  cancelling,  ///< k and its partner cancel, exactly or except a last bit
  spread,      ///< shifts on both sides of every F
  huge,        ///< products and sums near and beyond overflow
  specials,    ///< now and then Inf, NaN, zero
  ties,        ///< the smallest FP16 results' midpoints, missed by last bits
};
inline constexpr int families = 10;
inline constexpr const char* family_names[families] = {
    "bits",       "finite", "normal", "sparse",   "tiny",
    "cancelling", "spread", "huge",   "specials", "ties",
};

enum class side : std::uint8_t { a, b };

struct code_pair {
  std::uint32_t first;
  std::uint32_t second;
};

/// Returns the code of the given exponent, kept within the range of `f`.
ZEROULP_HD constexpr std::uint32_t code_of(format f, bool negative,
                                           int exponent,
                                           std::uint64_t fraction) {
  const int biased = exponent + f.bias < 0 ? 0 : exponent + f.bias;
  std::uint64_t magnitude = (static_cast<std::uint64_t>(biased) << f.man_bits) |
                            (fraction & low_bits(f.man_bits));
  if (magnitude > f.max_code()) magnitude = f.max_code();
  return static_cast<std::uint32_t>(magnitude | (negative ? f.sign_mask() : 0));
}

/// Returns a code of about N(0, 1).
ZEROULP_HD constexpr std::uint32_t normal_code(format f, counter_rng& rng) {
  const std::uint64_t r = rng.next();
  const auto part = [r](int i) {
    return static_cast<std::int64_t>(r >> (16 * i) & 0xffff);
  };
  const std::int64_t sum = part(0) + part(1) + part(2) + part(3) - 131070;
  if (sum == 0) return 0;
  const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  return static_cast<std::uint32_t>(
      encode(f, unpacked{magnitude, -15, kind::finite, sum < 0}));
}

/// Returns Inf or NaN of either sign and any payload.
ZEROULP_HD constexpr std::uint32_t special_code(format f, counter_rng& rng) {
  const std::uint64_t sign = rng.one_in(2) ? f.sign_mask() : 0;
  const bool infinite = f.has_infinity() && !rng.one_in(4);
  const auto spread =
      static_cast<std::uint32_t>(f.magnitude_mask() - f.max_code());
  return static_cast<std::uint32_t>(
      sign |
      (infinite ? f.infinity_code() : f.max_code() + 1 + rng.below(spread)));
}

ZEROULP_HD constexpr std::uint32_t operand_code(family how, format f,
                                                counter_rng& rng) {
  const std::uint32_t r = rng.next32();
  const bool negative = (r & 1) != 0;
  const std::uint32_t fraction = r >> 8;
  const bool wide_range = f.exp_bits == 8;
  switch (how) {
    case family::bits:
      return static_cast<std::uint32_t>(r & low_bits(f.bits()));
    case family::finite:
      return rng.below(static_cast<std::uint32_t>(f.max_code()) + 1) |
             static_cast<std::uint32_t>(negative ? f.sign_mask() : 0);
    case family::sparse:
      if (!rng.one_in(4)) return code_of(f, negative, -4096, 0);
      return normal_code(f, rng);
    case family::tiny:
      // One factor at the bottom of BF16's or TF32's range makes a product far
      // below any result, so most factors are larger.
      if (wide_range && !rng.one_in(8)) {
        return code_of(f, negative, rng.between(-78, -58), fraction);
      }
      return code_of(f, negative, rng.between(0, 2) - f.bias, fraction);
    case family::cancelling:
      return code_of(f, negative, rng.between(-3, 3), fraction);
    case family::spread:
      return code_of(f, negative, rng.between(-15, 15), fraction);
    case family::huge: {
      const int top = wide_range ? 64 : (1 << f.exp_bits) - 1 - f.bias;
      const int exponent = top - rng.between(0, 3);
      return code_of(f, rng.one_in(8), exponent, fraction);
    }
    case family::specials:
      if (rng.one_in(48)) return special_code(f, rng);
      if (rng.one_in(16)) return code_of(f, negative, -4096, 0);
      break;
    case family::ties:
      return code_of(f, negative, -4096, fraction & 7);
    case family::normal:
      break;
  }
  return normal_code(f, rng);
}

/// Returns the codes at k and at its partner, pair number `pair` of a row.
ZEROULP_HD constexpr code_pair operand_codes(family how, side at, format f,
                                             int pair, counter_rng& rng) {
  if (how == family::ties && pair == 0) {
    // Products from 2^-26 to 1.5 * 2^-23, around half of 2^-24; the others are
    // below 2^-42, where FP16's exponent floor decides.
    const int exponent =
        at == side::a ? rng.between(-12, -10) : rng.between(-14, -13);
    const std::uint64_t half = std::uint64_t{1} << f.man_bits >> 1;
    const bool more = at == side::a && rng.one_in(2);
    return {code_of(f, rng.one_in(2), exponent, more ? half : 0), 0};
  }
  const std::uint32_t first = operand_code(how, f, rng);
  if (how != family::cancelling) return {first, operand_code(how, f, rng)};
  const bool off = rng.one_in(6);
  const auto sign =
      static_cast<std::uint32_t>(at == side::a ? f.sign_mask() : 0);
  return {first, first ^ sign ^ (off ? 1 : 0)};
}

/// Returns c for a step over operands `a` and `b` (unpacked, `count` of them).
template <class A, class B>
ZEROULP_HD constexpr std::uint64_t addend_code(const path& p, const A& a,
                                               const B& b, int count,
                                               counter_rng& rng) {
  const format f = p.acc.stored;
  const std::uint64_t r = rng.next();
  const bool negative = (r & 1) != 0;
  const std::uint64_t fraction = r >> 8;
  switch (rng.below(16)) {
    case 0:
    case 1:
      return 0;
    case 2:
      return f.sign_mask();
    case 3:
    case 4:
      return fraction & low_bits(f.bits());
    case 5:
      return code_of(f, negative, -4096, fraction);  // subnormal
    case 6:
      return code_of(f, negative, 4096, 0) - (fraction & 3);  // the largest
    case 7:
      return special_code(f, rng);
    case 8:
    case 9:
      return normal_code(f, rng);
    default:
      break;
  }
  // An exponent above or below that of one of the products.
  const int k = static_cast<int>(rng.below(static_cast<std::uint32_t>(count)));
  const unpacked x = a[k];
  const unpacked y = b[k];
  const int place = x.exponent + y.exponent + p.a.man_bits + p.b.man_bits;
  return code_of(f, negative, place + rng.between(-28, 28), fraction);
}

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_SUPPORT_OPERANDS_HPP_
