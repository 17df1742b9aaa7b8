// The C ABI: the router of a mixture of experts, its plan and its gradients.

#include "src/c_abi/model_rows.hpp"
#include "zeroulp/model.hpp"

namespace zeroulp::c_abi {
namespace {

static_assert(ZEROULP_ROUTER_SIGMOID ==
                  static_cast<int>(router_score::sigmoid) &&
              ZEROULP_ROUTER_SOFTMAX ==
                  static_cast<int>(router_score::softmax));
static_assert(ZEROULP_GROUP_TOP2_SUM ==
                  static_cast<int>(group_score::top2_sum) &&
              ZEROULP_GROUP_MAX == static_cast<int>(group_score::max));

router router_of(const zeroulp_router* given, std::ptrdiff_t experts) {
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

void run_route(const zeroulp_router* given, const zeroulp_const_matrix* logits,
               const zeroulp_const_matrix* bias, const zeroulp_matrix* scores,
               const zeroulp_matrix* experts, const zeroulp_matrix* weights) {
  const auto from = rows_of<fp32_bits>(logits, "logits");
  const auto m = from.rows;
  const auto n = from.cols;
  const router r = router_of(given, n);
  engine::route(r, {from,
                    optional_rows_of<fp32_bits>(bias, "bias", 1, n),
                    rows_of<fp32_bits>(scores, "scores", m, n),
                    rows_of<row_index>(experts, "experts", m, r.top),
                    rows_of<fp32_bits>(weights, "weights", m, r.top),
                    {}});
}

void run_route_backward(const zeroulp_router* given,
                        const zeroulp_const_matrix* scores,
                        const zeroulp_const_matrix* experts,
                        const zeroulp_const_matrix* dweights,
                        const zeroulp_matrix* dlogits) {
  const auto from = rows_of<fp32_bits>(scores, "scores");
  const auto m = from.rows;
  const auto n = from.cols;
  const router r = router_of(given, n);
  engine::route_backward(
      r, {from, rows_of<row_index>(experts, "experts", m, r.top),
          rows_of<fp32_bits>(dweights, "dweights", m, r.top),
          rows_of<fp32_bits>(dlogits, "dlogits", m, n)});
}

void run_update_bias(const zeroulp_const_matrix* experts, std::uint32_t speed,
                     const zeroulp_matrix* bias) {
  const auto chosen =
      without_empty_rows(rows_of<row_index>(experts, "experts"));
  const auto n = view_of(bias, "bias").cols;
  engine::update_bias(chosen, speed, rows_of<fp32_bits>(bias, "bias", 1, n));
}

void run_balance_loss(std::int32_t score, std::int64_t length,
                      std::uint32_t alpha, const zeroulp_const_matrix* scores,
                      const zeroulp_const_matrix* experts,
                      const zeroulp_matrix* losses,
                      const zeroulp_matrix* dlogits) {
  const auto how = enum_of(score, router_score::softmax, "score");
  const auto from = rows_of<fp32_bits>(scores, "scores");
  const auto m = from.rows;
  const auto n = from.cols;
  if (length < 1) refuse("length is {}: use 1 and up", length);
  if (m % length != 0) {
    refuse("scores: {} rows, no multiple of the length {}", m, length);
  }
  const auto top = view_of(experts, "experts").cols;
  engine::balance_loss({how,
                        length,
                        alpha,
                        from,
                        rows_of<row_index>(experts, "experts", m, top),
                        rows_of<fp32_bits>(losses, "losses", m / length, 1),
                        optional_rows_of<fp32_bits>(dlogits, "dlogits", m, n),
                        {}});
}

constexpr std::int64_t most_rows = 0x7fffffff;

/// The capacity of a plan; -1: more rows than an index can name.
std::int64_t capacity_of(std::int64_t slots, std::int64_t experts,
                         std::int64_t align) {
  std::int64_t padding = 0;
  std::int64_t rows = 0;
  const bool beyond = __builtin_mul_overflow(experts, align - 1, &padding) ||
                      __builtin_add_overflow(slots, padding, &rows);
  return beyond || rows > most_rows ? -1 : rows;
}

void run_plan_capacity(std::int64_t slots, std::int64_t experts,
                       std::int64_t align, std::int64_t* rows) {
  if (slots < 0) refuse("slots is {}: use 0 and up", slots);
  if (experts < 0) refuse("experts is {}: use 0 and up", experts);
  if (align < 1) refuse("align is {}: use 1 and up", align);
  needed(rows, "rows");
  const auto capacity = capacity_of(slots, experts, align);
  if (capacity < 0) refuse("rows: more than 2^31 - 1 are needed");
  *rows = capacity;
}

void run_make_plan(const zeroulp_const_matrix* experts, std::int64_t align,
                   const zeroulp_matrix* rows, const zeroulp_matrix* slots,
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
  engine::make_plan({chosen, align, to_rows, to_slots, to_ends});
}

void run_slot_backward(const zeroulp_const_matrix* dy,
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
  engine::slot_backward(t);
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;
namespace engine = zeroulp::engine;

zeroulp_status zeroulp_route(const zeroulp_router* router,
                             const zeroulp_const_matrix* logits,
                             const zeroulp_const_matrix* bias,
                             const zeroulp_matrix* scores,
                             const zeroulp_matrix* experts,
                             const zeroulp_matrix* weights) {
  return guarded(__func__, [&] {
    run_route(router, logits, bias, scores, experts, weights);
  });
}

zeroulp_status zeroulp_route_backward(const zeroulp_router* router,
                                      const zeroulp_const_matrix* scores,
                                      const zeroulp_const_matrix* experts,
                                      const zeroulp_const_matrix* dweights,
                                      const zeroulp_matrix* dlogits) {
  return guarded(__func__, [&] {
    run_route_backward(router, scores, experts, dweights, dlogits);
  });
}

zeroulp_status zeroulp_update_bias(const zeroulp_const_matrix* experts,
                                   std::uint32_t speed,
                                   const zeroulp_matrix* bias) {
  return guarded(__func__, [&] { run_update_bias(experts, speed, bias); });
}

zeroulp_status zeroulp_balance_loss(std::int32_t score, std::int64_t length,
                                    std::uint32_t alpha,
                                    const zeroulp_const_matrix* scores,
                                    const zeroulp_const_matrix* experts,
                                    const zeroulp_matrix* losses,
                                    const zeroulp_matrix* dlogits) {
  return guarded(__func__, [&] {
    run_balance_loss(score, length, alpha, scores, experts, losses, dlogits);
  });
}

zeroulp_status zeroulp_plan_capacity(std::int64_t slots, std::int64_t experts,
                                     std::int64_t align, std::int64_t* rows) {
  return guarded(__func__,
                 [&] { run_plan_capacity(slots, experts, align, rows); });
}

zeroulp_status zeroulp_make_plan(const zeroulp_const_matrix* experts,
                                 std::int64_t align, const zeroulp_matrix* rows,
                                 const zeroulp_matrix* slots,
                                 const zeroulp_matrix* ends) {
  return guarded(__func__,
                 [&] { run_make_plan(experts, align, rows, slots, ends); });
}

zeroulp_status zeroulp_slot_backward(const zeroulp_const_matrix* dy,
                                     const zeroulp_const_matrix* slots,
                                     const zeroulp_const_matrix* weights,
                                     const zeroulp_const_matrix* y,
                                     const zeroulp_matrix* d_rows,
                                     const zeroulp_matrix* dweights) {
  return guarded(__func__, [&] {
    run_slot_backward(dy, slots, weights, y, d_rows, dweights);
  });
}
