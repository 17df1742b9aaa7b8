// Defines how a group's amax becomes its scale and how its elements become
// codes, fast and with the core's bits.
//
//   factors of a group: low, high     code = encode(x * low), if
//                                     encode(x * high) is the same code
//
// Where an element is divided by its scale, low and high bracket the quotient,
// rounded to FP32 or not: encoding is monotone, so one code for both is the
// code of what lies between. An element with two codes, on or next to a
// midpoint, is divided; where elements are multiplied, low = high. Groups with
// NaN, Inf or a scale so small or large that a product could lose bits are the
// core's.
//
// In BF16 midpoints are common, but only as exact ones: an element x lies
// within 2^-16 of a midpoint of its group's max / amax only if it is one.
// Whether x / s is then above, on or below it is the same for all elements of a
// group: it depends on how s was rounded. Unless s is exact, one factor
// decides. If it is, one does where it is near enough to 1 / s: a midpoint m
// has few bits, and m (1 + e) rounds to it for |e| <= 2^-25. Elsewhere, and
// where quotients are rounded, low = 1 / s and high = -s give the quotient.
//
// Source: SPEC clauses Q2 to Q13.

#ifndef ZEROULP_CUDA_PLAN_CUH_
#define ZEROULP_CUDA_PLAN_CUH_

#include "zeroulp/core/quantize.hpp"

namespace zeroulp::cuda {

/// What low and high are apart from 1 / scale: fl(1 / s), its product with this
/// and that with x are rounded, 2^-24 each.
inline constexpr float factor_margin = 0x6p-24f;

/// What the kernels need of a quantizer, computed once, on the host.
struct quantizer_plan {
  quantizer q;
  std::uint32_t special;  ///< amax from which elements go by the amax rule
  std::uint32_t max;      ///< of the format, FP32
  std::uint32_t reciprocal;
  group_scale zero;  ///< the scale of a group of zeros
  /// The scale of an amax of significand a (24 bits) and exponent e is 2^(e +
  /// exponent + (a >= thresholds[0]) + (a >= thresholds[1])).
  std::int32_t exponent;
  std::uint32_t thresholds[2];
  float correction;  ///< of amax * reciprocal: see scale_quotient; 0: none
  bool inverts;      ///< max / amax is needed
  float low, high;   ///< of 1 / scale, where elements are divided
  /// Of a factor for an exact scale, the most that 1 - scale * factor may be;
  /// < 0: there is none, so that one factor never has ties.
  float near_enough;
  bool divides;      ///< elements by their scale
  bool multiplies;   ///< elements by max / amax
  bool rounds_once;  ///< and the quotient is not rounded to FP32
  bool approximate;  ///< elements are multiplied by MUFU.RCP of their scale
  bool by_core;      ///< all of them
  bool finds_zero;   ///< groups of zeros are not the core's
  bool is_plain;     ///< amax / max, element / scale, neither rounded twice
};

quantizer_plan plan_of(const quantizer& q);

/// A group's scale and the factors of its elements.
struct group_factors {
  float low, high;
  std::uint32_t scale, inverse;
};

namespace detail {

/// True for FP32 bits of numbers from 2^-90 to below 2^90.
ZEROULP_HD constexpr bool is_ordinary(std::uint32_t bits) {
  return bits - 0x12800000u < 0x6c800000u - 0x12800000u;
}

}  // namespace detail

#if defined(__CUDACC__)

namespace detail {

/// True for amaxes from 2^-72 to below 2^90: what is found of them
/// is_ordinary.
__device__ inline bool is_ordinary_amax(std::uint32_t bits) {
  return bits - 0x1b800000u < 0x6c800000u - 0x1b800000u;
}

__device__ inline float rcp(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// x with the sign of y; both have it, or x is 0.
__device__ inline float signed_as(float x, float y) {
  return __uint_as_float(__float_as_uint(x) |
                         (__float_as_uint(y) & 0x80000000));
}

/// fl(a / b) of numbers from 2^-120 to 2^120 whose quotient is one, too, or
/// a = 0: what __fdiv_rn does when it need not look at its arguments.
__device__ inline float quotient(float a, float b) {
  const float y0 = rcp(b);
  const float y = __fmaf_rn(y0, __fmaf_rn(-b, y0, 1), y0);
  const float q0 = __fmul_rn(a, y);
  const float q = __fmaf_rn(__fmaf_rn(-b, q0, a), y, q0);
  return signed_as(__fmaf_rn(__fmaf_rn(-b, q, a), y, q), a);
}
/// The same of a BF16 number, given fl(1 / b) and -b. Held for every BF16 a and
/// every b that is a scale of BF16 numbers.
__device__ inline float quotient(float a, float inverse, float minus_b) {
  const float q = __fmul_rn(a, inverse);
  return signed_as(__fmaf_rn(__fmaf_rn(q, minus_b, a), inverse, q), a);
}
__device__ inline float quotient(std::uint32_t a, std::uint32_t b) {
  return quotient(__uint_as_float(a), __uint_as_float(b));
}

/// fl(amax / max) for an ordinary amax and a format's `max`, of reciprocal =
/// correction = fl(1 / max); fl(amax * reciprocal) if correction = 0. Held for
/// every significand.
__device__ inline float scale_quotient(float amax, float max, float reciprocal,
                                       float correction) {
  const float q = __fmul_rn(amax, reciprocal);
  return __fmaf_rn(__fmaf_rn(-max, q, amax), correction, q);
}

/// The core's make_scale of an amax that is_ordinary, above the floor, of a
/// power of two or of FP32; `inverse` is right only where elements need it.
template <bool Powers>
__device__ group_scale scale_of(const quantizer_plan& p, std::uint32_t a) {
  if constexpr (Powers) {
    const std::uint32_t significand = (a & 0x7fffffu) | 0x800000u;
    const int e = static_cast<int>(a >> 23) - 127 + p.exponent +
                  (significand >= p.thresholds[0] ? 1 : 0) +
                  (significand >= p.thresholds[1] ? 1 : 0);
    return {static_cast<std::uint32_t>(127 + e) << 23,
            static_cast<std::uint32_t>(127 - e) << 23};
  } else {
    group_scale s{__float_as_uint(scale_quotient(
                      __uint_as_float(a), __uint_as_float(p.max),
                      __uint_as_float(p.reciprocal), p.correction)),
                  0};
    if (p.inverts) {
      s.inverse = __float_as_uint(quotient(p.max, a));
      if (p.q.how.scale == scale_rule::reciprocal_inverse) {
        s.scale = __float_as_uint(quotient(fp32_one, s.inverse));
      }
    }
    return s;
  }
}
__device__ inline group_scale scale_of(const quantizer_plan& p,
                                       std::uint32_t a) {
  return p.q.scale != scale_kind::float32 ? scale_of<true>(p, a)
                                          : scale_of<false>(p, a);
}

}  // namespace detail

/// The amax of a group of this largest magnitude, FP32 bits.
__device__ inline std::uint32_t amax_of(const quantizer_plan& p,
                                        std::uint32_t largest) {
  if (!p.q.how.bf16_amax || largest >= p.special) return largest;
  return (largest + 0x7fff + (largest >> 16 & 1)) & 0xffff0000;
}

namespace detail {

/// 1 / scale.
struct reciprocal {
  float scale;
  float near;  ///< within 0.501 units in the last place; of a power of two, it
  float rest;  ///< 1 - scale * near

