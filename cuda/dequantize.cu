#include <cuda_runtime.h>

#include "cuda/dequantize.cuh"
#include "cuda/request.hpp"
#include "cuda/rows.cuh"

namespace zeroulp::cuda {
namespace {

template <class From>
void launch(const dequantize_job& job, format to, unsigned blocks,
            CUstream_st* stream) {
  if (to == fp32) {
    dequantize_tile<From, 4><<<blocks, tile_threads, 0, stream>>>(job);
  } else {
    dequantize_tile<From, 2><<<blocks, tile_threads, 0, stream>>>(job);
  }
}

}  // namespace

void dequantize(format from, group_shape group, const const_matrix& codes,
                const const_scales& scales, format to, const matrix& out,
                CUstream_st* stream) {
  const request r("cuda::dequantize");
  r.need_codes(from, "codes");
  r.need(to == fp32 || to == bf16, "out must be of fp32 or bf16");
  r.need(is_tile(group) || is_tensor(group),
         "groups must be 1x128, 128x1, 128x128 or the whole matrix");
  const std::ptrdiff_t m = codes.rows, n = codes.cols;
  r.need_matrix(codes, bytes_of(from), "codes");
  r.need_scales(scales, ceil_div(m, group.height(m)),
                ceil_div(n, group.width(n)), "codes");
  r.need_matrix(out, bytes_of(to), "out");
  r.need_shape(out, m, n, "out");
  if (m == 0 || n == 0) return;
  const dequantize_job job{rows_of(codes, bytes_of(from)),
                           {scales},
                           group.rows == 1,
                           group.cols == 1,
                           is_tile(group),
                           rows_of(out, bytes_of(to))};
  const unsigned blocks = r.blocks(tiles_of(m, n));
  r.need_gpu();
  (from == e4m3   ? launch<e4m3_elements>
   : from == e5m2 ? launch<e5m2_elements>
                  : launch<e5m6_elements>)(job, to, blocks, stream);
  r.launched();
}

}  // namespace zeroulp::cuda
