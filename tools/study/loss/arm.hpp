// Defines `arm`: the numerics of a training step as a value, and the named
// arms that the loss study compares.
//
// The full recipe is that of the DeepSeek-V3 report, tensor by tensor; each of
// the others differs from it, or from BF16, in what its name says. Internal.

#ifndef ZEROULP_TOOLS_STUDY_LOSS_ARM_HPP_
#define ZEROULP_TOOLS_STUDY_LOSS_ARM_HPP_

#include <string_view>

#include "tools/train/arm.hpp"

namespace zeroulp::loss {

using train::storage;

/// The numerics of a Linear layer.
struct linear_rule {
  storage x;
  storage w;
  storage dy;
  accumulator acc;
  std::int32_t interval;  ///< between promotions; 0: none
  std::int32_t splits;    ///< of K, summed in order
};

struct arm {
  const char* name;
  format values;       ///< what activations and their gradients are rounded to
  linear_rule linear;  ///< projections and experts
  linear_rule head;
  /// Of the experts' inputs and of the gradients of their outputs.
  scale_kind dispatched;
  storage attention_cache;  ///< of the attention output, for the backward pass
  storage swiglu_cache;     ///< of SwiGLU's inputs, for the backward pass
  bool delayed;             ///< whole-tensor scales from past amaxes
};

namespace detail {

using train::detail::block;
using train::detail::cache;
using train::detail::fp8;
using train::detail::plain;
using train::detail::tensor;
using train::detail::tile;

constexpr linear_rule unscaled(format f, accumulator acc, int splits) {
  return {plain(f), plain(f), plain(f), acc, 0, splits};
}

constexpr arm unscaled_arm(const char* name, format f, accumulator acc,
                           int splits) {
  const linear_rule rule = unscaled(f, acc, splits);
  return {name, f, rule, rule, scale_kind::float32, cache(f), cache(f), false};
}

constexpr arm full_recipe() {
  const linear_rule rule{fp8(e4m3, tile),
                         fp8(e4m3, block),
                         fp8(e4m3, tile),
                         hopper_fp8_f32,
                         128,
                         1};
  return {"full",
          bf16,
          rule,
          unscaled(bf16, hopper_half_f32, 1),
          scale_kind::pow2,
          cache(e5m6),
          fp8(e4m3, tile),
          false};
}

/// The full recipe changed by `change`.
template <class Change>
constexpr arm changed(const char* name, Change change) {
  arm a = full_recipe();
  a.name = name;
  change(a);
  return a;
}

constexpr void make_per_tensor(arm& a) {
  a.linear.x.group = a.linear.w.group = a.linear.dy.group = tensor;
  a.dispatched = scale_kind::float32;
  a.attention_cache = a.linear.x;
  a.swiglu_cache.group = tensor;
}

constexpr void make_blocks(arm& a) {
  a.linear.x.group = a.linear.w.group = a.linear.dy.group = block;
  a.swiglu_cache.group = block;
}

}  // namespace detail

/// FP32 throughout: what finite differences are held against.
inline constexpr arm fp32_arm =
    detail::unscaled_arm("fp32", fp32, fp32_sequential, 1);
/// What the others are compared with.
inline constexpr arm bf16_arm =
    detail::unscaled_arm("bf16", bf16, hopper_half_f32, 1);

inline constexpr arm compared_arms[] = {
    detail::unscaled_arm("bf16_split_k", bf16, hopper_half_f32, 2),
    detail::full_recipe(),
    detail::changed("per_tensor", detail::make_per_tensor),
    detail::changed("per_tensor_unpromoted",
                    [](arm& a) {
                      detail::make_per_tensor(a);
                      a.linear.interval = 0;
                    }),
    detail::changed("blocks", detail::make_blocks),
    detail::changed("delayed",
                    [](arm& a) {
                      detail::make_per_tensor(a);
                      a.delayed = true;
                    }),
    detail::changed("hybrid", [](arm& a) { a.linear.dy.to = e5m2; }),
    detail::changed("block_gradients",
                    [](arm& a) { a.linear.dy.group = detail::block; }),
    detail::changed("attention_e4m3",
                    [](arm& a) { a.attention_cache.to = e4m3; }),
};

/// The arm of that name, which must be one of those above.
constexpr const arm& arm_named(std::string_view name) {
  if (name == fp32_arm.name) return fp32_arm;
  for (const arm& a : compared_arms) {
    if (name == a.name) return a;
  }
  return bf16_arm;
}

}  // namespace zeroulp::loss

#endif  // ZEROULP_TOOLS_STUDY_LOSS_ARM_HPP_