  /// `first`: rcp(of)
  __device__ reciprocal(float of, float first) {
    scale = of;
    near = __fmaf_rn(first, __fmaf_rn(-of, first, 1), first);
    rest = __fmaf_rn(-of, near, 1);
  }
  __device__ float nearest() const {
    const float q = __fmaf_rn(rest, near, near);
    return __fmaf_rn(__fmaf_rn(-scale, q, 1), near, q);
  }
};

/// The factors of BF16 elements of this amax whose quotients are rounded once.
__device__ inline void set_exact_factors(const quantizer_plan& p,
                                         std::uint32_t amax,
                                         const reciprocal& r,
                                         group_factors& f) {
  const float excess =
      __fmaf_rn(r.scale, __uint_as_float(p.max), -__uint_as_float(amax));
  if (excess != 0) {
    // By p.low or p.high.
    f.low = f.high =
        __fmaf_rn(r.near, -copysignf(factor_margin, excess), r.near);
  } else if (fabsf(r.rest) <= p.near_enough) {
    f.low = f.high = r.near;
  } else {
    f.low = r.nearest();
    f.high = -r.scale;
  }
}

}  // namespace detail

/// Finds the scale and the factors of a group of this amax, `of_bf16`: that of
/// its elements, in BF16. Returns false iff they are the core's to find.
__device__ inline bool find_factors(const quantizer_plan& p, std::uint32_t amax,
                                    bool of_bf16, group_factors& f) {
  const bool is_zero = amax == 0;
  if (p.is_plain && of_bf16) {
    // The same in fewer instructions.
    f.scale = p.zero.scale, f.inverse = 0;
    if (!is_zero) {
      f.scale = __float_as_uint(
          detail::scale_quotient(__uint_as_float(amax), __uint_as_float(p.max),
                                 __uint_as_float(p.reciprocal), p.correction));
    }
    const float scale = __uint_as_float(f.scale);
    const detail::reciprocal r(scale, detail::rcp(scale));
    detail::set_exact_factors(p, amax, r, f);
    return is_zero || detail::is_ordinary_amax(amax);
  }
  const std::uint32_t a = amax < p.q.how.amax_floor ? p.q.how.amax_floor : amax;
  const group_scale s = is_zero ? p.zero : detail::scale_of(p, a);
  f.scale = s.scale, f.inverse = s.inverse;
  const bool ordinary =
      !p.by_core && (is_zero ? p.finds_zero : detail::is_ordinary_amax(a));
  const float scale = __uint_as_float(s.scale);
  f.low = f.high =
      p.multiplies ? __uint_as_float(s.inverse) : detail::rcp(scale);
  if (p.multiplies || p.approximate) return ordinary;
  const detail::reciprocal r(scale, f.low);
  if (!p.divides) {
    f.low = f.high = r.nearest();
  } else if (!of_bf16 || (p.rounds_once && a != amax)) {
    f.low = __fmul_rn(r.near, p.low);
    f.high = __fmul_rn(r.near, p.high);
  } else if (!p.rounds_once) {
    f.low = r.nearest();
    f.high = -scale;
  } else {
    detail::set_exact_factors(p, amax, r, f);
  }
  return ordinary;
}

#endif

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_PLAN_CUH_
