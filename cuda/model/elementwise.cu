// Embedding, SwiGLU's backward pass from BF16, residual sums: a thread has an
// element.
//
// Source: SPEC clauses N19, N20, S3.

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/arithmetic.cuh"
#include "zeroulp/core/model/row_sums.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::cuda {
namespace {

using A = device_fp32;
using half_view = matrix_view<const std::uint16_t>;

constexpr int threads = 256;

__device__ std::ptrdiff_t element_of_thread() {
  return static_cast<std::ptrdiff_t>(blockIdx.x) * threads + threadIdx.x;
}

__global__ void embed_rows(matrix_view<const std::uint32_t> w,
                           matrix_view<const std::int32_t> ids,
                           matrix_view<std::uint16_t> x) {
  const std::ptrdiff_t at = element_of_thread();
  if (at >= x.rows * x.cols) return;
  const std::ptrdiff_t t = at / x.cols, j = at % x.cols;
  const std::ptrdiff_t id = ids(t, 0);
  const bool inside = id >= 0 && id < w.rows;
  x(t, j) = inside ? bf16_code<A>(__uint_as_float(w(id, j))) : 0x7fff;
}

__global__ void write_one_hot(matrix_view<const std::int32_t> ids,
                              matrix_view<std::uint16_t> y) {
  const std::ptrdiff_t at = element_of_thread();
  if (at >= y.rows * y.cols) return;
  const std::ptrdiff_t v = at / y.cols, t = at % y.cols;
  y(v, t) = ids(t, 0) == v ? 0x3f80 : 0;
}

__global__ void widen_codes(const std::uint16_t* x, std::ptrdiff_t count,
                            std::uint32_t* y) {
  const std::ptrdiff_t at = element_of_thread();
  if (at < count) y[at] = std::uint32_t{x[at]} << 16;
}

__global__ void narrow_words(const std::uint32_t* x, std::ptrdiff_t count,
                             std::uint16_t* y) {
  const std::ptrdiff_t at = element_of_thread();
  if (at < count) y[at] = bf16_code<A>(__uint_as_float(x[at]));
}

__global__ void repeat_rows(matrix_view<const std::uint32_t> blocks,
                            std::ptrdiff_t each,
                            matrix_view<std::uint32_t> rows) {
  const std::ptrdiff_t at = element_of_thread();
  if (at >= rows.rows * rows.cols) return;
  const std::ptrdiff_t i = at / rows.cols, j = at % rows.cols;
  rows(i, j) = blocks(i / each, j);
}

struct swiglu_views {
  half_view g, u, dh;
  matrix_view<std::uint16_t> h, dg, du;
};

__global__ void differentiate_swiglu(const __grid_constant__ swiglu_views t) {
  const std::ptrdiff_t at = element_of_thread();
  if (at >= t.g.rows * t.g.cols) return;
  const std::ptrdiff_t i = at / t.g.cols, j = at % t.g.cols;
  const float dh = t.dh.data == nullptr ? 0.0f : bf16_number<A>(t.dh(i, j));
  const auto x = swiglu_gradient<A>(bf16_number<A>(t.g(i, j)),
                                    bf16_number<A>(t.u(i, j)), dh);
  const auto put = [&](const matrix_view<std::uint16_t>& to, float value) {
    if (to.data != nullptr) to(i, j) = bf16_code<A>(value);
  };
  put(t.h, x.h);
  put(t.dg, x.dg);
  put(t.du, x.du);
}

__device__ float number_of(std::uint16_t x) { return bf16_number<A>(x); }
__device__ float number_of(std::uint32_t x) { return __uint_as_float(x); }

template <class B>
__global__ void add_elements(const std::uint16_t* a, const B* b,
                             std::ptrdiff_t count, std::uint16_t* sum) {
  const std::ptrdiff_t at = element_of_thread();
  if (at >= count) return;
  sum[at] = bf16_code<A>(__fadd_rn(number_of(a[at]), number_of(b[at])));
}

template <class B>
void add_spans(std::span<const std::uint16_t> a, std::span<const B> b,
               std::span<std::uint16_t> sum, CUstream_st* stream) {
  const argument_checks r("cuda::add");
  r.need(a.size() == sum.size() && b.size() == sum.size(),
         "a, b and the sum differ in size");
  if (sum.empty()) return;
  const auto count = static_cast<std::ptrdiff_t>(sum.size());
  const unsigned blocks = r.blocks(ceil_div(count, threads));
  r.need_gpu();
  add_elements<<<blocks, threads, 0, stream>>>(a.data(), b.data(), count,
                                               sum.data());
  r.launched();
}

}  // namespace

