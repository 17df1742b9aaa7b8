// Defines which quantizing kernel serves a job, and declares their launches.

#ifndef ZEROULP_CUDA_QUANTIZE_LAUNCH_CUH_
#define ZEROULP_CUDA_QUANTIZE_LAUNCH_CUH_

#include "cuda/quantize/params.cuh"

namespace zeroulp::cuda {

/// True iff codes are wanted and vec8s of the matrices are aligned.
inline bool writes_vec8s(const quantize_job& job) {
  return job.amaxes.data == nullptr && is_of_vec8s(job.x, job.y.codes);
}

/// True iff quantize_block.cuh serves the job.
inline bool quantizes_blocks(const quantize_job& job) {
  const auto is_one = [](grouping g) {
    return g == grouping::none || g >= grouping::tile;
  };
  const format from = job.plan.q.from;
  const bool by_factor = job.given.data == nullptr || !job.plan.divides;
  return writes_vec8s(job) && is_one(job.y.groups) && is_one(job.yt.groups) &&
         (from == fp32 || (from == bf16 && by_factor));
}
void launch_blocks(const quantize_job& job, unsigned tiles,
                   CUstream_st* stream);

/// True iff quantize_both.cuh serves the job.
inline bool quantizes_both(const quantize_job& job) {
  return writes_vec8s(job) && job.given.data == nullptr &&
         job.plan.q.from == bf16 && job.yt.groups == grouping::column &&
         (job.y.groups == grouping::none || job.y.groups == grouping::row);
}
void launch_both(const quantize_job& job, unsigned tiles, CUstream_st* stream);

/// quantize_tile.cuh serves all other jobs.
void launch_tiles(const quantize_job& job, unsigned tiles, CUstream_st* stream);

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_QUANTIZE_LAUNCH_CUH_
