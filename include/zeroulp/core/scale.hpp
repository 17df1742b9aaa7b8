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
    case scale_kind::ocp:
      return down;
    case scale_kind::float32:
    case scale_kind::pow2_down:
      break;
  }
  return floor;
}

/// The same of log2(x).
ZEROULP_HD constexpr int integer_log2(const unpacked& x, scale_kind how) {
  return integer_log2(x, decode(fp32, fp32_one), how);
}

/// Returns fl(log2(s)) of a positive FP32 number as an integer: rounded up or
/// down; to nearest, that of log2(s) itself.
///
/// Both lie between the same integers, but where fl(log2(s)) is one, n: where s
/// = 2^n (1 + d) and |log2(1 + d)| is less than half the distance of FP32
/// numbers at n. There d is so small that it is log(2) times that. No tie is
/// possible: the logarithm is irrational or an integer.
ZEROULP_HD constexpr int rounded_log2(std::uint32_t s, scale_kind how) {
  const unpacked x = decode(fp32, s);
  const int n = integer_log2(x, scale_kind::pow2_nearest);
  if (n == 0) return integer_log2(x, how);
  // |d| in units of 2^-24.
  constexpr std::uint64_t unit = std::uint64_t{1} << 24;
  const std::uint64_t scaled = x.significand << (x.exponent - n + 24);
  const bool above = scaled > unit;
  const std::uint64_t d = above ? scaled - unit : unit - scaled;
  const auto size = static_cast<std::uint64_t>(n < 0 ? -n : n);
  // Towards 0 the distance at a power of two is half of that away from it.
  const bool half = above == (n < 0) && (size & (size - 1)) == 0;
  constexpr std::uint64_t log_2 = 11629080;  // 2^24 log(2)
  return d << 25 < log_2 << (msb(size) + (half ? 0 : 1)) ? n
                                                         : integer_log2(x, how);
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

/// The convention's largest number, if the format has it, or the format's: FP32
/// bits.
ZEROULP_HD constexpr std::uint32_t largest_of(const quantizer& q) {
  const std::uint32_t own = q.how.largest;
  const bool has_it = recode(q.to, recode(fp32, own, q.to), fp32) == own;
  return own > 0 && has_it ? own : max_as_fp32(q.to);
}

/// Returns e within UE8M0's range: -127 to 127.
ZEROULP_HD constexpr int clamp_exponent(int e) {
  return e < -127 ? -127 : e > 127 ? 127 : e;
}

/// Returns e = log2(amax / max) as an integer within that range. `amax` is
/// finite and positive.
ZEROULP_HD constexpr int pow2_exponent(std::uint32_t amax, format to,
                                       scale_kind kind) {
  return clamp_exponent(
      integer_log2(decode(fp32, amax), decode(to, to.max_code()), kind));
}

/// Returns e of the power-of-two scale 2^e of a group. `amax` is finite and
/// positive, `s` its FP32 scale.
ZEROULP_HD constexpr int pow2_exponent(const quantizer& q, std::uint32_t amax,
                                       std::uint32_t s) {
  if (q.how.exponent == exponent_rule::exact || q.scale == scale_kind::ocp) {
    const int e =
        integer_log2(decode(fp32, amax), decode(fp32, largest_of(q)), q.scale);
    if (q.how.scale_floor == 0) return clamp_exponent(e);
    const int least = integer_log2(decode(fp32, q.how.scale_floor), q.scale);
    return clamp_exponent(e < least ? least : e);
  }
  if (s == 0) return -127;
  if (s >= fp32_infinity) return 127;
  return clamp_exponent(q.how.exponent == exponent_rule::of_scale
                            ? integer_log2(decode(fp32, s), q.scale)
                            : rounded_log2(s, q.scale));
}

/// Returns the scale of a group whose amax is the FP32 number `amax` >= 0.
ZEROULP_HD constexpr group_scale make_scale(const quantizer& q,
                                            std::uint32_t amax) {
  using detail::fl_divide;
  using detail::fl_multiply;
  const convention& how = q.how;
  const auto rounded = [&how](std::uint32_t x) {
    if (!how.bf16_scale) return x;
    const auto code = recode(fp32, x, bf16, {}, cuda_nosat);
    return static_cast<std::uint32_t>(recode(bf16, code, fp32, {}, cuda_nosat));
  };
  const bool is_nan = amax > fp32_infinity;
  if (!is_nan && amax < how.amax_floor) amax = how.amax_floor;
  if ((amax == 0 && how.edges.unit_of_zero) ||
      (amax == fp32_infinity && how.edges.unit_of_infinity) ||
      (is_nan && how.edges.unit_of_nan)) {
    return {fp32_one, fp32_one};
  }
  const std::uint32_t max = largest_of(q);
  std::uint32_t inverse =
      how.scale == scale_rule::reciprocal_product
          ? rounded(fl_multiply(max, rounded(fl_divide(fp32_one, amax))))
          : rounded(fl_divide(max, amax));
  if (how.edges.finite_inverse && inverse == fp32_infinity) {
    inverse = max_as_fp32(q.from);
  }
  std::uint32_t s =
      how.scale == scale_rule::quotient ? rounded(fl_divide(amax, max))
      : how.scale == scale_rule::times_reciprocal
          ? rounded(fl_multiply(amax, rounded(fl_divide(fp32_one, max))))
          : rounded(fl_divide(fp32_one, inverse));
  if (s < how.scale_floor) s = how.scale_floor;
  if (q.scale != scale_kind::float32 && amax != 0 && amax < fp32_infinity) {
    const int e = pow2_exponent(q, amax, s);
    return {pow2_as_fp32(e),
            how.unrounded_inverse ? inverse : pow2_as_fp32(-e)};
  }
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
static_assert(largest_of({fp32, e4m3fnuz, vllm_fnuz_convention,
                          scale_kind::float32}) == 0x43600000);
static_assert(largest_of({fp32, e2m1, vllm_fnuz_convention,
                          scale_kind::float32}) == 0x40c00000);
static_assert(scale_of_ours(scale_kind::ocp, 0x3ff13cf1) == 0x3b800000);
// The last FP32 number whose logarithm rounds to 10, and the next.
static_assert(rounded_log2(0x44800002, scale_kind::pow2) == 10);
static_assert(rounded_log2(0x44800003, scale_kind::pow2) == 11);

}  // namespace detail

}  // namespace zeroulp

#endif  // ZEROULP_CORE_SCALE_HPP_
