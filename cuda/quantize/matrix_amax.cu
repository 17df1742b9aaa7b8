// Launches the kernel that finds the amax of a whole matrix (matrix_amax.cuh).

#include <cuda_runtime.h>

#include <algorithm>

#include "cuda/common/pdl_launch.cuh"
#include "cuda/quantize/launch.cuh"
#include "cuda/quantize/matrix_amax.cuh"

namespace zeroulp::cuda {
namespace {

template <class In>
void launch(const matrix_amax_params& params, unsigned multiprocessors,
            CUstream_st* stream) {
  pdl_launch(stream, find_matrix_amax<In>,
             std::min(params.tiles, amax_blocks<In> * multiprocessors),
             tile_threads, params);
}

}  // namespace

void launch_matrix_amax(const quantize_params& params, unsigned tiles,
                        unsigned multiprocessors, CUstream_st* stream) {
  const format from = params.plan.q.from;
  (from == fp32   ? launch<fp32_elements>
   : from == bf16 ? launch<bf16_elements>
                  : launch<fp16_elements>)({params.plan, params.x, tiles,
                                            params.amaxes.data},
                                           multiprocessors, stream);
}

}  // namespace zeroulp::cuda
