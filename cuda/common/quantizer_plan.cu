// The host side of quantizer_plan.cuh: derives a quantizer's plan.

#include "cuda/common/quantizer_plan.cuh"

namespace zeroulp::cuda {
namespace {

/// Returns the least a in [2^23, 2^24) such that the FP32 number with
/// significand a and exponent 0 has a scale of at least 2^e; 2^24 if none.
std::uint32_t threshold(const quantizer& q, int e) {
  std::uint32_t low = 1u << 23, high = 1u << 24;
  while (low < high) {
    const std::uint32_t a = (low + high) / 2;
    const std::uint32_t amax = (a & 0x7fffffu) | fp32_one;
    if (pow2_exponent(amax, q.to, q.scale) >= e) {
      high = a;
    } else {
      low = a + 1;
    }
  }
  return low;
}

}  // namespace

quantizer_plan plan_of(const quantizer& q) {
  quantizer_plan p{};
  p.q = q;
  // An amax that rounds to BF16's Inf counts as Inf: see group_amax.
  p.special = q.how.bf16_amax ? 0x7f7f8000 : fp32_infinity;
  p.max = max_as_fp32(q.to);
  p.reciprocal = zeroulp::detail::fl_divide(fp32_one, p.max);
  p.zero = make_scale(q, 0);
  if (q.scale != scale_kind::float32) {
    p.exponent = pow2_exponent(fp32_one, q.to, q.scale);
    for (int i = 0; i < 2; ++i) {
      p.thresholds[i] = threshold(q, p.exponent + i + 1);
    }
  }
  const bool any = q.scale == scale_kind::float32;
  if (q.how.scale == scale_rule::quotient) {
    p.correction = bit_cast<float>(p.reciprocal);
  }
  p.multiplies = any && q.how.element == element_rule::inverse;
  p.inverts = p.multiplies || q.how.scale == scale_rule::reciprocal_inverse;
  p.divides = any && (q.how.element == element_rule::exact_quotient ||
                      q.how.element == element_rule::quotient);
  p.rounds_once = any && q.how.element == element_rule::exact_quotient;
  p.approximate = any && q.how.element == element_rule::approximate_quotient;
  p.low = 1 - factor_margin;
  p.high = 1 + factor_margin;
  // E5M6 encodes faster if a single factor never has ties.
  p.near_enough = q.to == e5m6 ? -1 : 0x1p-25f;
  // The conversion instructions saturate, even a number that rounds to Inf.
  // With a floor, some groups would have one factor for all elements and others
  // none. Rules of few conventions are the core's.
  const policy& how = q.how.conversion;
  const bool has_fast_rules = q.how.scale_floor == 0 && q.how.largest == 0 &&
                              q.how.scale != scale_rule::reciprocal_product &&
                              q.how.exponent == exponent_rule::exact &&
                              !q.how.bf16_scale && !q.how.unrounded_inverse &&
                              q.how.through == pre_rounding::none;
  p.by_core = !has_fast_rules || !how.saturate_finite ||
              (any && !p.rounds_once && !how.saturate_infinite) ||
              (p.rounds_once && q.how.amax_floor != 0);
  p.finds_zero = detail::is_ordinary(p.zero.scale) &&
                 (!p.multiplies || detail::is_ordinary(p.zero.inverse));
  p.is_plain = p.rounds_once && q.how.scale == scale_rule::quotient &&
               !p.by_core && p.finds_zero;
  return p;
}

}  // namespace zeroulp::cuda
