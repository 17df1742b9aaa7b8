// Embedding, SwiGLU's backward pass from BF16, residual sums: a thread has an
// element, or eight.
//
// Source: SPEC clauses N19, N20, S3.

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/arithmetic.cuh"
#include "cuda/common/row_eights.cuh"
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

__global__ void embed_rows(
    const __grid_constant__ eights_matrix<const std::uint32_t> w,
    matrix_view<const std::int32_t> ids,
    const __grid_constant__ eights_matrix<std::uint16_t> x) {
  const eight_place at(x.cols);
  if (at.column >= x.cols) return;
  const std::ptrdiff_t id = ids(at.row, 0);
  const bool inside = id >= 0 && id < w.rows;
  const auto row = inside ? w.get(id, at.column) : vec8<4>{};
  x.put(at.row, at.column, bf16_codes([&](int e) {
          return inside ? number_in(row, e) : __uint_as_float(fp32_nan);
        }));
}

__global__ void write_one_hot(matrix_view<const std::int32_t> ids,
                              matrix_view<std::uint16_t> y) {
  const std::ptrdiff_t at = element_of_thread();
  if (at >= y.rows * y.cols) return;
  const std::ptrdiff_t v = at / y.cols, t = at % y.cols;
  y(v, t) = ids(t, 0) == v ? 0x3f80 : 0;
}

__global__ void widen_codes(
    const __grid_constant__ eights_matrix<const std::uint16_t> x,
    const __grid_constant__ eights_matrix<std::uint32_t> y) {
  const eight_place at(x.cols);
  if (at.column >= x.cols) return;
  const auto codes = x.get(0, at.column);
  vec8<4> words;
#pragma unroll
  for (int e = 0; e < 8; ++e) words.words[e] = codes.element(e) << 16;
  y.put(0, at.column, words);
}

__global__ void narrow_words(
    const __grid_constant__ eights_matrix<const std::uint32_t> x,
    const __grid_constant__ eights_matrix<std::uint16_t> y) {
  const eight_place at(x.cols);
  if (at.column >= x.cols) return;
  const auto words = x.get(0, at.column);
  y.put(0, at.column, bf16_codes([&](int e) { return number_in(words, e); }));
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
  eights_matrix<const std::uint16_t> g, u, dh;
  eights_matrix<std::uint16_t> h, dg, du;
};

__global__ void differentiate_swiglu(const __grid_constant__ swiglu_views t) {
  const eight_place at(t.g.cols);
  const std::ptrdiff_t i = at.row, j = at.column;
  if (j >= t.g.cols) return;
  const auto g = t.g.get(i, j), u = t.u.get(i, j);
  const auto dh = t.dh.data == nullptr ? vec8<2>{} : t.dh.get(i, j);
  swiglu_gradients<A> x[8];
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    x[e] =
        swiglu_gradient<A>(number_in(g, e), number_in(u, e), number_in(dh, e));
  }
  if (t.h.data != nullptr) {
    t.h.put(i, j, bf16_codes([&](int e) { return x[e].h; }));
  }
  if (t.dg.data != nullptr) {
    t.dg.put(i, j, bf16_codes([&](int e) { return x[e].dg; }));
  }
  if (t.du.data != nullptr) {
    t.du.put(i, j, bf16_codes([&](int e) { return x[e].du; }));
  }
}

template <class B>
__global__ void add_elements(
    const __grid_constant__ eights_matrix<const std::uint16_t> a,
    const __grid_constant__ eights_matrix<const B> b,
    const __grid_constant__ eights_matrix<std::uint16_t> sum) {
  const eight_place at(sum.cols);
  if (at.column >= sum.cols) return;
  const auto x = a.get(0, at.column);
  const auto y = b.get(0, at.column);
  sum.put(0, at.column, bf16_codes([&](int e) {
            return __fadd_rn(number_in(x, e), number_in(y, e));
          }));
}

template <class B>
void add_spans(std::span<const std::uint16_t> a, std::span<const B> b,
               std::span<std::uint16_t> sum, CUstream_st* stream) {
  const argument_checks r("cuda::add");
  r.need(a.size() == sum.size() && b.size() == sum.size(),
         "a, b and the sum differ in size");
  if (sum.empty()) return;
  const auto to = row_of(sum);
  const unsigned blocks = eight_blocks(r, 1, to.cols);
  r.need_gpu();
  add_elements<B>
      <<<blocks, eights_threads, 0, stream>>>(row_of(a), row_of(b), to);
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
  const unsigned blocks = eight_blocks(r, x.rows, x.cols);
  r.need_gpu();
  embed_rows<<<blocks, eights_threads, 0, stream>>>(eights_matrix(w), ids,
                                                    eights_matrix(x));
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
  const unsigned blocks = eight_blocks(r, g.rows, g.cols);
  r.need_gpu();
  const auto of = [](auto x) { return eights_matrix(x); };
  differentiate_swiglu<<<blocks, eights_threads, 0, stream>>>(
      {of(g), of(u), of(dh), of(h), of(dg), of(du)});
  r.launched();
}

void widen(std::span<const std::uint16_t> x, std::span<std::uint32_t> y,
           CUstream_st* stream) {
  const argument_checks r("cuda::widen");
  r.need(x.size() == y.size(), "x and y differ in size");
  if (x.empty()) return;
  const auto from = row_of(x);
  const unsigned blocks = eight_blocks(r, 1, from.cols);
  r.need_gpu();
  widen_codes<<<blocks, eights_threads, 0, stream>>>(from, row_of(y));
  r.launched();
}

void narrow(std::span<const std::uint32_t> x, std::span<std::uint16_t> y,
            CUstream_st* stream) {
  const argument_checks r("cuda::narrow");
  r.need(x.size() == y.size(), "x and y differ in size");
  if (x.empty()) return;
  const auto from = row_of(x);
  const unsigned blocks = eight_blocks(r, 1, from.cols);
  r.need_gpu();
  narrow_words<<<blocks, eights_threads, 0, stream>>>(from, row_of(y));
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
