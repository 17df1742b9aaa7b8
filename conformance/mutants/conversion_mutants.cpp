// Faults of rounding and conversion. Those of the regression museum (faults
// that have been shipped somewhere) are marked.

#include "conformance/mutants/mutant.hpp"

namespace zeroulp::conformance {
namespace {

using recode_function = decltype(implementation::recode);

constexpr std::uint64_t fp32_nan = 0x7fffffff;

bool is_nearest(rounder r) { return r.mode == rounding::nearest_even; }

std::uint64_t magnitude_of(format f, std::uint64_t code) {
  return code & f.magnitude_mask();
}

bool is_subnormal(format f, std::uint64_t code) {
  const std::uint64_t m = magnitude_of(f, code);
  return f.has_sign() && m != 0 && m < std::uint64_t{1} << f.man_bits;
}

/// Rounds by `Mode` where nearest-even is asked for.
template <rounding Mode>
std::uint64_t instead_of_nearest(format from, std::uint64_t code, format to,
                                 rounder r, policy p) {
  if (is_nearest(r)) r.mode = Mode;
  return recode(from, code, to, r, p);
}

/// Museum: double rounding.
template <int ManBits>
std::uint64_t twice(format from, std::uint64_t code, format to, rounder r,
                    policy p) {
  const format through = ManBits == 10 ? fp16 : fp32;
  if (to.man_bits >= ManBits || from.man_bits <= ManBits) {
    return recode(from, code, to, r, p);
  }
  const auto first = recode(from, code, through, r, cuda_nosat);
  return recode(through, first, to, r, p);
}

/// Museum: FTZ.
std::uint64_t flush_inputs(format from, std::uint64_t code, format to,
                           rounder r, policy p) {
  if (is_subnormal(from, code)) code &= from.sign_mask();
  return recode(from, code, to, r, p);
}

std::uint64_t flush_results(format from, std::uint64_t code, format to,
                            rounder r, policy p) {
  const auto result = recode(from, code, to, r, p);
  if (!is_subnormal(to, result)) return result;
  return to.kind == specials::fnuz ? 0 : result & to.sign_mask();
}

/// Museum: E5M6 subnormals rounded at the bit where a normal number ends.
std::uint64_t subnormals_at_wrong_bit(format from, std::uint64_t code,
                                      format to, rounder r, policy p) {
  const auto result = recode(from, code, to, r, p);
  if (to != e5m6 || !is_subnormal(to, result)) return result;
  const format unbounded{8, to.man_bits, 127, specials::ieee};
  const auto rounded = recode(from, code, unbounded, r, p);
  return recode(unbounded, rounded, to, {rounding::toward_zero}, p);
}

std::uint64_t overflow_above_max(format from, std::uint64_t code, format to,
                                 rounder r, policy p) {
  const unpacked x = decode(from, code);
  const auto result = encode(to, x, r, p);
  if (p.saturate_finite || magnitude_of(to, result) != to.max_code()) {
    return result;
  }
  unpacked max = decode(to, result);
  max.negative = !max.negative;
  const auto rest = sum(x, max, rounding::nearest_even);
  const bool beyond = !rest.is_zero() && rest.negative == x.negative;
  if (!is_nearest(r) || !beyond) return result;
  return encode(to, unpacked{0, 0, kind::infinite, x.negative}, r, p);
}

/// Museum: a NaN becomes -448.
std::uint64_t nan_to_lowest(format from, std::uint64_t code, format to,
                            rounder r, policy p) {
  if (to.kind == specials::fn && decode(from, code).is_nan()) {
    return to.sign_mask() | to.max_code();
  }
  return recode(from, code, to, r, p);
}

std::uint64_t nan_to_max(format from, std::uint64_t code, format to, rounder r,
                         policy p) {
  if (p.saturate_finite && decode(from, code).is_nan()) return to.max_code();
  return recode(from, code, to, r, p);
}

template <bool Keep>
std::uint64_t nan_sign(format from, std::uint64_t code, format to, rounder r,
                       policy p) {
  p.nan_sign = Keep;
  return recode(from, code, to, r, p);
}

std::uint64_t payload_quiet(format from, std::uint64_t code, format to,
                            rounder r, policy p) {
  p.payload = nan_payload::quiet;
  return recode(from, code, to, r, p);
}

std::uint64_t infinity_saturates(format from, std::uint64_t code, format to,
                                 rounder r, policy p) {
  p.saturate_infinite = p.saturate_infinite || p.saturate_finite;
  return recode(from, code, to, r, p);
}

std::uint64_t infinity_stays(format from, std::uint64_t code, format to,
                             rounder r, policy p) {
  p.saturate_infinite = false;
  return recode(from, code, to, r, p);
}

std::uint64_t no_negative_zero(format from, std::uint64_t code, format to,
                               rounder r, policy p) {
  const auto result = recode(from, code, to, r, p);
  const bool zero = to.kind != specials::fnuz && to.has_sign() &&
                    magnitude_of(to, result) == 0;
  return zero ? 0 : result;
}

std::uint64_t fnuz_negative_zero(format from, std::uint64_t code, format to,
                                 rounder r, policy p) {
  const unpacked x = decode(from, code);
  const auto result = encode(to, x, r, p);
  const bool zero = to.kind == specials::fnuz && result == 0 && x.negative;
  return zero ? to.sign_mask() : result;
}

/// Museum: E5M6's carry out of the NaN with all bits set.
std::uint64_t e5m6_nan_wraps(format from, std::uint64_t code, format to,
                             rounder r, policy p) {
  if (from == fp32 && to == e5m6 && code == fp32_nan) return to.sign_mask();
  return recode(from, code, to, r, p);
}

std::uint64_t stochastic_off_by_one(format from, std::uint64_t code, format to,
                                    rounder r, policy p) {
  if (r.random != 0xffffffff) ++r.random;
  return recode(from, code, to, r, p);
}

/// Takes every inexact result for odd rounding's magnitude plus one.
std::uint64_t odd_rounds_away(format from, std::uint64_t code, format to,
                              rounder r, policy p) {
  if (r.mode == rounding::to_odd) {
    r.mode = decode(from, code).negative ? rounding::down : rounding::up;
  }
  return recode(from, code, to, r, p);
}

std::uint64_t directed_by_magnitude(format from, std::uint64_t code, format to,
                                    rounder r, policy p) {
  if (decode(from, code).negative) {
    if (r.mode == rounding::up) {
      r.mode = rounding::down;
    } else if (r.mode == rounding::down) {
      r.mode = rounding::up;
    }
  }
  return recode(from, code, to, r, p);
}

std::uint64_t directed_overflow(format from, std::uint64_t code, format to,
                                rounder r, policy p) {
  const auto result = recode(from, code, to, r, p);
  const unpacked x = decode(from, code);
  if (p.saturate_finite || !x.is_finite() || is_nearest(r)) return result;
  const auto nearest = encode(to, x, {}, p);
  return magnitude_of(to, nearest) > to.max_code() ? nearest : result;
}

template <rounding Mode>
std::uint64_t scale_rounds(format from, std::uint64_t code, format to,
                           rounder r, policy p) {
  if (to.kind == specials::scale && is_nearest(r)) r.mode = Mode;
  return recode(from, code, to, r, p);
}

std::uint64_t scale_of_zero_is_nan(format from, std::uint64_t code, format to,
                                   rounder r, policy p) {
  if (to.kind == specials::scale && decode(from, code).is_zero()) {
    return to.magnitude_mask();
  }
  return recode(from, code, to, r, p);
}

unpacked decode_without_nan(format f, std::uint64_t code) {
  if (f.kind == specials::fn) f.kind = specials::finite;
  return decode(f, code);
}

unpacked decode_subnormal_low(format f, std::uint64_t code) {
  unpacked x = decode(f, code);
  if (is_subnormal(f, code) && x.kind == kind::finite) --x.exponent;
  return x;
}

/// The value is right, its place is not.
unpacked decode_normalized(format f, std::uint64_t code) {
  unpacked x = decode(f, code);
  if (x.kind != kind::finite) return x;
  const int shift = f.man_bits - msb(x.significand);
  x.significand <<= shift;
  x.exponent -= shift;
  return x;
}

mutant converts(const char* name, const char* what, recode_function f) {
  return core_but(name, what, &implementation::recode, f);
}

mutant decodes(const char* name, const char* what,
               decltype(implementation::decode) f) {
  return core_but(name, what, &implementation::decode, f);
}

}  // namespace

mutant_list conversion_mutants() {
  return {
      converts("ties_away", "as if ties went away from zero",
               instead_of_nearest<rounding::nearest_away>),
      converts("truncation", "as if cut toward zero",
               instead_of_nearest<rounding::toward_zero>),
      converts("odd_for_nearest", "as if rounded to odd",
               instead_of_nearest<rounding::to_odd>),
      converts("twice_through_fp16", "as if rounded twice, through FP16 first",
               twice<10>),
      converts("twice_through_fp32", "as if rounded twice, through FP32 first",
               twice<23>),
      converts("ftz_inputs", "as if subnormal inputs were zero", flush_inputs),
      converts("ftz_results", "as if subnormal results were zero",
               flush_results),
      converts("e5m6_subnormal_bit",
               "as if E5M6 subnormals were rounded at a normal number's bit",
               subnormals_at_wrong_bit),
      converts("overflow_above_max",
               "as if everything above the largest number overflowed",
               overflow_above_max),
      converts("nan_to_lowest", "as if NaN were the most negative number",
               nan_to_lowest),
      converts("nan_to_max", "as if NaN were clamped to the largest number",
               nan_to_max),
      converts("nan_sign_lost", "as if NaN lost its sign", nan_sign<false>),
      converts("nan_sign_kept", "as if NaN kept its sign", nan_sign<true>),
      converts("nan_payload_quiet", "as if NaN had its highest bit only",
               payload_quiet),
      converts("infinity_saturates", "as if Inf saturated like numbers",
               infinity_saturates),
      converts("infinity_stays", "as if Inf never saturated", infinity_stays),
      converts("negative_zero_lost", "as if -0 were +0", no_negative_zero),
      converts("fnuz_negative_zero", "as if -0 had a code in fnuz formats",
               fnuz_negative_zero),
      converts("e5m6_nan_wraps", "as if E5M6 carried NaN 0x7fffffff into -0",
               e5m6_nan_wraps),
      converts("stochastic_off_by_one",
               "as if the stochastic threshold were one lower",
               stochastic_off_by_one),
      converts("odd_rounds_away", "as if to_odd were away from zero",
               odd_rounds_away),
      converts("directed_by_magnitude", "as if up and down meant magnitudes",
               directed_by_magnitude),
      converts("directed_overflow",
               "as if directed modes overflowed like nearest-even",
               directed_overflow),
      converts("scale_rounds_up", "as if ue8m0 were rounded up",
               scale_rounds<rounding::up>),
      converts("scale_rounds_down", "as if ue8m0 were rounded down",
               scale_rounds<rounding::toward_zero>),
      converts("scale_of_zero_nan", "as if ue8m0 of 0 were NaN",
               scale_of_zero_is_nan),
      decodes("decode_no_nan", "as if fn formats had no NaN",
              decode_without_nan),
      decodes("decode_subnormal_low",
              "as if subnormals had one exponent less than the least normal",
              decode_subnormal_low),
      decodes("decode_normalized", "as if subnormals were normalised",
              decode_normalized),
  };
}

}  // namespace zeroulp::conformance
