// The C ABI of the kernels: the router of a mixture of experts, its plan, its
// rows and their gradients.

#include "cuda/c_abi/model_rows.hpp"

using namespace zeroulp::c_abi;
namespace cuda = zeroulp::cuda;

zeroulp_status zeroulp_cuda_route(
    const zeroulp_router* router, const zeroulp_cuda_const_matrix* logits,
    const zeroulp_cuda_const_matrix* bias, const zeroulp_cuda_matrix* scores,
    const zeroulp_cuda_matrix* experts, const zeroulp_cuda_matrix* weights,
    void* work, std::int64_t work_bytes, void* stream) {
  return guarded(__func__, [&] {
    auto r = routing_of(router, as_host<fp32_bits>(logits, "logits"),
                        as_host<fp32_bits>(bias, "bias"),
                        as_host<fp32_bits>(scores, "scores"),
                        as_host<row_index>(experts, "experts"),
                        as_host<fp32_bits>(weights, "weights"));
    const auto m = r.t.logits.rows;
    const auto each = r.t.logits.cols + r.router.groups;
    r.t.work = {room_of<fp32_bits>(work, work_bytes, m, each).data(), m, each};
    cuda::route(r.router, r.t, stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_route_backward(
    const zeroulp_router* router, const zeroulp_cuda_const_matrix* scores,
    const zeroulp_cuda_const_matrix* experts,
    const zeroulp_cuda_const_matrix* dweights,
    const zeroulp_cuda_matrix* dlogits, void* stream) {
  return guarded(__func__, [&] {
    const auto r =
        routing_gradients_of(router, as_host<fp32_bits>(scores, "scores"),
                             as_host<row_index>(experts, "experts"),
                             as_host<fp32_bits>(dweights, "dweights"),
                             as_host<fp32_bits>(dlogits, "dlogits"));
    cuda::route_backward(r.router, r.t, stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_update_bias(
    const zeroulp_cuda_const_matrix* experts, std::uint32_t speed,
    const zeroulp_cuda_matrix* bias, void* stream) {
  return guarded(__func__, [&] {
    const auto chosen =
        without_empty_rows(rows_on_gpu<row_index>(experts, "experts"));
    const auto to = rows_on_gpu<fp32_bits>(bias, "bias");
    cuda::update_bias(chosen, speed, to, stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_make_plan(const zeroulp_cuda_const_matrix* experts,
                                      std::int64_t align,
                                      const zeroulp_cuda_matrix* rows,
                                      const zeroulp_cuda_matrix* slots,
                                      const zeroulp_cuda_matrix* ends,
                                      void* work, std::int64_t work_bytes,
                                      void* stream) {
  return guarded(__func__, [&] {
    const auto p = plan_of(as_host<row_index>(experts, "experts"), align,
                           as_host<row_index>(rows, "rows"),
                           as_host<row_index>(slots, "slots"),
                           as_host<row_index>(ends, "ends"));
    const auto words =
        cuda::plan_work(p.experts.rows * p.experts.cols, p.ends.rows - 1);
    cuda::make_plan(p, room_of<row_index>(work, work_bytes, words, 1),
                    stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_gather(const zeroulp_cuda_const_matrix* x,
                                   const zeroulp_cuda_const_matrix* rows,
                                   const zeroulp_cuda_matrix* y, void* stream) {
  return guarded(__func__, [&] {
    const auto from = rows_on_gpu<bf16_bits>(x, "x");
    const auto count = needed(rows, "rows").rows;
    cuda::gather(from, rows_on_gpu<row_index>(rows, "rows", count, 1),
                 rows_on_gpu<bf16_bits>(y, "y", count, from.cols),
                 stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_slot_backward(
    const zeroulp_cuda_const_matrix* dy, const zeroulp_cuda_const_matrix* slots,
    const zeroulp_cuda_const_matrix* weights,
    const zeroulp_cuda_const_matrix* y, const zeroulp_cuda_matrix* d_rows,
    const zeroulp_cuda_matrix* dweights, void* stream) {
  return guarded(__func__, [&] {
    cuda::slot_backward(
        slot_gradients_of(
            as_host<bf16_bits>(dy, "dy"), as_host<row_index>(slots, "slots"),
            as_host<fp32_bits>(weights, "weights"), as_host<bf16_bits>(y, "y"),
            as_host<bf16_bits>(d_rows, "d_rows"),
            as_host<fp32_bits>(dweights, "dweights")),
        stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_append_slot(
    const zeroulp_cuda_const_matrix* slots,
    const zeroulp_cuda_const_matrix* weights, std::int64_t first,
    const zeroulp_cuda_matrix* all, const zeroulp_cuda_matrix* by,
    void* stream) {
  return guarded(__func__, [&] {
    const auto from = rows_on_gpu<row_index>(slots, "slots");
    const auto m = from.rows;
    const auto top = from.cols;
    if (first < 0 || first > 0x7fffffff) {
      refuse("first is {}: use 0 to 2^31 - 1", first);
    }
    if (by != nullptr) needed(weights, "weights");
    cuda::append_slot(
        from, optional_rows_on_gpu<fp32_bits>(weights, "weights", m, top),
        first, rows_on_gpu<row_index>(all, "all", m, top + 1),
        optional_rows_on_gpu<fp32_bits>(by, "by", m, top + 1),
        stream_of(stream));
  });
}
