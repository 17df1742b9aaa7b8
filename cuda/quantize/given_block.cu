// Launches the quantizing kernel for tiles whose one amax is given
// (given_block.cuh).

#include <cuda_runtime.h>

#include "cuda/common/dispatch_format.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/quantize/given_block.cuh"
#include "cuda/quantize/launch.cuh"

namespace zeroulp::cuda {
namespace {

template <class In, class Out>
void launch(const quantize_params& params, unsigned tiles,
            CUstream_st* stream) {
  if (params.yt.groups == grouping::none) {
    pdl_launch(stream, quantize_given_block<In, Out, false>, tiles,
               tile_threads, params);
  } else {
    pdl_launch(stream, quantize_given_block<In, Out, true>, tiles, tile_threads,
               params);
  }
}

template <class In>
void launch_to(const quantize_params& params, unsigned tiles,
               CUstream_st* stream) {
  with_codes(params.plan.q.to, [&](auto out) {
    launch<In, decltype(out)>(params, tiles, stream);
  });
}

}  // namespace

void launch_given_blocks(const quantize_params& params, unsigned tiles,
                         CUstream_st* stream) {
  (params.plan.q.from == bf16
       ? launch_to<bf16_elements>
       : launch_to<fp32_elements>)(params, tiles, stream);
}

}  // namespace zeroulp::cuda
