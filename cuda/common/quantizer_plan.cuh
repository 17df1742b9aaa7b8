// Defines how a group's amax becomes its scale, and how its elements become
// codes: fast and with the core's bits.
//
//   factors of a group: low, high     code = encode(x * low), if
//                                     encode(x * high) is the same code
//
// Where an element is divided by its scale, low and high bracket the quotient,
// rounded to FP32 or not. Encoding is monotone: if both give one code, it is
// the code of everything between. An element with two codes lies on or next to
// a midpoint and is divided. Where elements are multiplied, low = high.
//
// The core's functions take groups with NaN, Inf, or a scale so small or large
// that a product could lose bits.
//
// In BF16 midpoints are common, but only exact ones: x max / amax lies within
// 2^-16 of a midpoint only if it is one. Whether x / s is then above, on or
// below the midpoint is the same for all elements of a group: it depends on how
// s was rounded. Unless s is exact, one factor decides.
//
// If s is exact, one factor decides if it is near enough to 1 / s: a midpoint m
// has few bits, and m (1 + e) rounds to it for |e| <= 2^-25. Elsewhere, and
// where quotients are rounded, low = 1 / s and high = -s give the quotient.
//
// Source: SPEC clauses Q2 to Q13.

#ifndef ZEROULP_CUDA_COMMON_QUANTIZER_PLAN_CUH_
#define ZEROULP_CUDA_COMMON_QUANTIZER_PLAN_CUH_

#include "cuda/ptx/arithmetic.cuh"
#include "zeroulp/core/quantize.hpp"

