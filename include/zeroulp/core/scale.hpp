// Defines amax -> scale: the stored FP32 scale of a group, and the factor that
// some conventions multiply elements by instead of dividing.
//
// Source: SPEC clauses Q1 to Q6, Q12 and Q13. All FP32 values here travel as
// their bits.

#ifndef ZEROULP_CORE_SCALE_HPP_
#define ZEROULP_CORE_SCALE_HPP_

#include "zeroulp/core/convention.hpp"

namespace zeroulp {

inline constexpr std::uint32_t fp32_one = 0x3f800000;
inline constexpr std::uint32_t fp32_max = 0x7f7fffff;
inline constexpr std::uint32_t fp32_infinity = 0x7f800000;
inline constexpr std::uint32_t fp32_nan = 0x7fffffff;

namespace detail {

ZEROULP_HD constexpr std::uint32_t fl_multiply(std::uint32_t a,
                                               std::uint32_t b) {
  return static_cast<std::uint32_t>(multiply(fp32, a, b));
}
ZEROULP_HD constexpr std::uint32_t fl_divide(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(divide(fp32, a, b));
}
ZEROULP_HD constexpr std::uint32_t fl_add(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(add(fp32, a, b));
}
ZEROULP_HD constexpr std::uint32_t fl_fma(std::uint32_t a, std::uint32_t b,
                                          std::uint32_t c) {
  return static_cast<std::uint32_t>(fma(fp32, a, b, c));
}

}  // namespace detail

/// The largest finite value of `f` as FP32 bits (every 8- to 32-bit format has
/// one there).
ZEROULP_HD constexpr std::uint32_t max_as_fp32(format f) {
  return static_cast<std::uint32_t>(recode(f, f.max_code(), fp32));
}

/// Returns the bits of 2^e, which must be within FP32's range: -149 to 127.
ZEROULP_HD constexpr std::uint32_t pow2_as_fp32(int e) {
  return static_cast<std::uint32_t>(
      encode(fp32, unpacked{1, e, kind::finite, false}));
}

/// Returns log2(x / y) of finite, nonzero magnitudes as an integer: rounded up,
/// down, or to nearest (no tie is possible: a ratio that is an odd power of
/// sqrt(2) is irrational).
ZEROULP_HD constexpr int integer_log2(const unpacked& x, const unpacked& y,
                                      scale_kind how) {
  const int xm = msb(x.significand);
  const int ym = msb(y.significand);
  const int down = (xm + x.exponent) - (ym + y.exponent);
  // The ratio is 2^down * (a / b), a and b with the same highest bit.
  const int top = xm > ym ? xm : ym;
  const std::uint64_t a = x.significand << (top - xm);
  const std::uint64_t b = y.significand << (top - ym);
  const int floor = a >= b ? down : down - 1;
  switch (how) {
    case scale_kind::pow2:
      return a == b ? down : floor + 1;
    case scale_kind::pow2_nearest: {
      // a / b in (1/2, 2): compare its square with 2 or with 1/2.
      const auto aa = multiply(a, a);
      const auto bb = multiply(b, b);
      if (a >= b) return compare(aa, bb + bb) > 0 ? down + 1 : down;
      return compare(aa + aa, bb) > 0 ? down : down - 1;
    }
    case scale_kind::float32:
    case scale_kind::pow2_down:
      break;
  }
  return floor;
}

/// The shape of the groups that share a scale; 0: the whole dimension.
struct group_shape {
  std::int32_t rows;
  std::int32_t cols;
  friend constexpr bool operator==(const group_shape&,
                                   const group_shape&) = default;

