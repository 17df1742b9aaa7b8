// Launches the quantizing kernel for tiles with one scale (quantize_block.cuh).

#include <cuda_runtime.h>

#include "cuda/common/dispatch_format.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/quantize/block_128x128.cuh"
#include "cuda/quantize/launch.cuh"

namespace zeroulp::cuda {
namespace {

template <class In, class Out>
void launch(const quantize_job& job, unsigned tiles, CUstream_st* stream) {
  if (job.yt.groups == grouping::none) {
    launch_after(stream, quantize_block<In, Out, false>, tiles, tile_threads,
                 job);
  } else {
    launch_after(stream, quantize_block<In, Out, true>, tiles, tile_threads,
                 job);
  }
}

template <class In>
void launch_to(const quantize_job& job, unsigned tiles, CUstream_st* stream) {
  with_codes(job.plan.q.to,
             [&](auto out) { launch<In, decltype(out)>(job, tiles, stream); });
}

}  // namespace

void launch_blocks(const quantize_job& job, unsigned tiles,
                   CUstream_st* stream) {
  (job.plan.q.from == bf16 ? launch_to<bf16_elements>
                           : launch_to<fp32_elements>)(job, tiles, stream);
}

}  // namespace zeroulp::cuda
