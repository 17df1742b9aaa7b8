// Defines which quantizing kernel serves a job, and declares their launches.

#ifndef ZEROULP_CUDA_QUANTIZE_LAUNCH_CUH_
#define ZEROULP_CUDA_QUANTIZE_LAUNCH_CUH_

#include "cuda/quantize/params.cuh"

namespace zeroulp::cuda {

/// True iff codes are wanted and vec8s of the matrices are aligned.
inline bool writes_vec8s(const quantize_params& params) {
  return params.amaxes.data == nullptr && is_of_vec8s(params.x, params.y.codes);
}

/// True iff one amax makes the factors of a tile, in each orientation that is
/// wanted.
inline bool has_one_amax_a_tile(const quantize_params& params) {
  const auto is_one = [](grouping g) {
    return g == grouping::none || g >= grouping::tile;
  };
  return is_one(params.y.groups) && is_one(params.yt.groups);
}

/// True iff vec8s of numbers of this format are quantized a tile at a time.
inline bool is_tile_format(format from) { return from == fp32 || from == bf16; }

/// True iff block_128x128.cuh serves the job.
inline bool quantizes_blocks(const quantize_params& params) {
  return writes_vec8s(params) && params.given.data == nullptr &&
         has_one_amax_a_tile(params) && is_tile_format(params.plan.q.from);
}
void launch_blocks(const quantize_params& params, unsigned tiles,
                   CUstream_st* stream);

/// True iff given_block.cuh serves the job.
inline bool quantizes_given_blocks(const quantize_params& params) {
  return writes_vec8s(params) && params.given.data != nullptr &&
         has_one_amax_a_tile(params) && is_tile_format(params.plan.q.from);
}
void launch_given_blocks(const quantize_params& params, unsigned tiles,
                         CUstream_st* stream);

/// True iff rows_and_columns.cuh serves the job.
inline bool quantizes_rows_and_columns(const quantize_params& params) {
  return writes_vec8s(params) && params.given.data == nullptr &&
         params.plan.q.from == bf16 && params.yt.groups == grouping::column &&
         (params.y.groups == grouping::none ||
          params.y.groups == grouping::row);
}
void launch_rows_and_columns(const quantize_params& params, unsigned tiles,
                             CUstream_st* stream);

/// True iff matrix_amax.cuh serves the job. Its output must be 0.
inline bool finds_matrix_amax(const quantize_params& params) {
  return params.amaxes.data != nullptr &&
         params.amax_groups == grouping::matrix;
}
void launch_matrix_amax(const quantize_params& params, unsigned tiles,
                        unsigned multiprocessors, CUstream_st* stream);

/// generic.cuh serves all other jobs.
void launch_tiles(const quantize_params& params, unsigned tiles,
                  CUstream_st* stream);

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_QUANTIZE_LAUNCH_CUH_
