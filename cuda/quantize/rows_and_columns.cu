// Launches the quantizing kernel for both orientations (quantize_both.cuh).

#include <cuda_runtime.h>

#include "cuda/common/dispatch_format.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/quantize/launch.cuh"
#include "cuda/quantize/rows_and_columns.cuh"

namespace zeroulp::cuda {
namespace {

template <class Out>
void launch(const quantize_job& job, unsigned tiles, CUstream_st* stream) {
  if (job.plan.divides && !job.plan.rounds_once) {
    launch_after(stream, quantize_both<bf16_elements, Out, true>, tiles,
                 tile_threads, job);
  } else {
    launch_after(stream, quantize_both<bf16_elements, Out, false>, tiles,
                 tile_threads, job);
  }
}

}  // namespace

void launch_both(const quantize_job& job, unsigned tiles, CUstream_st* stream) {
  with_codes(job.plan.q.to,
             [&](auto out) { launch<decltype(out)>(job, tiles, stream); });
}

}  // namespace zeroulp::cuda
