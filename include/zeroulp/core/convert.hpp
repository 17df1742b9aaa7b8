// Defines conversion between codes and exact values, with ONE rounding:
//
//   decode(format, code) -> unpacked            exact
//   encode(format, number, rounder, policy)     rounds once
//   recode(from, code, to, rounder, policy)     decode, then encode
//
// Source: OCP FP8 1.0 table 1 and 2, IEEE 754 clause 5.4, SPEC clauses C1 to C9
// and C11. What correct libraries disagree on (overflow, Inf, NaN codes) is a
// `policy`.

#ifndef ZEROULP_CORE_CONVERT_HPP_
#define ZEROULP_CORE_CONVERT_HPP_

#include "zeroulp/core/format.hpp"
#include "zeroulp/core/round.hpp"
#include "zeroulp/core/unpacked.hpp"

namespace zeroulp {

/// What NaN becomes: which NaN code of a format with several, or a number.
enum class nan_payload : std::uint8_t {
  quiet,     ///< only the highest fraction bit set
  all_ones,  ///< every fraction bit set
  lowest,    ///< the lowest number: fminf(fmaxf(v, -max), max) of a NaN
  largest,   ///< the largest number: fmaxf(fminf(v, max), -max) of a NaN
};

/// What becomes of values that a format cannot hold. Without Inf, "becomes Inf"
/// reads "becomes NaN, with the sign of the value"; a format with neither
/// always saturates, and a NaN gives its largest finite number, positive.
struct policy {
  bool saturate_finite;    ///< a finite value beyond the range: largest finite
  bool saturate_infinite;  ///< Inf: largest finite
  bool nan_sign;           ///< a NaN code keeps the sign; else it is positive
  nan_payload payload;
  bool scale_magnitude;  ///< ue8m0 of a negative value: of |x|; else NaN

