// The host side of cuda::dequantize: checks a request and launches a kernel for
// it.

#include <cuda_runtime.h>

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/common/rows.cuh"
#include "cuda/quantize/dequantize.cuh"

namespace zeroulp::cuda {
namespace {

template <class From, int OutBytes>
void launch_to(const argument_checks& r, const dequantize_params& params,
               CUstream_st* stream) {
  const std::ptrdiff_t m = params.codes.rows, n = params.codes.cols;
  const bool by_rows = params.codes.vectorized && params.out.vectorized &&
                       n % dequantized_width<OutBytes> == 0;
  const std::ptrdiff_t count =
      by_rows
          ? ceil_div(dequantize_threads_of<OutBytes>(m, n), dequantize_threads)
          : tiles_of(m, n);
  const unsigned blocks = r.blocks(count);
  // The kernel divides indices of these units, which must fit.
  if (by_rows) r.blocks(ceil_div(m, dequantized_rows) * ceil_div(n, tile_edge));
  r.need_gpu();
  if (by_rows) {
    pdl_launch(stream, dequantize_rows<From, OutBytes>, blocks,
               dequantize_threads, params);
  } else {
    pdl_launch(stream, dequantize_tile<From, OutBytes>, blocks, tile_threads,
               params);
  }
  r.launched();
}

template <class From>
void launch(const argument_checks& r, const dequantize_params& params,
            format to, CUstream_st* stream) {
  (to == fp32 ? launch_to<From, 4> : launch_to<From, 2>)(r, params, stream);
}

}  // namespace

void dequantize(format from, group_shape group, const const_matrix& codes,
                const const_scales& scales, format to, const matrix& out,
                CUstream_st* stream) {
  const argument_checks r("cuda::dequantize");
  r.need_codes(from, "codes");
  r.need(to == fp32 || to == bf16, "out must be of fp32 or bf16");
  r.need(is_tile(group) || is_tensor(group),
         "groups must be 1x128, 128x1, 128x128 or the whole matrix");
  const std::ptrdiff_t m = codes.rows, n = codes.cols;
  r.need_matrix(codes, storage_bytes(from), "codes");
  r.need_scales(scales, ceil_div(m, group.height(m)),
                ceil_div(n, group.width(n)), "codes");
  r.need_matrix(out, storage_bytes(to), "out");
  r.need_shape(out, m, n, "out");
  if (m == 0 || n == 0) return;
  const dequantize_params params{rows_of(codes, storage_bytes(from)),
                                 {scales},
                                 group.rows == 1,
                                 group.cols == 1,
                                 is_tile(group),
                                 rows_of(out, storage_bytes(to))};
  (from == e4m3   ? launch<e4m3_elements>
   : from == e5m2 ? launch<e5m2_elements>
                  : launch<e5m6_elements>)(r, params, to, stream);
}

}  // namespace zeroulp::cuda
