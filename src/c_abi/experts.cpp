// The C ABI: the router of a mixture of experts, its plan and its gradients.

#include "src/c_abi/model_requests.hpp"

namespace zeroulp::c_abi {
namespace {

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
    const auto r = routing_of(router, logits, bias, scores, experts, weights);
    engine::route(r.router, r.t);
  });
}

zeroulp_status zeroulp_route_backward(const zeroulp_router* router,
                                      const zeroulp_const_matrix* scores,
                                      const zeroulp_const_matrix* experts,
                                      const zeroulp_const_matrix* dweights,
                                      const zeroulp_matrix* dlogits) {
  return guarded(__func__, [&] {
    const auto r =
        routing_gradients_of(router, scores, experts, dweights, dlogits);
    engine::route_backward(r.router, r.t);
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
  return guarded(__func__, [&] {
    engine::make_plan(plan_of(experts, align, rows, slots, ends));
  });
}

zeroulp_status zeroulp_slot_backward(const zeroulp_const_matrix* dy,
                                     const zeroulp_const_matrix* slots,
                                     const zeroulp_const_matrix* weights,
                                     const zeroulp_const_matrix* y,
                                     const zeroulp_matrix* d_rows,
                                     const zeroulp_matrix* dweights) {
  return guarded(__func__, [&] {
    engine::slot_backward(
        slot_gradients_of(dy, slots, weights, y, d_rows, dweights));
  });
}