void embed(matrix_view<const std::uint32_t> w,
           matrix_view<const std::int32_t> ids, matrix_view<std::uint16_t> x,
           CUstream_st* stream) {
  const argument_checks r("cuda::embed");
  r.need(ids.rows == x.rows && ids.cols == 1 && w.cols == x.cols,
         "x has a row of w for each of ids");
  if (x.rows == 0 || x.cols == 0) return;
  const unsigned blocks = r.blocks(ceil_div(x.rows * x.cols, threads));
  r.need_gpu();
  embed_rows<<<blocks, threads, 0, stream>>>(w, ids, x);
  r.launched();
}

void one_hot(matrix_view<const std::int32_t> ids, matrix_view<std::uint16_t> y,
             CUstream_st* stream) {
  const argument_checks r("cuda::one_hot");
  r.need(ids.rows == y.cols && ids.cols == 1, "y has a column for each of ids");
  if (y.rows == 0 || y.cols == 0) return;
  const unsigned blocks = r.blocks(ceil_div(y.rows * y.cols, threads));
  r.need_gpu();
  write_one_hot<<<blocks, threads, 0, stream>>>(ids, y);
  r.launched();
}

void swiglu_backward(half_view g, half_view u, half_view dh,
                     matrix_view<std::uint16_t> h,
                     matrix_view<std::uint16_t> dg,
                     matrix_view<std::uint16_t> du, CUstream_st* stream) {
  const argument_checks r("cuda::swiglu_backward");
  const auto need = [&](half_view x, const char* what) {
    if (x.data != nullptr && (x.rows != g.rows || x.cols != g.cols)) {
      r.refuse(std::string(what) + " has another shape than g");
    }
  };
  need(u, "u");
  need(dh, "dh");
  need(h, "h");
  need(dg, "dg");
  need(du, "du");
  r.need(dh.data != nullptr || (dg.data == nullptr && du.data == nullptr),
         "dg and du are made from dh");
  if (g.rows == 0 || g.cols == 0) return;
  const unsigned blocks = r.blocks(ceil_div(g.rows * g.cols, threads));
  r.need_gpu();
  differentiate_swiglu<<<blocks, threads, 0, stream>>>({g, u, dh, h, dg, du});
  r.launched();
}

void widen(std::span<const std::uint16_t> x, std::span<std::uint32_t> y,
           CUstream_st* stream) {
  const argument_checks r("cuda::widen");
  r.need(x.size() == y.size(), "x and y differ in size");
  if (x.empty()) return;
  const auto count = static_cast<std::ptrdiff_t>(x.size());
  const unsigned blocks = r.blocks(ceil_div(count, threads));
  r.need_gpu();
  widen_codes<<<blocks, threads, 0, stream>>>(x.data(), count, y.data());
  r.launched();
}

void narrow(std::span<const std::uint32_t> x, std::span<std::uint16_t> y,
            CUstream_st* stream) {
  const argument_checks r("cuda::narrow");
  r.need(x.size() == y.size(), "x and y differ in size");
  if (x.empty()) return;
  const auto count = static_cast<std::ptrdiff_t>(x.size());
  const unsigned blocks = r.blocks(ceil_div(count, threads));
  r.need_gpu();
  narrow_words<<<blocks, threads, 0, stream>>>(x.data(), count, y.data());
  r.launched();
}

void expand_rows(matrix_view<const std::uint32_t> blocks, std::ptrdiff_t each,
                 matrix_view<std::uint32_t> rows, CUstream_st* stream) {
  const argument_checks r("cuda::expand_rows");
  r.need(each > 0 && blocks.rows == ceil_div(rows.rows, each) &&
             blocks.cols == rows.cols,
         "`blocks` has a row for each `each` rows");
  if (rows.rows == 0 || rows.cols == 0) return;
  const unsigned count = r.blocks(ceil_div(rows.rows * rows.cols, threads));
  r.need_gpu();
  repeat_rows<<<count, threads, 0, stream>>>(blocks, each, rows);
  r.launched();
}

void add(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b,
         std::span<std::uint16_t> sum, CUstream_st* stream) {
  add_spans(a, b, sum, stream);
}
void add(std::span<const std::uint16_t> a, std::span<const std::uint32_t> b,
         std::span<std::uint16_t> sum, CUstream_st* stream) {
  add_spans(a, b, sum, stream);
}

}  // namespace zeroulp::cuda
