// Defines the scale of a group, in hardware arithmetic where there is nothing
// to decide, and how its elements follow from it by a kernel. Internal.

#ifndef ZEROULP_SRC_ARRAYS_SCALE_HPP_
#define ZEROULP_SRC_ARRAYS_SCALE_HPP_

#include "src/arrays/kernels.hpp"
#include "zeroulp/core/quantize.hpp"

namespace zeroulp::engine {

/// Whether the scale is that of Q4 alone.
inline bool is_plain_scale(const quantizer& q) {
  return q.scale == scale_kind::float32 && q.how.scale_floor == 0 &&
         !q.how.bf16_scale && q.how.largest == 0;
}

/// Whether the number that takes an element's place is encoded as it is.
inline bool is_plain_element(const convention& how) {
  return how.through == pre_rounding::none && how.largest == 0;
}

/// The core's make_scale; `max` is max_as_fp32(q.to). Of positive finite
/// numbers every quotient and product is a number, so that FP32 hardware gives
/// the core's bits; anything else goes to the core.
inline group_scale scale_of(const quantizer& q, std::uint32_t max,
                            std::uint32_t amax) {
  const convention& how = q.how;
  const std::uint32_t a = amax < how.amax_floor ? how.amax_floor : amax;
  if (!is_plain_scale(q) || a == 0 || a >= fp32_infinity) {
    return make_scale(q, amax);
  }
  const auto fa = bit_cast<float>(a);
  const auto fm = bit_cast<float>(max);
  auto inverse = bit_cast<std::uint32_t>(
      how.scale == scale_rule::reciprocal_product ? fm * (1 / fa) : fm / fa);
  if (how.edges.finite_inverse && inverse == fp32_infinity) {
    inverse = max_as_fp32(q.from);
  }
  const float s = how.scale == scale_rule::quotient ? fa / fm
                  : how.scale == scale_rule::times_reciprocal
                      ? fa * (1 / fm)
                      : 1 / bit_cast<float>(inverse);
  const auto bits = bit_cast<std::uint32_t>(s);
  return {how.edges.positive && bits == 0 ? 1 : bits, inverse};
}

/// How the elements of a group are scaled: each by `operand`, or by the core.
struct group_plan {
  std::uint32_t operand;
  bool by_core;
};

inline scaling scaling_of(element_rule rule) {
  return rule == element_rule::exact_quotient ? scaling::divide_exactly
         : rule == element_rule::quotient     ? scaling::divide
                                              : scaling::multiply;
}

inline group_plan plan_of(const quantizer& q, group_scale s) {
  if (!is_plain_element(q.how)) return {fp32_one, true};
  switch (q.how.element) {
    case element_rule::exact_quotient:
      return {s.scale, !divides_exactly(q.to, s.scale)};
    case element_rule::quotient:
      return {s.scale, false};
    case element_rule::scale_reciprocal:
      return {s.scale > 0 && s.scale < fp32_infinity
                  ? bit_cast<std::uint32_t>(1 / bit_cast<float>(s.scale))
                  : detail::fl_divide(fp32_one, s.scale),
              false};
    case element_rule::inverse:
      return {s.inverse, false};
    case element_rule::approximate_quotient:
      break;
  }
  // Beyond these, the core scales both operands first.
  const bool plain = s.scale >= 0x00800000 && s.scale <= 0x7e800000;
  return {approximate_reciprocal(s.scale), !plain};
}

}  // namespace zeroulp::engine

#endif  // ZEROULP_SRC_ARRAYS_SCALE_HPP_