  ZEROULP_HD constexpr std::ptrdiff_t height(std::ptrdiff_t m) const {
    return rows > 0 ? rows : m > 0 ? m : 1;
  }
  ZEROULP_HD constexpr std::ptrdiff_t width(std::ptrdiff_t n) const {
    return cols > 0 ? cols : n > 0 ? n : 1;
  }
};

/// A quantizer as a value: input format (fp32, bf16, fp16), code format,
/// convention, kind of scale, groups.
struct quantizer {
  format from;
  format to;
  convention how;
  scale_kind scale;
  group_shape group{};
};

/// The scale of a group: what is stored, and what elements may be multiplied
/// by.
struct group_scale {
  std::uint32_t scale;
  std::uint32_t inverse;
};

/// Returns 2^e with e = log2(amax / max) as an integer, kept within -127 to 127
/// (UE8M0). `amax` is finite and positive.
ZEROULP_HD constexpr int pow2_exponent(std::uint32_t amax, format to,
                                       scale_kind kind) {
  const int e =
      integer_log2(decode(fp32, amax), decode(to, to.max_code()), kind);
  return e < -127 ? -127 : e > 127 ? 127 : e;
}

/// Returns the scale of a group whose amax is the FP32 number `amax` >= 0.
ZEROULP_HD constexpr group_scale make_scale(const quantizer& q,
                                            std::uint32_t amax) {
  using detail::fl_divide;
  using detail::fl_multiply;
  const convention& how = q.how;
  const bool is_nan = amax > fp32_infinity;
  if (!is_nan && amax < how.amax_floor) amax = how.amax_floor;
  if ((amax == 0 && how.edges.unit_of_zero) ||
      (amax == fp32_infinity && how.edges.unit_of_infinity)) {
    return {fp32_one, fp32_one};
  }
  const std::uint32_t max = max_as_fp32(q.to);
  if (q.scale != scale_kind::float32 && amax != 0 && amax < fp32_infinity) {
    const int e = pow2_exponent(amax, q.to, q.scale);
    return {pow2_as_fp32(e), pow2_as_fp32(-e)};
  }
  std::uint32_t inverse = fl_divide(max, amax);
  if (how.edges.finite_inverse && inverse == fp32_infinity) {
    inverse = max_as_fp32(q.from);
  }
  const std::uint32_t s = how.scale == scale_rule::quotient
                              ? fl_divide(amax, max)
                          : how.scale == scale_rule::times_reciprocal
                              ? fl_multiply(amax, fl_divide(fp32_one, max))
                              : fl_divide(fp32_one, inverse);
  return {how.edges.positive && s == 0 ? 1 : s, inverse};
}

/// Delayed scaling: which amax of the past a tensor's scale comes from.
enum class history_rule : std::uint8_t {
  maximum,         ///< the largest of the history
  moving_average,  ///< m = amax[0]; m = fma(decay, m - amax[i], amax[i]), FP32
};

/// Returns the amax for a scale from `count` previous amaxes, oldest first,
/// FP32 bits; with none, the current one. `decay` is FP32 bits, used by the
/// moving average.
ZEROULP_HD constexpr std::uint32_t delayed_amax(const std::uint32_t* history,
                                                std::ptrdiff_t count,
                                                std::uint32_t current,
                                                history_rule rule,
                                                std::uint32_t decay) {
  if (count <= 0) return current;
  std::uint32_t m = history[0];
  for (std::ptrdiff_t i = 1; i < count; ++i) {
    const std::uint32_t x = history[i];
    if (rule == history_rule::maximum) {
      m = x > m ? x : m;  // bits of nonnegative floats are ordered
    } else {
      const auto difference = static_cast<std::uint32_t>(subtract(fp32, m, x));
      m = detail::fl_fma(decay, difference, x);
    }
  }
  return m > fp32_infinity ? fp32_nan : m;
}

static_assert(max_as_fp32(e4m3) == 0x43e00000);
namespace detail {

ZEROULP_HD constexpr std::uint32_t scale_of_ours(scale_kind kind,
                                                 std::uint32_t amax) {
  return make_scale({fp32, e4m3, zeroulp_convention, kind}, amax).scale;
}
static_assert(scale_of_ours(scale_kind::float32, 0) == fp32_one);
static_assert(scale_of_ours(scale_kind::pow2, 0x43e00000) == fp32_one);
static_assert(scale_of_ours(scale_kind::pow2, 0x43e00001) == 0x40000000);

}  // namespace detail

}  // namespace zeroulp

#endif  // ZEROULP_CORE_SCALE_HPP_