  friend constexpr bool operator==(const policy&, const policy&) = default;
};

inline constexpr policy ocp_saturate{true, true, true, nan_payload::quiet,
                                     false};
inline constexpr policy ocp_nonsaturate{false, false, true, nan_payload::quiet,
                                        false};
inline constexpr policy cuda_satfinite{true, true, false, nan_payload::all_ones,
                                       true};
inline constexpr policy cuda_nosat{false, false, false, nan_payload::all_ones,
                                   true};
/// Finite values saturate, Inf and NaN stay what they are: our quantizer's.
inline constexpr policy keep_specials{true, false, false, nan_payload::all_ones,
                                      false};
/// Kernels that clamp with fminf and fmaxf, which drop a NaN, and then convert
/// with .satfinite: NaN becomes the bound that the inner call has.
inline constexpr policy clamp_nan_to_lowest{true, true, false,
                                            nan_payload::lowest, true};
inline constexpr policy clamp_nan_to_largest{true, true, false,
                                             nan_payload::largest, true};

struct named_policy {
  const char* name;
  policy value;
};

inline constexpr named_policy named_policies[] = {
    {"ocp_saturate", ocp_saturate},
    {"ocp_nonsaturate", ocp_nonsaturate},
    {"cuda_satfinite", cuda_satfinite},
    {"cuda_nosat", cuda_nosat},
    {"keep_specials", keep_specials},
    {"clamp_nan_to_lowest", clamp_nan_to_lowest},
    {"clamp_nan_to_largest", clamp_nan_to_largest},
};

/// Returns the NaN code of `f`, or the largest finite code if it has none.
ZEROULP_HD constexpr std::uint64_t nan_code(format f, bool negative, policy p) {
  const std::uint64_t sign = negative && p.nan_sign ? f.sign_mask() : 0;
  switch (f.kind) {
    case specials::ieee:
      return sign |
             (p.payload == nan_payload::quiet
                  ? f.infinity_code() | (std::uint64_t{1} << f.man_bits >> 1)
                  : f.magnitude_mask());
    case specials::fn:
      return sign | f.magnitude_mask();
    case specials::fnuz:
      return f.sign_mask();
    case specials::scale:
      return f.magnitude_mask();
    case specials::finite:
      break;
  }
  return f.max_code();
}

/// Returns what a NaN of this sign becomes: a NaN code, or a number.
ZEROULP_HD constexpr std::uint64_t encode_nan(format f, bool negative,
                                              policy p) {
  switch (p.payload) {
    case nan_payload::lowest:
      return f.has_sign() ? f.sign_mask() | f.max_code() : 0;
    case nan_payload::largest:
      return f.max_code();
    case nan_payload::quiet:
    case nan_payload::all_ones:
      break;
  }
  return nan_code(f, negative, p);
}

/// Returns the exact value of `code`, whose bits above f.bits() are ignored.
ZEROULP_HD constexpr unpacked decode(format f, std::uint64_t code) {
  const std::uint64_t magnitude = code & f.magnitude_mask();
  const bool negative = (code & f.sign_mask()) != 0;
  const auto special = [negative](kind k) {
    return unpacked{0, 0, k, negative};
  };
  if (f.kind == specials::fnuz && negative && magnitude == 0) {
    return special(kind::nan);
  }
  if (magnitude > f.max_code()) {
    const bool infinite = f.has_infinity() && magnitude == f.infinity_code();
    return special(infinite ? kind::infinite : kind::nan);
  }
  const std::uint64_t fraction = magnitude & low_bits(f.man_bits);
  const int biased = static_cast<int>(magnitude >> f.man_bits);
  if (f.kind == specials::scale) {
    return {1, biased - f.bias, kind::finite, false};
  }
  if (magnitude == 0) return special(kind::zero);
  if (biased == 0) {
    return {fraction, f.quantum_exponent(), kind::finite, negative};
  }
  return {fraction | (std::uint64_t{1} << f.man_bits),
          f.quantum_exponent() + biased - 1, kind::finite, negative};
}

/// Returns `x` rounded once to `f`. The code below the sign is a monotone
/// integer, so the truncated code plus one is the next number up.
template <class Significand>
ZEROULP_HD constexpr std::uint64_t encode(format f,
                                          const number<Significand>& x,
                                          rounder r = {},
                                          policy p = ocp_saturate) {
  if (x.is_nan()) return encode_nan(f, x.negative, p);
  const bool is_scale = f.kind == specials::scale;
  if (is_scale && x.negative && !x.is_zero() && !p.scale_magnitude) {
    return nan_code(f, x.negative, p);
  }
  const std::uint64_t sign = x.negative ? f.sign_mask() : 0;
  const std::uint64_t overflow =
      sign | (f.has_infinity() ? f.infinity_code()
              : f.has_nan()    ? nan_code(f, x.negative, p)
                               : f.max_code());
  if (x.is_infinite()) {
    return p.saturate_infinite ? sign | f.max_code() : overflow;
  }
  const std::uint64_t zero = f.kind == specials::fnuz ? 0 : sign;
  if (x.is_zero()) return zero;

  const int exponent = msb(x.significand) + x.exponent;
  const int beyond = exponent - f.min_exponent();
  if (is_scale && beyond < 0) return 0;
  const bool negative = x.negative && !is_scale;
  const int step = beyond > 0 ? beyond : 0;
  std::uint64_t magnitude = f.max_code() + 1;
  if (static_cast<std::uint64_t>(step) <= f.max_code() >> f.man_bits) {
    const int shift = f.quantum_exponent() + step - x.exponent;
    magnitude = (static_cast<std::uint64_t>(step) << f.man_bits) +
                extract(x.significand, shift) - (is_scale ? 1 : 0);
    const bool odd = (magnitude & 1) != 0;
    if (rounds_away(x.significand, shift, odd, negative, r)) ++magnitude;
  }
  if (magnitude > f.max_code()) {
    const bool largest = p.saturate_finite || rounds_inward(r.mode, negative);
    return largest ? sign | f.max_code() : overflow;
  }
  return magnitude == 0 ? zero : sign | magnitude;
}

/// Returns the code of `to` nearest, under `r` and `p`, to a code of `from`.
ZEROULP_HD constexpr std::uint64_t recode(format from, std::uint64_t code,
                                          format to, rounder r = {},
                                          policy p = ocp_saturate) {
  return encode(to, decode(from, code), r, p);
}

/// The exact value of a float.
ZEROULP_HD constexpr unpacked decode(float x) {
  return decode(fp32, bit_cast<std::uint32_t>(x));
}

/// The exact value of a double.
ZEROULP_HD constexpr unpacked decode(double x) {
  return decode(fp64, bit_cast<std::uint64_t>(x));
}

/// The number nearest to `x` as a double: exact for every format but fp64's own
/// overflow, which no format here reaches.
ZEROULP_HD constexpr double to_double(const unpacked& x) {
  return bit_cast<double>(encode(fp64, x, {}, ocp_nonsaturate));
}

/// The number nearest to `x` as a float.
ZEROULP_HD constexpr float to_float(const unpacked& x) {
  return bit_cast<float>(
      static_cast<std::uint32_t>(encode(fp32, x, {}, ocp_nonsaturate)));
}

static_assert(encode(e4m3, decode(448.0f)) == 0x7e);
static_assert(encode(fp64, unpacked{1, 1 << 20, kind::finite, false}, {},
                     ocp_nonsaturate) == fp64.infinity_code());
static_assert(encode(e4m3, decode(464.0f), {}, ocp_nonsaturate) == 0x7e);
static_assert(encode(e4m3, decode(465.0f), {}, ocp_nonsaturate) == 0x7f);
static_assert(encode(e5m2, decode(1e9f), {}, ocp_nonsaturate) == 0x7c);
static_assert(encode(e5m2, decode(-1e9f), {rounding::up}, cuda_nosat) == 0xfb);
static_assert(encode(ue8m0, decode(1.0f)) == 127);
static_assert(encode(e2m1, decode(5.0f)) == 6 &&
              to_double(decode(e2m1, 7)) == 6);
static_assert(recode(e4m3, 0x01, fp32) == 0x3b000000u);
static_assert(recode(fp32, 0x7fffffff, e4m3, {}, clamp_nan_to_lowest) == 0xfe);
static_assert(recode(fp32, 0xffffffff, e4m3, {}, clamp_nan_to_largest) == 0x7e);

}  // namespace zeroulp

#endif  // ZEROULP_CORE_CONVERT_HPP_
