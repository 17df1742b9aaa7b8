// The C ABI of the kernels: products, attention and what is around it.

#include <optional>

#include "cuda/c_abi/model_rows.hpp"

namespace zeroulp::c_abi {
namespace {

constexpr bool is(int kind, cuda::gemm_span span) {
  return kind == static_cast<int>(span);
}
static_assert(is(ZEROULP_CUDA_SPAN_ALL, cuda::gemm_span::all) &&
              is(ZEROULP_CUDA_SPAN_TO_DIAGONAL, cuda::gemm_span::to_diagonal) &&
              is(ZEROULP_CUDA_SPAN_FROM_DIAGONAL,
                 cuda::gemm_span::from_diagonal) &&
              is(ZEROULP_CUDA_SPAN_LOWER, cuda::gemm_span::lower));

/// A matrix of a product, of elements of so many bytes and of any strides.
const_code_view factor_of(const zeroulp_const_matrix* m, int least, int most,
                          const char* what) {
  const auto v = view_of(m, what);
  need_bytes(v, least, most, what);
  if (!v.is_empty() && (v.row_stride < 0 || v.col_stride < 0)) {
    refuse("{}: a negative stride", what);
  }
  return v;
}
template <class T>
matrix_view<const T> as_elements(const const_code_view& v) {
  return {static_cast<const T*>(v.data), v.rows, v.cols, v.row_stride,
          v.col_stride};
}

cuda::batch_strides strides_of(const zeroulp_cuda_batch_strides& s,
                               const char* what) {
  if (s.outer < 0 || s.inner < 0) {
    refuse("{} is {}, {}: use 0 and up", what, s.outer, s.inner);
  }
  return {s.outer, s.inner};
}

cuda::bf16_gemm gemm_of(const zeroulp_cuda_bf16_gemm* given) {
  const auto& x = needed(given, "gemm");
  if (reinterpret_cast<std::uintptr_t>(x.row_sums) % sizeof(fp32_bits) != 0) {
    refuse("row_sums: data is not aligned to elements of 4 bytes");
  }
  cuda::bf16_gemm g;
  g.a = as_elements<bf16_bits>(factor_of(&x.a, 2, 2, "a"));
  g.b = as_elements<bf16_bits>(factor_of(&x.b, 2, 2, "b"));
  g.output = format_of(&x.output, "output");
  g.d = matrix_of(&x.d, "d");
  g.splits = x.splits;
  g.span = enum_of(x.span, cuda::gemm_span::lower, "span");
  g.factor = x.factor;
  g.row_sums = x.row_sums;
  g.outer = x.outer;
  g.inner = x.inner;
  g.a_batch = strides_of(x.a_batch, "a_batch");
  g.b_batch = strides_of(x.b_batch, "b_batch");
  g.d_batch = strides_of(x.d_batch, "d_batch");
  g.row_sums_batch = strides_of(x.row_sums_batch, "row_sums_batch");
  return g;
}

cuda::sequential_operand sequential_operand_of(const zeroulp_const_matrix* m,
                                               const char* what) {
  const auto v = factor_of(m, 2, 4, what);
  if (v.bytes == 2) return as_elements<bf16_bits>(v);
  return as_elements<fp32_bits>(v);
}

void run_sequential_gemm(std::int64_t interval, const zeroulp_const_matrix* a,
                         const zeroulp_const_matrix* b,
                         const zeroulp_cuda_matrix* d, void* work,
                         std::int64_t work_bytes, void* stream) {
  if (interval < 0) refuse("interval is {}: use 0 and up", interval);
  const auto x = sequential_operand_of(a, "a");
  const auto y = sequential_operand_of(b, "b");
  const auto to = rows_on_gpu<fp32_bits>(d, "d");
  const auto ranges = interval == 0 ? 0 : ceil_div(x.cols, interval);
  cuda::sequential_gemm(
      x, y, interval, to,
      room_of<fp32_bits>(work, work_bytes, ranges, to.rows * to.cols),
      stream_of(stream));
}

/// Requires rows that the products of attention can read.
void need_aligned_rows(const matrix_view<const bf16_bits>& v,
                       const char* what) {
  if (reinterpret_cast<std::uintptr_t>(v.data) % 16 == 0 &&
      v.row_stride % 8 == 0) {
    return;
  }
  refuse("{}: rows do not start on multiples of 16 bytes", what);
}

/// Requires that room for one sequence can be told in bytes.
void need_bytes_of_scores(const attention_shape& s) {
  constexpr std::int64_t most = std::int64_t{1} << 56;
  std::int64_t rows = 0, all = 0;
  if (s.length < most && s.value_depth < most &&
      !__builtin_mul_overflow(s.length, s.heads, &rows) &&
      !__builtin_mul_overflow(rows, s.length + s.value_depth + 16, &all) &&
      all < most) {
    return;
  }
  refuse("shape: the scores of a sequence exceed the memory");
}

attention_request attention_on_gpu(const zeroulp_attention* shape,
                                   const zeroulp_cuda_const_matrix* q,
                                   const zeroulp_cuda_const_matrix* k,
                                   const zeroulp_cuda_const_matrix* v) {
  const auto r =
      attention_of(shape, as_host<bf16_bits>(q, "q"),
                   as_host<bf16_bits>(k, "k"), as_host<bf16_bits>(v, "v"));
  need_aligned_rows(r.inputs.q, "q");
  need_aligned_rows(r.inputs.k, "k");
  need_aligned_rows(r.inputs.v, "v");
  need_bytes_of_scores(r.shape);
  return r;
}

/// Without a depth, for each.
void run_attention_work(const zeroulp_attention* given,
                        std::optional<std::int64_t> depth,
                        std::int64_t value_depth, std::int64_t sequences,
                        std::int64_t* bytes) {
  const auto& s = needed(given, "shape");
  if (s.length < 1) refuse("shape.length is {}: use 1 and up", s.length);
  if (s.heads < 1) refuse("shape.heads is {}: use 1 and up", s.heads);
  if (depth && *depth < 1) refuse("depth is {}: use 1 and up", *depth);
  if (value_depth < 1) refuse("value_depth is {}: use 1 and up", value_depth);
  if (sequences < 0) refuse("sequences is {}: use 0 and up", sequences);
  const attention_shape shape{s.length, s.heads, depth.value_or(0), value_depth,
                              s.scale};
  need_bytes_of_scores(shape);
  const auto one =
      static_cast<std::int64_t>(cuda::attention_work_bytes(shape, 1));
  std::int64_t all = 0;
  // Room of each is padded: so many times one is no less than all at once.
  if (__builtin_mul_overflow(one, sequences, &all)) {
    refuse("sequences is {}: their scores exceed the memory", sequences);
  }
  needed(bytes, "bytes") = all;
}

std::span<std::byte> all_room_of(void* work, std::int64_t work_bytes) {
  return room_of<std::byte>(work, work_bytes, work_bytes, 1);
}

cuda::mla_shape mla_of(const zeroulp_cuda_mla* given,
                       const zeroulp_cuda_const_matrix* cosines,
                       const zeroulp_cuda_const_matrix* sines) {
  const auto& s = needed(given, "shape");
  const auto width = [](std::int64_t x, std::int64_t least, const char* what) {
    constexpr std::int64_t most = 1 << 24;
    if (x >= least && x <= most) return x;
    refuse("shape.{} is {}: use {} to {}", what, x, least, most);
  };
  const auto c = rows_on_gpu<fp32_bits>(cosines, "cosines");
  return {width(s.heads, 1, "heads"),
          width(s.plain, 0, "plain"),
          width(s.turned, 0, "turned"),
          width(s.value, 0, "value"),
          width(s.rank, 0, "rank"),
          c,
          rows_on_gpu<fp32_bits>(sines, "sines", c.rows, c.cols)};
}

/// The struct of both directions has outputs alone; what is an input is read.
matrix_view<bf16_bits> input_of(const zeroulp_cuda_const_matrix* m,
                                const char* what) {
  const auto v = rows_on_gpu<bf16_bits>(m, what);
  return {const_cast<bf16_bits*>(v.data), v.rows, v.cols, v.row_stride,
          v.col_stride};
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;
namespace cuda = zeroulp::cuda;

zeroulp_status zeroulp_cuda_gemm_bf16(const zeroulp_cuda_bf16_gemm* gemm,
                                      void* stream) {
  return guarded(__func__,
                 [&] { cuda::gemm_bf16(gemm_of(gemm), stream_of(stream)); });
}

zeroulp_status zeroulp_cuda_sequential_gemm(std::int64_t interval,
                                            const zeroulp_const_matrix* a,
                                            const zeroulp_const_matrix* b,
                                            const zeroulp_cuda_matrix* d,
                                            void* work, std::int64_t work_bytes,
                                            void* stream) {
  return guarded(__func__, [&] {
    run_sequential_gemm(interval, a, b, d, work, work_bytes, stream);
  });
}

zeroulp_status zeroulp_cuda_attention_work(const zeroulp_attention* shape,
                                           std::int64_t value_depth,
                                           std::int64_t sequences,
                                           std::int64_t* bytes) {
  return guarded(__func__, [&] {
    run_attention_work(shape, {}, value_depth, sequences, bytes);
  });
}

zeroulp_status zeroulp_cuda_attention_work_of_depth(
    const zeroulp_attention* shape, std::int64_t depth,
    std::int64_t value_depth, std::int64_t sequences, std::int64_t* bytes) {
  return guarded(__func__, [&] {
    run_attention_work(shape, depth, value_depth, sequences, bytes);
  });
}

zeroulp_status zeroulp_cuda_attention_forward(
    const zeroulp_attention* shape, const zeroulp_cuda_const_matrix* q,
    const zeroulp_cuda_const_matrix* k, const zeroulp_cuda_const_matrix* v,
    const zeroulp_cuda_matrix* o, const zeroulp_cuda_matrix* largest,
    const zeroulp_cuda_matrix* inverse, void* work, std::int64_t work_bytes,
    void* stream) {
  return guarded(__func__, [&] {
    const auto r = attention_on_gpu(shape, q, k, v);
    const auto out = outputs_of(r, as_host<bf16_bits>(o, "o"),
                                as_host<fp32_bits>(largest, "largest"),
                                as_host<fp32_bits>(inverse, "inverse"));
    cuda::attention_forward(r.shape, r.inputs, out.o, out.largest, out.inverse,
                            all_room_of(work, work_bytes), stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_attention_backward(
    const zeroulp_attention* shape, const zeroulp_cuda_const_matrix* q,
    const zeroulp_cuda_const_matrix* k, const zeroulp_cuda_const_matrix* v,
    const zeroulp_cuda_const_matrix* o,
    const zeroulp_cuda_const_matrix* largest,
    const zeroulp_cuda_const_matrix* inverse,
    const zeroulp_cuda_const_matrix* d_o, const zeroulp_cuda_matrix* dq,
    const zeroulp_cuda_matrix* dk, const zeroulp_cuda_matrix* dv, void* work,
    std::int64_t work_bytes, void* stream) {
  return guarded(__func__, [&] {
    const auto r = attention_on_gpu(shape, q, k, v);
    const auto kept = kept_of(r, as_host<fp32_bits>(o, "o"),
                              as_host<fp32_bits>(largest, "largest"),
                              as_host<fp32_bits>(inverse, "inverse"));
    const auto slope =
        rows_on_gpu<bf16_bits>(d_o, "d_o", r.inputs.v.rows, r.inputs.v.cols);
    need_aligned_rows(slope, "d_o");
    const auto out = gradients_of(r, as_host<bf16_bits>(dq, "dq"),
                                  as_host<bf16_bits>(dk, "dk"),
                                  as_host<bf16_bits>(dv, "dv"));
    cuda::attention_backward(r.shape, r.inputs, kept, slope, out,
                             all_room_of(work, work_bytes), stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_rope(std::int32_t pairs, std::int32_t backward,
                                 std::int64_t heads,
                                 const zeroulp_cuda_const_matrix* x,
                                 const zeroulp_cuda_const_matrix* cosines,
                                 const zeroulp_cuda_const_matrix* sines,
                                 const zeroulp_cuda_matrix* y, void* stream) {
  return guarded(__func__, [&] {
    cuda::rope(rope_rows_of(pairs, backward, heads, as_host<bf16_bits>(x, "x"),
                            as_host<fp32_bits>(cosines, "cosines"),
                            as_host<fp32_bits>(sines, "sines"),
                            as_host<bf16_bits>(y, "y")),
               stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_mla_assemble(
    const zeroulp_cuda_mla* shape, const zeroulp_cuda_const_matrix* cosines,
    const zeroulp_cuda_const_matrix* sines,
    const zeroulp_cuda_const_matrix* first,
    const zeroulp_cuda_const_matrix* second, const zeroulp_cuda_matrix* q,
    const zeroulp_cuda_matrix* k, const zeroulp_cuda_matrix* v, void* stream) {
  return guarded(__func__, [&] {
    cuda::mla_assemble(
        mla_of(shape, cosines, sines),
        {input_of(first, "first"), input_of(second, "second"),
         rows_on_gpu<bf16_bits>(q, "q"), rows_on_gpu<bf16_bits>(k, "k"),
         rows_on_gpu<bf16_bits>(v, "v")},
        stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_mla_assemble_backward(
    const zeroulp_cuda_mla* shape, const zeroulp_cuda_const_matrix* cosines,
    const zeroulp_cuda_const_matrix* sines, const zeroulp_cuda_const_matrix* dq,
    const zeroulp_cuda_const_matrix* dk, const zeroulp_cuda_const_matrix* dv,
    const zeroulp_cuda_matrix* dfirst, const zeroulp_cuda_matrix* dsecond,
    void* stream) {
  return guarded(__func__, [&] {
    cuda::mla_assemble_backward(
        mla_of(shape, cosines, sines),
        {rows_on_gpu<bf16_bits>(dfirst, "dfirst"),
         rows_on_gpu<bf16_bits>(dsecond, "dsecond"), input_of(dq, "dq"),
         input_of(dk, "dk"), input_of(dv, "dv")},
        stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_rms_norm_backward(
    const zeroulp_cuda_const_matrix* dy, const zeroulp_cuda_const_matrix* x,
    const zeroulp_cuda_const_matrix* w, const zeroulp_cuda_const_matrix* rstd,
    const zeroulp_cuda_const_matrix* residual, const zeroulp_cuda_matrix* dx,
    const zeroulp_cuda_matrix* dw, void* work, std::int64_t work_bytes,
    void* stream) {
  return guarded(__func__, [&] {
    const auto t = rms_norm_gradients_of(
        as_host<bf16_bits>(dy, "dy"), as_host<bf16_bits>(x, "x"),
        as_host<fp32_bits>(w, "w"), as_host<fp32_bits>(rstd, "rstd"),
        as_host<bf16_bits>(residual, "residual"), as_host<bf16_bits>(dx, "dx"),
        as_host<fp32_bits>(dw, "dw"));
    const auto ranges =
        dw == nullptr ? 0 : zeroulp::ceil_div(t.x.rows, zeroulp::token_range);
    cuda::rms_norm_backward(
        t, room_of<fp32_bits>(work, work_bytes, ranges, t.x.cols),
        stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_swiglu_backward_bf16(
    const zeroulp_cuda_const_matrix* g, const zeroulp_cuda_const_matrix* u,
    const zeroulp_cuda_const_matrix* dh, const zeroulp_cuda_matrix* h,
    const zeroulp_cuda_matrix* dg, const zeroulp_cuda_matrix* du,
    void* stream) {
  return guarded(__func__, [&] {
    const auto from = rows_on_gpu<bf16_bits>(g, "g");
    const auto m = from.rows;
    const auto n = from.cols;
    if (dg != nullptr || du != nullptr) needed(dh, "dh");
    cuda::swiglu_backward(from, rows_on_gpu<bf16_bits>(u, "u", m, n),
                          optional_rows_on_gpu<bf16_bits>(dh, "dh", m, n),
                          optional_rows_on_gpu<bf16_bits>(h, "h", m, n),
                          optional_rows_on_gpu<bf16_bits>(dg, "dg", m, n),
                          optional_rows_on_gpu<bf16_bits>(du, "du", m, n),
                          stream_of(stream));
  });
}
