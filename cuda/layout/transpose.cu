// The host side of cuda::transpose: checks a request and launches the kernel
// for it.

#include <cuda_runtime.h>

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/layout/transpose.cuh"

namespace zeroulp::cuda {

void transpose(format element, const const_matrix& codes,
               const const_scales& scales, const quantized& out,
               CUstream_st* stream) {
  const argument_checks r("cuda::transpose");
  r.need(element.bits() <= 16, "codes must be of at most 16 bits");
  const int bytes = storage_bytes(element);
  const std::ptrdiff_t m = codes.rows, n = codes.cols;
  const std::ptrdiff_t down = ceil_div(m, tile_edge);
  const std::ptrdiff_t across = ceil_div(n, tile_edge);
  r.need_matrix(codes, bytes, "codes");
  r.need_scales(scales, down, across, "codes");
  r.need_matrix(out.codes, bytes, "out");
  r.need_shape(out.codes, n, m, "out");
  r.need_scales(out.scales, across, down, "out");
  if (m == 0 || n == 0) return;
  const transpose_params params{rows_of(codes, bytes),
                                {scales},
                                rows_of(out.codes, bytes),
                                {out.scales, across, down}};
  const unsigned blocks = r.blocks(tiles_of(m, n));
  r.need_gpu();
  if (bytes == 1) {
    pdl_launch(stream, transpose_tile<1>, blocks, tile_threads, params);
  } else {
    pdl_launch(stream, transpose_tile<2>, blocks, tile_threads, params);
  }
  r.launched();
}

}  // namespace zeroulp::cuda
