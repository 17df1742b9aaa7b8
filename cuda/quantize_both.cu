#include <cuda_runtime.h>

#include "cuda/quantize_both.cuh"
#include "cuda/quantize_launch.cuh"

namespace zeroulp::cuda {
namespace {

template <class Out>
void launch(const quantize_job& job, unsigned tiles, CUstream_st* stream) {
  if (job.plan.divides && !job.plan.rounds_once) {
    quantize_both<bf16_elements, Out, true>
        <<<tiles, tile_threads, 0, stream>>>(job);
  } else {
    quantize_both<bf16_elements, Out, false>
        <<<tiles, tile_threads, 0, stream>>>(job);
  }
}

}  // namespace

void launch_both(const quantize_job& job, unsigned tiles, CUstream_st* stream) {
  const format to = job.plan.q.to;
  (to == e4m3   ? launch<e4m3_elements>
   : to == e5m2 ? launch<e5m2_elements>
                : launch<e5m6_elements>)(job, tiles, stream);
}

}  // namespace zeroulp::cuda
