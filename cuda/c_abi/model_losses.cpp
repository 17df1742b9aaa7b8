// The C ABI of the kernels: embedding, losses, gradients before the optimizer,
// elements.

#include <vector>

#include "cuda/c_abi/model_rows.hpp"
#include "zeroulp/core/model/row_sums.hpp"

namespace zeroulp::c_abi {
namespace {

/// Of FP64 numbers on the device.
double* number_of(double* sum) {
  needed(sum, "sum");
  if (reinterpret_cast<std::uintptr_t>(sum) % sizeof(double) != 0) {
    refuse("sum: not aligned to 8 bytes");
  }
  return sum;
}

template <class T, class Matrix>
auto elements_on_gpu(const Matrix* m, const char* what) {
  return elements_of(rows_on_gpu<T>(m, what), what);
}
template <class T, class Matrix>
auto elements_on_gpu(const Matrix* m, const char* what, std::ptrdiff_t rows,
                     std::ptrdiff_t cols) {
  return elements_of(rows_on_gpu<T>(m, what, rows, cols), what);
}

void run_cross_entropy(const zeroulp_cuda_const_matrix* logits,
                       const zeroulp_cuda_const_matrix* targets,
                       std::uint32_t factor, const zeroulp_cuda_matrix* losses,
                       const zeroulp_cuda_matrix* dlogits, void* work,
                       std::int64_t work_bytes, void* stream) {
  auto t = cross_entropy_rows_of(as_host<fp32_bits>(logits, "logits"),
                                 as_host<row_index>(targets, "targets"), factor,
                                 as_host<fp32_bits>(losses, "losses"),
                                 as_host<bf16_bits>(dlogits, "dlogits"));
  const auto m = t.logits.rows;
  const auto n = t.logits.cols;
  t.work = {room_of<fp32_bits>(work, work_bytes, m, n).data(), m, n};
  cuda::cross_entropy(t, stream_of(stream));
}

void run_add_shards(const zeroulp_cuda_const_matrix* shards, std::int64_t count,
                    const zeroulp_cuda_matrix* out, void* stream) {
  needed(shards, "shards");
  if (count < 1 || count > 64 || (count & (count - 1)) != 0) {
    refuse("count is {}: use 1, 2, 4, .. 64", count);
  }
  const auto to = rows_on_gpu<fp32_bits>(out, "out");
  std::vector<const fp32_bits*> from;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto name = fmt::format("shards[{}]", i);
    from.push_back(
        elements_on_gpu<fp32_bits>(shards + i, name.c_str(), to.rows, to.cols)
            .data());
  }
  cuda::add_shards(from, elements_of(to, "out"), stream_of(stream));
}

void run_add(const zeroulp_format* from, const zeroulp_cuda_const_matrix* a,
             const zeroulp_cuda_const_matrix* b, const zeroulp_cuda_matrix* sum,
             void* stream) {
  const auto format = format_of(from, "from");
  if (format != bf16 && format != fp32) refuse("from: use bf16 or fp32");
  const auto x = rows_on_gpu<bf16_bits>(a, "a");
  const auto to = elements_on_gpu<bf16_bits>(sum, "sum", x.rows, x.cols);
  if (format == bf16) {
    cuda::add(elements_of(x, "a"),
              elements_on_gpu<bf16_bits>(b, "b", x.rows, x.cols), to,
              stream_of(stream));
  } else {
    cuda::add(elements_of(x, "a"),
              elements_on_gpu<fp32_bits>(b, "b", x.rows, x.cols), to,
              stream_of(stream));
  }
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;
namespace cuda = zeroulp::cuda;

zeroulp_status zeroulp_cuda_embed(const zeroulp_cuda_const_matrix* w,
                                  const zeroulp_cuda_const_matrix* ids,
                                  const zeroulp_cuda_matrix* x, void* stream) {
  return guarded(__func__, [&] {
    const auto from = rows_on_gpu<fp32_bits>(w, "w");
    const auto m = needed(ids, "ids").rows;
    cuda::embed(from, rows_on_gpu<row_index>(ids, "ids", m, 1),
                rows_on_gpu<bf16_bits>(x, "x", m, from.cols),
                stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_one_hot(const zeroulp_cuda_const_matrix* ids,
                                    const zeroulp_cuda_matrix* y,
                                    void* stream) {
  return guarded(__func__, [&] {
    const auto to = rows_on_gpu<bf16_bits>(y, "y");
    cuda::one_hot(rows_on_gpu<row_index>(ids, "ids", to.cols, 1), to,
                  stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_log(const zeroulp_cuda_const_matrix* x,
                                const zeroulp_cuda_matrix* out, void* stream) {
  return guarded(__func__, [&] {
    const auto from = rows_on_gpu<fp32_bits>(x, "x");
    cuda::log(from, rows_on_gpu<fp32_bits>(out, "out", from.rows, from.cols),
              stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_cross_entropy(
    const zeroulp_cuda_const_matrix* logits,
    const zeroulp_cuda_const_matrix* targets, std::uint32_t factor,
    const zeroulp_cuda_matrix* losses, const zeroulp_cuda_matrix* dlogits,
    void* work, std::int64_t work_bytes, void* stream) {
  return guarded(__func__, [&] {
    run_cross_entropy(logits, targets, factor, losses, dlogits, work,
                      work_bytes, stream);
  });
}

zeroulp_status zeroulp_cuda_sum_of_losses(
    const zeroulp_cuda_const_matrix* losses, double* sum, void* work,
    std::int64_t work_bytes, void* stream) {
  return guarded(__func__, [&] {
    const auto m = needed(losses, "losses").rows;
    const auto from = rows_on_gpu<fp32_bits>(losses, "losses", m, 1);
    const auto ranges = zeroulp::ceil_div(m, zeroulp::loss_range);
    cuda::sum_of_losses(from, room_of<double>(work, work_bytes, ranges, 1),
                        number_of(sum), stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_sum_of_squares(const zeroulp_cuda_const_matrix* g,
                                           double* sum, void* work,
                                           std::int64_t work_bytes,
                                           void* stream) {
  return guarded(__func__, [&] {
    const auto from = elements_on_gpu<fp32_bits>(g, "g");
    const auto chunks = zeroulp::ceil_div(
        static_cast<std::ptrdiff_t>(from.size()), zeroulp::norm_chunk);
    cuda::sum_of_squares(from, room_of<double>(work, work_bytes, chunks, 1),
                         number_of(sum), stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_add_shards(const zeroulp_cuda_const_matrix* shards,
                                       std::int64_t count,
                                       const zeroulp_cuda_matrix* out,
                                       void* stream) {
  return guarded(__func__, [&] { run_add_shards(shards, count, out, stream); });
}

zeroulp_status zeroulp_cuda_scale(const zeroulp_cuda_matrix* x,
                                  std::uint32_t factor, void* stream) {
  return guarded(__func__, [&] {
    cuda::scale(elements_on_gpu<fp32_bits>(x, "x"), factor, stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_add(const zeroulp_format* from,
                                const zeroulp_cuda_const_matrix* a,
                                const zeroulp_cuda_const_matrix* b,
                                const zeroulp_cuda_matrix* sum, void* stream) {
  return guarded(__func__, [&] { run_add(from, a, b, sum, stream); });
}

zeroulp_status zeroulp_cuda_widen(const zeroulp_cuda_const_matrix* x,
                                  const zeroulp_cuda_matrix* y, void* stream) {
  return guarded(__func__, [&] {
    const auto from = rows_on_gpu<bf16_bits>(x, "x");
    cuda::widen(elements_of(from, "x"),
                elements_on_gpu<fp32_bits>(y, "y", from.rows, from.cols),
                stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_narrow(const zeroulp_cuda_const_matrix* x,
                                   const zeroulp_cuda_matrix* y, void* stream) {
  return guarded(__func__, [&] {
    const auto from = rows_on_gpu<fp32_bits>(x, "x");
    cuda::narrow(elements_of(from, "x"),
                 elements_on_gpu<bf16_bits>(y, "y", from.rows, from.cols),
                 stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_expand_rows(const zeroulp_cuda_const_matrix* blocks,
                                        std::int64_t each,
                                        const zeroulp_cuda_matrix* rows,
                                        void* stream) {
  return guarded(__func__, [&] {
    if (each < 1) refuse("each is {}: use 1 and up", each);
    const auto to = rows_on_gpu<fp32_bits>(rows, "rows");
    cuda::expand_rows(
        rows_on_gpu<fp32_bits>(blocks, "blocks",
                               zeroulp::ceil_div(to.rows, each), to.cols),
        each, to, stream_of(stream));
  });
}
