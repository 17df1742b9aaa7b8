// Defines `arm`: the numerics of a model's training step as a value, its fields
// as text, the named arms, and the table of a step's tensors that follows.
//
//   full                            DeepSeek-V3's recipe
//   full+linear.dy.format:e5m2      the same with gradients in E5M2: hybrid
//   full+fraction_bits:10           with a smaller accumulator
//
// An arm says how each operand of a GEMM and each cache is stored, and how each
// product sums; operators between them have no choice (SPEC N1 to N18). Source:
// SPEC N22, N23; DeepSeek-V3 report, Figure 6 and section 3.3.

#ifndef ZEROULP_MODEL_ARM_HPP_
#define ZEROULP_MODEL_ARM_HPP_

#include "zeroulp/names.hpp"

namespace zeroulp {

/// How an operand of a GEMM, or a cache, is stored.
struct storage {
  format to;
  bool scaled;  ///< without scales it is a conversion
  scale_kind scale;
  group_shape group;  ///< along K: 1x128, 128x128, or the whole tensor (0, 0)
  /// Of x and w: the operand of the product that takes the transpose (Wgrad,
  /// Dgrad) is stored beside it, from the same values; else made of the codes.
  bool columnwise = false;
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
  /// The scales of experts' inputs and of their outputs' gradients.
  scale_kind dispatched;
  storage attention_cache;  ///< of attention's output, for the backward pass
  storage swiglu_cache;     ///< of SwiGLU's inputs, for the backward pass
};

/// Whether an arm stores anything columnwise.
constexpr bool is_columnwise(const arm& a) {
  return a.linear.x.columnwise || a.linear.w.columnwise ||
         a.head.x.columnwise || a.head.w.columnwise;
}

namespace detail {

constexpr storage unscaled(format f) {
  return {f, false, scale_kind::float32, {0, 0}};
}
constexpr storage e4m3_in(group_shape g) {
  return {e4m3, true, scale_kind::float32, g};
}
/// With a power of two for a scale every value of `f` survives.
constexpr storage cache_in(format f) {
  return {f, true, scale_kind::pow2, {1, 128}};
}

constexpr linear_rule bf16_rule(int splits) {
  const sum_rule sum{hopper_half_f32, 0, splits};
  const storage plain = unscaled(bf16);
  return {plain, plain, plain, sum, sum, sum};
}

constexpr arm bf16_arm(const char* name, const char* what, int splits) {
  return {.name = name,
          .what = what,
          .linear = bf16_rule(splits),
          .head = bf16_rule(splits),
          .dispatched = scale_kind::float32,
          .attention_cache = unscaled(bf16),
          .swiglu_cache = cache_in(bf16)};
}

/// The full recipe changed by `change`.
template <class Change>
constexpr arm full_but(const char* name, const char* what, Change change) {
  const sum_rule promoted{hopper_fp8_f32, 128, 1};
  arm a{.name = name,
        .what = what,
        .linear = {.x = e4m3_in({1, 128}),
                   .w = e4m3_in({128, 128}),
                   .dy = e4m3_in({1, 128}),
                   .fprop = promoted,
                   .dgrad = promoted,
                   .wgrad = promoted},
        .head = bf16_rule(1),
        .dispatched = scale_kind::pow2,
        .attention_cache = cache_in(e5m6),
        .swiglu_cache = e4m3_in({1, 128})};
  change(a);
  return a;
}

constexpr void scale_by_tensor(arm& a) {
  a.linear.x.group = a.linear.w.group = a.linear.dy.group = {0, 0};
  a.dispatched = scale_kind::float32;
  a.attention_cache = a.linear.x;
  a.swiglu_cache.group = {0, 0};
}

/// Transformer Engine's blocks: powers of two, both directions from the values,
/// caches in BF16.
constexpr void scale_as_te(arm& a) {
  a.linear.x.scale = a.linear.w.scale = a.linear.dy.scale = scale_kind::pow2;
  a.linear.x.columnwise = true;
  a.attention_cache = unscaled(bf16);
  a.swiglu_cache = cache_in(bf16);
}

constexpr void scale_as_mx(arm& a) {
  scale_as_te(a);
  a.linear.x.group = a.linear.w.group = a.linear.dy.group = {1, 32};
  a.linear.w.columnwise = true;
  a.linear.fprop.interval = a.linear.dgrad.interval = a.linear.wgrad.interval =
      32;
}

}  // namespace detail

inline constexpr arm named_arms[] = {
    detail::bf16_arm("bf16", "BF16 operands, Hopper's BF16 accumulator", 1),
    detail::bf16_arm("bf16_split_k",
                     "bf16 with K of every product in two halves", 2),
    detail::full_but("full", "DeepSeek-V3's recipe", [](arm&) {}),
    detail::full_but("tensor", "full with one scale a tensor",
                     detail::scale_by_tensor),
    detail::full_but("tensor_unpromoted", "tensor without promotion",
                     [](arm& a) {
                       detail::scale_by_tensor(a);
                       a.linear.fprop.interval = a.linear.dgrad.interval =
                           a.linear.wgrad.interval = 0;
                     }),
    detail::full_but("te", "tensor, promoted in the backward pass alone",
                     [](arm& a) {
                       detail::scale_by_tensor(a);
                       a.linear.fprop.interval = 0;
                     }),
    detail::full_but("hybrid", "full with gradients in E5M2",
                     [](arm& a) { a.linear.dy.to = e5m2; }),
    detail::full_but("block_gradients",
                     "full with gradients in blocks of 128x128",
                     [](arm& a) {
                       a.linear.dy.group = {128, 128};
                     }),
    detail::full_but("te_blockwise",
                     "full as Transformer Engine's Float8BlockScaling",
                     detail::scale_as_te),
    detail::full_but("mx", "te_blockwise with MXFP8's blocks of 32",
                     detail::scale_as_mx),
};

/// A tensor of a step.
struct tensor_row {
  std::string tensor;
  storage how;  ///< but for `columnwise`, which has a row of its own
  std::string made_from;
  std::string used_by;
};

#pragma GCC visibility push(default)

/// All that decides an arm's bits, in order: linear.x.format and so on.
const std::vector<value_field<arm>>& arm_fields();
/// Those; accumulator, fraction_bits, interval and splits, which set the three
/// products of `linear` at once, and head.accumulator and so on, those of
/// `head`; linear.format, .scale and .group, which set its three operands, and
/// head.format and so on.
const std::vector<value_field<arm>>& arm_changes();

/// A named arm, or NAME+FIELD:VALUE with fields of arm_changes(). Throws
/// input_error, also as check_arm does.
arm parse_arm(std::string_view text);
/// The named arm that has the fields of `a`, or `a` under this name.
arm arm_called(std::string_view name, const arm& a);
/// Throws input_error that names the field unless a step can follow `a`:
/// formats have at most 16 bits, groups are 1xN, NxN or the tensor and are
/// promoted within themselves, transposes that codes cannot give are stored
/// columnwise, SwiGLU's cache has scales.
void check_arm(const arm& a);
/// The fields as a JSON object without blanks: equal for equal arms alone.
std::string fields_json(const arm& a);

/// How a step of this arm stores each tensor, what it is made from, what reads
/// it.
std::vector<tensor_row> tensor_table(const arm& a);

#pragma GCC visibility pop

}  // namespace zeroulp

#endif  // ZEROULP_MODEL_ARM_HPP_
