// The host side of cuda::pack and cuda::unpack: checks a request and launches a
// kernel for it.

#include <cuda_runtime.h>

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/common/rows.cuh"
#include "cuda/layout/pack.cuh"
#include "zeroulp/core/pack.hpp"

namespace zeroulp::cuda {
namespace {

std::ptrdiff_t row_bytes(packing how, std::ptrdiff_t n) {
  return how == packing::bytes ? packed_bytes(n) : packed_word_bytes(n);
}

/// Returns the kernel's parameters; for an empty matrix, no warps.
pack_params job_of(const argument_checks& r, packing how,
                   const const_matrix& codes, const const_matrix& packed) {
  r.need(how <= packing::words, "no such packing");
  r.need_matrix(codes, 2, "codes");
  r.need_matrix(packed, 1, "packed");
  if (codes.rows > 0 && codes.cols > 0) {
    r.need_shape(packed, codes.rows, row_bytes(how, codes.cols), "packed");
  } else {
    r.need(packed.rows == codes.rows && (codes.rows == 0 || packed.cols == 0),
           "packed must be as empty as codes");
    return {};
  }
  const_matrix x = codes, y = packed;
  if (x.cols % 8 == 0 && x.stride == x.cols && y.stride == y.cols) {
    // Without gaps, the matrix is one row.
    x = {x.data, 1, x.rows * x.cols, 0};
    y = {y.data, 1, y.rows * y.cols, 0};
  }
  pack_params params{rows_of(x, 2), rows_of(y, 1), 0, 0};
  params.packed.vectorized = starts_on(16, y.data, y.stride);
  const std::ptrdiff_t across = ceil_div(x.cols, warp_codes);
  params.across = r.blocks(across);
  params.warps = r.blocks(across * x.rows);
  return params;
}

unsigned blocks_of(const pack_params& params) {
  return (params.warps + pack_warps - 1) / pack_warps;
}

}  // namespace

void pack(packing how, const const_matrix& codes, const matrix& packed,
          CUstream_st* stream) {
  const argument_checks r("cuda::pack");
  const pack_params params = job_of(r, how, codes, packed);
  if (params.warps == 0) return;
  r.need_gpu();
  const auto kernel = how == packing::bytes ? pack_rows<packing::bytes>
                                            : pack_rows<packing::words>;
  pdl_launch(stream, kernel, blocks_of(params), pack_threads, params);
  r.launched();
}

void unpack(packing how, const const_matrix& packed, const matrix& codes,
            CUstream_st* stream) {
  const argument_checks r("cuda::unpack");
  const pack_params params = job_of(r, how, codes, packed);
  if (params.warps == 0) return;
  r.need_gpu();
  const auto kernel = how == packing::bytes ? unpack_rows<packing::bytes>
                                            : unpack_rows<packing::words>;
  pdl_launch(stream, kernel, blocks_of(params), pack_threads, params);
  r.launched();
}

}  // namespace zeroulp::cuda