namespace zeroulp::cuda {

/// How far low and high are from 1 / scale, relative. Three values are rounded,
/// by 2^-24 each: fl(1 / s), its product with the margin, and the product with
/// x.
inline constexpr float factor_margin = 0x6p-24f;

/// A quantizer as kernels need it, computed once on the host.
struct quantizer_plan {
  quantizer q;
  std::uint32_t special;  ///< from this amax on, elements follow the amax rule
  std::uint32_t max;      ///< largest number of the format, FP32 bits
  std::uint32_t reciprocal;
  group_scale zero;  ///< the scale of a group of zeros
  /// With power-of-two scales: an amax of significand a (24 bits) and exponent
  /// e has the scale 2^(e + exponent + (a >= thresholds[0]) + (a >=
  /// thresholds[1])).
  std::int32_t exponent;
  std::uint32_t thresholds[2];
  float correction;  ///< of amax * reciprocal, see scale_quotient; 0: none
  bool inverts;      ///< max / amax is needed
  float low, high;   ///< bounds of 1 / scale, if `divides`
  /// One factor serves for an exact scale if |1 - scale * factor| is at most
  /// this. < 0: none serves, so that where one factor is used, there are no
  /// ties.
  float near_enough;
  bool divides;      ///< elements are divided by their scale
  bool multiplies;   ///< elements are multiplied by max / amax
  bool rounds_once;  ///< divides, with a quotient that is not rounded to FP32
  bool approximate;  ///< elements are multiplied by MUFU.RCP of their scale
  bool by_core;      ///< the core quantizes every group
  bool finds_zero;   ///< groups of zeros do not need the core
  bool is_plain;     ///< amax / max and element / scale, each rounded once
};

quantizer_plan plan_of(const quantizer& q);

/// A group's scale and the factors for its elements.
struct group_factors {
  float low, high;
  std::uint32_t scale, inverse;
};

namespace detail {

/// True for the FP32 bits of numbers in [2^-90, 2^90).
ZEROULP_HD constexpr bool is_ordinary(std::uint32_t bits) {
  return bits - 0x12800000u < 0x6c800000u - 0x12800000u;
}

}  // namespace detail

#if defined(__CUDACC__)

namespace detail {

/// True for amaxes in [2^-72, 2^90): scale and factors computed from them are
/// is_ordinary.
__device__ inline bool is_ordinary_amax(std::uint32_t bits) {
  return bits - 0x1b800000u < 0x6c800000u - 0x1b800000u;
}

/// x with the sign of y. Requires that x has that sign or is 0.
__device__ inline float signed_as(float x, float y) {
  return __uint_as_float(__float_as_uint(x) |
                         (__float_as_uint(y) & 0x80000000));
}

/// fl(a / b), as __fdiv_rn computes it without its checks. |a|, |b| and the
/// quotient are in [2^-120, 2^120], or a = 0.
__device__ inline float quotient(float a, float b) {
  const float y0 = ptx::rcp_approx(b);
  const float y = __fmaf_rn(y0, __fmaf_rn(-b, y0, 1), y0);
  const float q0 = __fmul_rn(a, y);
  const float q = __fmaf_rn(__fmaf_rn(-b, q0, a), y, q0);
  return signed_as(__fmaf_rn(__fmaf_rn(-b, q, a), y, q), a);
}
/// fl(a / b) of a BF16 number a, given fl(1 / b) and -b. Verified for every
/// BF16 a and every b that is a scale of BF16 numbers.
__device__ inline float quotient(float a, float inverse, float minus_b) {
  const float q = __fmul_rn(a, inverse);
  return signed_as(__fmaf_rn(__fmaf_rn(q, minus_b, a), inverse, q), a);
}
__device__ inline float quotient(std::uint32_t a, std::uint32_t b) {
  return quotient(__uint_as_float(a), __uint_as_float(b));
}

/// fl(amax / max) for an ordinary amax and a format's `max`, with reciprocal =
/// correction = fl(1 / max). If correction = 0: fl(amax * reciprocal). Verified
/// for every significand.
__device__ inline float scale_quotient(float amax, float max, float reciprocal,
                                       float correction) {
  const float q = __fmul_rn(amax, reciprocal);
  return __fmaf_rn(__fmaf_rn(-max, q, amax), correction, q);
}

/// The core's make_scale for an ordinary amax above the floor: a power of two
/// (`Powers`) or FP32. `inverse` is right only if elements need it.
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

/// Returns a group's amax (FP32 bits), given its largest magnitude.
__device__ inline std::uint32_t amax_of(const quantizer_plan& p,
                                        std::uint32_t largest) {
  if (!p.q.how.bf16_amax || largest >= p.special) return largest;
  return (largest + 0x7fff + (largest >> 16 & 1)) & 0xffff0000;
}

namespace detail {

/// 1 / scale.
struct reciprocal {
  float scale;
  float near;  ///< within 0.501 ulp; exact for powers of two
  float rest;  ///< 1 - scale * near

  /// `first`: ptx::rcp_approx(of)
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

/// Sets the factors of BF16 elements under this amax, if quotients are rounded
/// once.
__device__ inline void set_exact_factors(const quantizer_plan& p,
                                         std::uint32_t amax,
                                         const reciprocal& r,
                                         group_factors& f) {
  const float excess =
      __fmaf_rn(r.scale, __uint_as_float(p.max), -__uint_as_float(amax));
  if (excess != 0) {
    // The scale is inexact: use the factor p.low or p.high.
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

/// Computes the scale and the factors of a group. `of_bf16`: amax is that of
/// its elements, which are BF16. Returns false iff the core must find them.
__device__ inline bool find_factors(const quantizer_plan& p, std::uint32_t amax,
                                    bool of_bf16, group_factors& f) {
  const bool is_zero = amax == 0;
  if (p.is_plain && of_bf16) {
    // The plain case again, in fewer instructions.
    f.scale = p.zero.scale, f.inverse = 0;
    if (!is_zero) {
      f.scale = __float_as_uint(
          detail::scale_quotient(__uint_as_float(amax), __uint_as_float(p.max),
                                 __uint_as_float(p.reciprocal), p.correction));
    }
    const float scale = __uint_as_float(f.scale);
    const detail::reciprocal r(scale, ptx::rcp_approx(scale));
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
      p.multiplies ? __uint_as_float(s.inverse) : ptx::rcp_approx(scale);
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

#endif  // ZEROULP_CUDA_COMMON_QUANTIZER_PLAN_CUH_
