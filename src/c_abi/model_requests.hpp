// Defines how the C ABI's arguments of a training step's operators become the
// operators' requests, checked: those of the CPU and those of the GPU, whose
// matrices are device memory and are not read here. Internal.

#ifndef ZEROULP_SRC_C_ABI_MODEL_REQUESTS_HPP_
#define ZEROULP_SRC_C_ABI_MODEL_REQUESTS_HPP_

#include "src/c_abi/model_rows.hpp"
#include "zeroulp/model.hpp"

namespace zeroulp::c_abi {

static_assert(ZEROULP_ROPE_ADJACENT == static_cast<int>(rope_pairs::adjacent) &&
              ZEROULP_ROPE_HALVES == static_cast<int>(rope_pairs::halves));
static_assert(ZEROULP_ROUTER_SIGMOID ==
                  static_cast<int>(router_score::sigmoid) &&
              ZEROULP_ROUTER_SOFTMAX ==
                  static_cast<int>(router_score::softmax));
static_assert(ZEROULP_GROUP_TOP2_SUM ==
                  static_cast<int>(group_score::top2_sum) &&
              ZEROULP_GROUP_MAX == static_cast<int>(group_score::max));

inline rms_norm_gradients rms_norm_gradients_of(
    const zeroulp_const_matrix* dy, const zeroulp_const_matrix* x,
    const zeroulp_const_matrix* w, const zeroulp_const_matrix* rstd,
    const zeroulp_const_matrix* residual, const zeroulp_matrix* dx,
    const zeroulp_matrix* dw) {
  const auto from = rows_of<bf16_bits>(dy, "dy");
  const auto m = from.rows;
  const auto n = from.cols;
  return {from,
          rows_of<bf16_bits>(x, "x", m, n),
          rows_of<fp32_bits>(w, "w", 1, n),
          rows_of<fp32_bits>(rstd, "rstd", m, 1),
          optional_rows_of<bf16_bits>(residual, "residual", m, n),
          optional_rows_of<bf16_bits>(dx, "dx", m, n),
          optional_rows_of<fp32_bits>(dw, "dw", 1, n)};
}

inline rope_rows rope_rows_of(std::int32_t pairs, std::int32_t backward,
                              std::int64_t heads, const zeroulp_const_matrix* x,
                              const zeroulp_const_matrix* cosines,
                              const zeroulp_const_matrix* sines,
                              const zeroulp_matrix* y) {
  const auto how = enum_of(pairs, rope_pairs::halves, "pairs");
  const bool back = checked(backward, 0, 1, "backward") == 1;
  const auto c = rows_of<fp32_bits>(cosines, "cosines");
  const auto s = rows_of<fp32_bits>(sines, "sines", c.rows, c.cols);
  const auto from = rows_of<bf16_bits>(x, "x");
  const auto to = rows_of<bf16_bits>(y, "y", from.rows, from.cols);
  std::int64_t width = 0;
  if (heads < 1 || __builtin_mul_overflow(2 * c.cols, heads, &width) ||
      width != from.cols) {
    refuse("x: {} columns, but {} heads of {} pairs", from.cols, heads, c.cols);
  }
  return {how, back, heads, from, c, s, to};
}

struct attention_request {
  attention_shape shape;
  engine::attention_inputs inputs;
};

inline attention_request attention_of(const zeroulp_attention* given,
                                      const zeroulp_const_matrix* q,
                                      const zeroulp_const_matrix* k,
                                      const zeroulp_const_matrix* v) {
  const auto queries = rows_of<bf16_bits>(q, "q");
  const engine::attention_inputs t{
      queries, rows_of<bf16_bits>(k, "k", queries.rows, queries.cols),
      rows_of<bf16_bits>(v, "v", queries.rows, view_of(v, "v").cols)};
  const auto& s = needed(given, "shape");
  if (s.length < 1) refuse("shape.length is {}: use 1 and up", s.length);
  if (s.heads < 1) refuse("shape.heads is {}: use 1 and up", s.heads);
  const auto depth = [&s](std::ptrdiff_t cols, const char* what) {
    if (cols > 0 && cols % s.heads == 0) return cols / s.heads;
    refuse("{}: {} columns, but {} heads, all as wide", what, cols, s.heads);
  };
  if (t.q.rows % s.length != 0) {
    refuse("q: {} rows, but sequences of {}", t.q.rows, s.length);
  }
  if (s.scale == 0 || s.scale >= 0x7f800000) {
    refuse("shape.scale is {:08x}: use FP32 bits of a number above 0", s.scale);
  }
  return {
      {s.length, s.heads, depth(t.q.cols, "q"), depth(t.v.cols, "v"), s.scale},
      t};
}

/// What the forward pass makes.
struct attention_outputs {
  matrix_view<bf16_bits> o;
  matrix_view<fp32_bits> largest, inverse;
};

inline attention_outputs outputs_of(const attention_request& r,
                                    const zeroulp_matrix* o,
                                    const zeroulp_matrix* largest,
                                    const zeroulp_matrix* inverse) {
  const auto m = r.inputs.q.rows;
  return {rows_of<bf16_bits>(o, "o", m, r.inputs.v.cols),
          rows_of<fp32_bits>(largest, "largest", m, r.shape.heads),
          rows_of<fp32_bits>(inverse, "inverse", m, r.shape.heads)};
}

inline engine::attention_kept kept_of(const attention_request& r,
                                      const zeroulp_const_matrix* o,
                                      const zeroulp_const_matrix* largest,
                                      const zeroulp_const_matrix* inverse) {
  const auto m = r.inputs.q.rows;
  return {rows_of<fp32_bits>(o, "o", m, r.inputs.v.cols),
          rows_of<fp32_bits>(largest, "largest", m, r.shape.heads),
          rows_of<fp32_bits>(inverse, "inverse", m, r.shape.heads)};
}

inline engine::attention_gradients_out gradients_of(const attention_request& r,
                                                    const zeroulp_matrix* dq,
                                                    const zeroulp_matrix* dk,
                                                    const zeroulp_matrix* dv) {
  const auto m = r.inputs.q.rows;
  return {rows_of<bf16_bits>(dq, "dq", m, r.inputs.q.cols),
          rows_of<bf16_bits>(dk, "dk", m, r.inputs.q.cols),
          rows_of<bf16_bits>(dv, "dv", m, r.inputs.v.cols)};
}

/// Without room to work.
inline cross_entropy_rows cross_entropy_rows_of(
    const zeroulp_const_matrix* logits, const zeroulp_const_matrix* targets,
    std::uint32_t factor, const zeroulp_matrix* losses,
    const zeroulp_matrix* dlogits) {
  const auto from = rows_of<fp32_bits>(logits, "logits");
  const auto m = from.rows;
  return {from,
          rows_of<row_index>(targets, "targets", m, 1),
          factor,
          rows_of<fp32_bits>(losses, "losses", m, 1),
          optional_rows_of<bf16_bits>(dlogits, "dlogits", m, from.cols),
          {}};
}

inline router router_of(const zeroulp_router* given, std::ptrdiff_t experts) {
  const auto& r = needed(given, "router");
  const router result{enum_of(r.score, router_score::softmax, "router.score"),
                      r.top,
                      r.groups,
                      r.kept,
                      enum_of(r.of_group, group_score::max, "router.of_group"),
                      checked(r.normalized, 0, 1, "router.normalized") == 1,
                      r.scale};
  if (is_valid(result, experts)) return result;
  refuse(
      "router: {} experts in {} groups of which {} are kept, top {}: groups "
      "must be alike, and the kept ones hold the top",
      experts, r.groups, r.kept, r.top);
}

template <class Tensors>
struct routed {
  zeroulp::router router;
  Tensors t;
};

/// Without room to work.
inline routed<routing> routing_of(const zeroulp_router* given,
                                  const zeroulp_const_matrix* logits,
                                  const zeroulp_const_matrix* bias,
                                  const zeroulp_matrix* scores,
                                  const zeroulp_matrix* experts,
                                  const zeroulp_matrix* weights) {
  const auto from = rows_of<fp32_bits>(logits, "logits");
  const auto m = from.rows;
  const auto n = from.cols;
  const router r = router_of(given, n);
  return {r,
          {from,
           optional_rows_of<fp32_bits>(bias, "bias", 1, n),
           rows_of<fp32_bits>(scores, "scores", m, n),
           rows_of<row_index>(experts, "experts", m, r.top),
           rows_of<fp32_bits>(weights, "weights", m, r.top),
           {}}};
}

inline routed<routing_gradients> routing_gradients_of(
    const zeroulp_router* given, const zeroulp_const_matrix* scores,
    const zeroulp_const_matrix* experts, const zeroulp_const_matrix* dweights,
    const zeroulp_matrix* dlogits) {
  const auto from = rows_of<fp32_bits>(scores, "scores");
  const auto m = from.rows;
  const auto n = from.cols;
  const router r = router_of(given, n);
  return {r,
          {from, rows_of<row_index>(experts, "experts", m, r.top),
           rows_of<fp32_bits>(dweights, "dweights", m, r.top),
           rows_of<fp32_bits>(dlogits, "dlogits", m, n)}};
}

/// The capacity of a plan; -1: more rows than an index can name.
inline std::int64_t capacity_of(std::int64_t slots, std::int64_t experts,
                                std::int64_t align) {
  constexpr std::int64_t most_rows = 0x7fffffff;
  std::int64_t padding = 0;
  std::int64_t rows = 0;
  const bool beyond = __builtin_mul_overflow(experts, align - 1, &padding) ||
                      __builtin_add_overflow(slots, padding, &rows);
  return beyond || rows > most_rows ? -1 : rows;
}

inline expert_plan plan_of(const zeroulp_const_matrix* experts,
                           std::int64_t align, const zeroulp_matrix* rows,
                           const zeroulp_matrix* slots,
                           const zeroulp_matrix* ends) {
  const auto given = rows_of<row_index>(experts, "experts");
  const auto chosen = without_empty_rows(given);
  const auto to_slots = without_empty_rows(
      rows_of<row_index>(slots, "slots", given.rows, given.cols));
  const auto to_ends =
      rows_of<row_index>(ends, "ends", view_of(ends, "ends").rows, 1);
  const auto to_rows =
      rows_of<row_index>(rows, "rows", view_of(rows, "rows").rows, 1);
  if (align < 1) refuse("align is {}: use 1 and up", align);
  if (to_ends.rows < 1) refuse("ends: 0 x 1, but one more than experts are");
  const auto capacity =
      capacity_of(chosen.rows * chosen.cols, to_ends.rows - 1, align);
  if (capacity < 0) refuse("rows: more than 2^31 - 1 are needed");
  if (to_rows.rows < capacity) {
    refuse("rows: {} x 1, but {} x 1 hold any choice", to_rows.rows, capacity);
  }
  return {chosen, align, to_rows, to_slots, to_ends};
}

inline slot_gradients slot_gradients_of(const zeroulp_const_matrix* dy,
                                        const zeroulp_const_matrix* slots,
                                        const zeroulp_const_matrix* weights,
                                        const zeroulp_const_matrix* y,
                                        const zeroulp_matrix* d_rows,
                                        const zeroulp_matrix* dweights) {
  const auto from = rows_of<bf16_bits>(dy, "dy");
  const auto m = from.rows;
  const auto n = from.cols;
  const auto top = view_of(slots, "slots").cols;
  if (d_rows != nullptr) needed(weights, "weights");
  if (dweights != nullptr) needed(y, "y");
  slot_gradients t{from,
                   rows_of<row_index>(slots, "slots", m, top),
                   optional_rows_of<fp32_bits>(weights, "weights", m, top),
                   {},
                   {},
                   optional_rows_of<fp32_bits>(dweights, "dweights", m, top)};
  std::ptrdiff_t count = y == nullptr ? 0 : view_of(y, "y").rows;
  if (d_rows != nullptr) {
    count = view_of(d_rows, "d_rows").rows;
    t.d_rows = rows_of<bf16_bits>(d_rows, "d_rows", count, n);
  }
  if (y != nullptr) t.y = rows_of<bf16_bits>(y, "y", count, n);
  if (top == 0) {
    // Tokens without slots are not counted.
    t.dy.rows = t.slots.rows = t.weights.rows = t.dweights.rows = 0;
  }
  return t;
}

}  // namespace zeroulp::c_abi

#endif  // ZEROULP_SRC_C_ABI_MODEL_REQUESTS_HPP_
