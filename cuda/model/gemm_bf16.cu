// The host side of cuda::gemm_bf16: checks a request and launches the kernel
// for it.

#include "cuda/common/argument_checks.hpp"
#include "cuda/model/gemm_bf16.cuh"

namespace zeroulp::cuda {
namespace {

using half_view = matrix_view<const std::uint16_t>;

bool is_along_k(const half_view& x) { return x.col_stride == 1; }

bf16_source source_of(const argument_checks& r, const half_view& x,
                      const batch_strides& batch, const char* what) {
  const std::ptrdiff_t stride = is_along_k(x) ? x.row_stride : x.col_stride;
  const std::ptrdiff_t near = is_along_k(x) ? x.col_stride : x.row_stride;
  const bool aligned = reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 &&
                       stride % 8 == 0 && batch.outer % 8 == 0 &&
                       batch.inner % 8 == 0;
  r.need(x.rows >= 0 && x.cols >= 0, "a number of rows or columns is negative");
  if (near != 1 || !aligned) {
    r.refuse(std::string(what) +
             " needs one stride of 1, rows (or columns) on multiples of 16 "
             "bytes");
  }
  return {x.data, x.rows, stride, batch};
}

template <bool A, bool B, bool Splits>
void launch(const argument_checks& r, const bf16_params& params, dim3 grid,
            CUstream_st* stream) {
  static const cudaError_t status = cudaFuncSetAttribute(
      multiply_bf16<A, B, Splits>, cudaFuncAttributeMaxDynamicSharedMemorySize,
      bf16_shared_bytes);
  r.require(status);
  multiply_bf16<A, B, Splits>
      <<<grid, bf16_threads, bf16_shared_bytes, stream>>>(params);
  r.launched();
}

template <bool A, bool B>
void launch(const argument_checks& r, const bf16_params& params, bool splits,
            dim3 grid, CUstream_st* stream) {
  (splits ? launch<A, B, true> : launch<A, B, false>)(r, params, grid, stream);
}

}  // namespace

void gemm_bf16(const bf16_gemm& g, CUstream_st* stream) {
  const argument_checks r("cuda::gemm_bf16");
  r.need(g.output == fp32 || g.output == bf16, "D is of fp32 or bf16");
  r.need(g.a.cols == g.b.cols, "A and B differ in K");
  r.need(g.splits == 1 || (g.splits > 1 && g.span == gemm_span::all),
         "splits are above 0, and 1 unless the span is all of K");
  r.need(g.outer >= 0 && g.inner >= 0 && g.outer < 65536 && g.inner < 65536,
         "a batch is of 0 to 65535 x 65535 matrices");
  r.need(g.row_sums == nullptr || g.span == gemm_span::to_diagonal,
         "row sums are those of the span to_diagonal");
  bf16_params params{};
  params.a = source_of(r, g.a, g.a_batch, "A");
  params.b = source_of(r, g.b, g.b_batch, "B");
  const int bytes = g.output == bf16 ? 2 : 4;
  r.need_matrix(g.d, bytes, "D");
  r.need_shape(g.d, g.a.rows, g.b.rows, "D");
  if (g.d.rows == 0 || g.d.cols == 0 || g.outer == 0 || g.inner == 0) return;
  params.k = g.a.cols;
  const std::ptrdiff_t chunks = ceil_div(params.k, bf16_chunk);
  params.k_of_split = ceil_div(chunks > 0 ? chunks : 1, g.splits) * bf16_chunk;
  params.span = g.span;
  params.narrow = g.output == bf16;
  params.factor = bit_cast<float>(g.factor);
  params.d = g.d.data;
  params.d_stride = g.d.stride;
  params.d_batch = g.d_batch;
  params.row_sums = g.row_sums;
  params.row_sums_batch = g.row_sums_batch;
  const std::ptrdiff_t tiles_n = ceil_div(g.d.cols, bf16_tile);
  params.tiles_n = r.blocks(tiles_n);
  const dim3 grid(r.blocks(ceil_div(g.d.rows, bf16_tile) * tiles_n),
                  static_cast<unsigned>(g.inner),
                  static_cast<unsigned>(g.outer));
  r.need_gpu();
  const bool a = is_along_k(g.a), b = is_along_k(g.b);
  (a   ? b ? launch<true, true> : launch<true, false>
     : b ? launch<false, true>
       : launch<false, false>)(r, params, g.splits > 1, grid, stream);
}

}  // namespace zeroulp::cuda
