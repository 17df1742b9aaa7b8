// Launches the quantizing kernel for both orientations
// (rows_and_columns.cuh).

#include <cuda_runtime.h>

#include "cuda/common/dispatch_format.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/quantize/launch.cuh"
#include "cuda/quantize/rows_and_columns.cuh"

namespace zeroulp::cuda {
namespace {

template <class Out>
void launch(const quantize_params& params, unsigned tiles,
            CUstream_st* stream) {
  if (params.plan.divides && !params.plan.rounds_once) {
    pdl_launch(stream, quantize_rows_and_columns<bf16_elements, Out, true>,
               tiles, tile_threads, params);
  } else {
    pdl_launch(stream, quantize_rows_and_columns<bf16_elements, Out, false>,
               tiles, tile_threads, params);
  }
}

}  // namespace

void launch_rows_and_columns(const quantize_params& params, unsigned tiles,
                             CUstream_st* stream) {
  with_codes(params.plan.q.to,
             [&](auto out) { launch<decltype(out)>(params, tiles, stream); });
}

}  // namespace zeroulp::cuda
