// Defines `arm`: the numerics of a training step as a value, and the named
// ones.
//
// `full` is the recipe of the DeepSeek-V3 report, tensor by tensor; each of the
// others differs from it, or from BF16, in what is said of it. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_ARM_HPP_
#define ZEROULP_TOOLS_TRAIN_ARM_HPP_

#include "zeroulp/core/convention.hpp"
#include "zeroulp/core/quantize.hpp"

namespace zeroulp::train {

/// How an operand of a GEMM, or a cache, is stored.
struct storage {
  format to;
  bool scaled;  ///< without scales it is a conversion
  scale_kind scale;
  group_shape group;  ///< 1x128, 128x128, or the whole tensor (0, 0)
  friend constexpr bool operator==(const storage&, const storage&) = default;
};

/// How a product sums.
struct sum_rule {
  accumulator acc;
  std::int32_t interval;  ///< of K between promotions; 0: none
  std::int32_t splits;    ///< of K, summed in order
};

/// The numerics of a Linear layer.
struct linear_rule {
  storage x;
  storage w;
  storage dy;
  sum_rule fprop;
  sum_rule dgrad;
  sum_rule wgrad;
};

struct arm {
  const char* name;
  const char* what;
  linear_rule linear;  ///< projections and experts
  linear_rule head;
  scale_kind
      dispatched;  ///< of experts' inputs and of their outputs' gradients
  storage attention_cache;  ///< of attention's output, for the backward pass
  storage swiglu_cache;     ///< of SwiGLU's inputs, for the backward pass
};

namespace detail {

inline constexpr group_shape tile{1, 128};
inline constexpr group_shape block{128, 128};
inline constexpr group_shape tensor{0, 0};

constexpr storage plain(format f) {
  return {f, false, scale_kind::float32, tensor};
}
constexpr storage fp8(format f, group_shape g) {
  return {f, true, scale_kind::float32, g};
}
/// With a power of two for a scale every value of `f` survives.
constexpr storage cache(format f) { return {f, true, scale_kind::pow2, tile}; }

constexpr linear_rule bf16_rule(int splits) {
  const sum_rule sum{hopper_half_f32, 0, splits};
  return {plain(bf16), plain(bf16), plain(bf16), sum, sum, sum};
}

constexpr arm bf16_arm(const char* name, const char* what, int splits) {
  return {name,
          what,
          bf16_rule(splits),
          bf16_rule(splits),
          scale_kind::float32,
          plain(bf16),
          cache(bf16)};
}

/// The full recipe changed by `change`.
template <class Change>
constexpr arm full_but(const char* name, const char* what, Change change) {
  const sum_rule promoted{hopper_fp8_f32, 128, 1};
  arm a{name,
        what,
        {fp8(e4m3, tile), fp8(e4m3, block), fp8(e4m3, tile), promoted, promoted,
         promoted},
        bf16_rule(1),
        scale_kind::pow2,
        cache(e5m6),
        fp8(e4m3, tile)};
  change(a);
  return a;
}

constexpr void one_scale(arm& a) {
  a.linear.x.group = a.linear.w.group = a.linear.dy.group = tensor;
  a.dispatched = scale_kind::float32;
  a.attention_cache = a.linear.x;
  a.swiglu_cache.group = tensor;
}

}  // namespace detail

inline constexpr arm named_arms[] = {
    detail::bf16_arm("bf16", "BF16 operands, Hopper's BF16 accumulator", 1),
    detail::bf16_arm("bf16_split_k",
                     "bf16 with K of every product in two halves", 2),
    detail::full_but("full", "DeepSeek-V3's recipe", [](arm&) {}),
    detail::full_but("tensor", "full with one scale a tensor",
                     detail::one_scale),
    detail::full_but("tensor_unpromoted", "tensor without promotion",
                     [](arm& a) {
                       detail::one_scale(a);
                       a.linear.fprop.interval = a.linear.dgrad.interval =
                           a.linear.wgrad.interval = 0;
                     }),
    detail::full_but("te", "tensor, promoted in the backward pass alone",
                     [](arm& a) {
                       detail::one_scale(a);
                       a.linear.fprop.interval = 0;
                     }),
    detail::full_but("hybrid", "full with gradients in E5M2",
                     [](arm& a) { a.linear.dy.to = e5m2; }),
    detail::full_but("block_gradients",
                     "full with gradients in blocks of 128x128",
                     [](arm& a) { a.linear.dy.group = detail::block; }),
};

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_ARM_HPP_
