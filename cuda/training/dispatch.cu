// The host side of cuda::dispatch: checks a request and launches the kernel for
// it.

#include <cuda_runtime.h>

#include "cuda/common/dispatch_format.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/common/row_target.hpp"
#include "cuda/training/dispatch.cuh"

namespace zeroulp::cuda {
namespace {

template <class Out>
void launch(const dispatch_params& params, unsigned blocks,
            CUstream_st* stream) {
  pdl_launch(stream, dispatch_rows<Out>, blocks, row_threads, params);
}

}  // namespace

void dispatch(const quantizer& q, const const_matrix& x,
              const row_numbers& rows, const quantized& y,
              CUstream_st* stream) {
  const argument_checks r("cuda::dispatch");
  r.need(q.from == bf16, "x must be of bf16");
  r.need(q.group == group_shape{1, 128}, "groups must be 1x128");
  r.need_matrix(x, 2, "x");
  r.need_matrix(rows, 4, "rows");
  r.need_shape(rows, rows.rows, 1, "rows");
  r.need(y.codes.data != nullptr || rows.rows == 0 || x.cols == 0,
         "y has no codes");
  dispatch_params params{};
  params.y = row_target(r, q, y, rows.rows, x.cols, "y");
  if (rows.rows == 0 || x.cols == 0) return;
  params.plan = plan_of(q);
  params.x = rows_of(x, 2);
  params.rows = rows;
  const unsigned half_warps =
      r.blocks(half_warps_of<bf16_elements>(rows.rows, x.cols));
  const unsigned blocks = (half_warps - 1) / (row_threads / 16) + 1;
  r.need_gpu();
  with_codes(q.to,
             [&](auto out) { launch<decltype(out)>(params, blocks, stream); });
  r.launched();
}

}  // namespace zeroulp::cuda
