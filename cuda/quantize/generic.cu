// Launches the quantizing kernel for any job (quantize_generic.cuh).

#include <cuda_runtime.h>

#include "cuda/common/dispatch_format.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/quantize/generic.cuh"
#include "cuda/quantize/launch.cuh"

namespace zeroulp::cuda {
namespace {

template <class In, class Out>
void launch(const quantize_params& params, unsigned tiles,
            CUstream_st* stream) {
  pdl_launch(stream, quantize_generic<In, Out>, tiles, tile_threads, params);
}

template <class In>
void launch_to(const quantize_params& params, unsigned tiles,
               CUstream_st* stream) {
  with_codes(params.plan.q.to, [&](auto out) {
    launch<In, decltype(out)>(params, tiles, stream);
  });
}

}  // namespace

void launch_tiles(const quantize_params& params, unsigned tiles,
                  CUstream_st* stream) {
  const format from = params.plan.q.from;
  (from == fp32   ? launch_to<fp32_elements>
   : from == bf16 ? launch_to<bf16_elements>
                  : launch_to<fp16_elements>)(params, tiles, stream);
}

}  // namespace zeroulp::cuda
