// Defines the kernel of combine. A warp takes 256 columns of a token. A lane
// takes eight of them, and loads every 32nd slot, which it shares by shuffles.
//
//   32 slots -> four rows at a time -> their sums, in slot order -> BF16
//
// Source: SPEC clauses S9 and S10.

#ifndef ZEROULP_CUDA_TRAINING_COMBINE_CUH_
#define ZEROULP_CUDA_TRAINING_COMBINE_CUH_

#include "cuda/common/arithmetic.cuh"
#include "cuda/common/bf16.cuh"
#include "cuda/common/rows.cuh"
#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/warp.cuh"
#include "zeroulp/cuda_training.hpp"

namespace zeroulp::cuda {

struct combine_params {
  device_rows x, out;
  row_numbers slots;
  basic_matrix<const std::uint32_t> weights;
  unsigned warps_a_token;
};

inline constexpr int combine_threads = 256;
inline constexpr int combine_warp_columns = 256;

template <combine_rule Rule, bool Weighted>
__global__ void __launch_bounds__(combine_threads, 5)
    combine_rows(const __grid_constant__ combine_params params) {
  ptx::wait_for_kernels_before();
  using A = device_fp32;
  constexpr unsigned all = 0xffffffff;
  constexpr int batch = 4;
  const unsigned warp = blockIdx.x * (combine_threads / 32) + threadIdx.x / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::ptrdiff_t token = warp / params.warps_a_token;
  if (token >= params.out.rows) return;
  const std::ptrdiff_t col =
      std::ptrdiff_t{warp % params.warps_a_token} * combine_warp_columns +
      8 * lane;
  const bool in_one = params.x.vectorized && col + 8 <= params.x.cols;

  float sum[8] = {};  // no_contribution, until there is any
  bool any = false, wrong = false;
  for (std::ptrdiff_t first = 0; first < params.slots.cols; first += 32) {
    std::int32_t slot = -1;
    std::uint32_t weight = 0;
    if (first + lane < params.slots.cols) {
      slot = params.slots.data[token * params.slots.stride + first + lane];
      if constexpr (Weighted) {
        weight =
            params.weights.data[token * params.weights.stride + first + lane];
      }
    }
    const bool is_row = slot >= 0 && slot < params.x.rows;
    wrong = wrong || __any_sync(all, !is_row && slot != -1);
    const unsigned rows = __ballot_sync(all, is_row);
    for (int s = 0; rows >> s != 0; s += batch) {
      vec8<2> x[batch];
      const char* row[batch];
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        row[i] = params.x.row<2>(__shfl_sync(all, slot, s + i));
      }
      if (in_one) {
#pragma unroll
        for (int i = 0; i < batch; ++i) {
          if (rows >> (s + i) & 1) x[i] = load<2>(row[i], col, col + 8, true);
        }
      } else {
#pragma unroll
        for (int i = 0; i < batch; ++i) {
          if (rows >> (s + i) & 1) {
            x[i] = load<2>(row[i], col, params.x.cols, false);
          }
        }
      }
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const float by = __uint_as_float(__shfl_sync(all, weight, s + i));
        if ((rows >> (s + i) & 1) == 0) continue;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          const float value = value_of<bf16_elements>(x[i].element(k));
          const combined<A> c{sum[k], any};
          sum[k] = (Weighted ? contribute<A>(Rule, c, value, by)
                             : contribute<A>(Rule, c, value))
                       .sum;
        }
        any = true;
      }
      if (s + batch == 32) break;
    }
  }
  vec8<2> codes;
#pragma unroll
  for (int k = 0; k < 8; k += 2) {
    codes.words[k / 2] =
        wrong ? 0x7fff7fff : ptx::cvt_bf16x2(sum[k], sum[k + 1]);
  }
  store<2>(params.out.row<2>(token), col, params.out.cols,
           params.out.vectorized, codes);
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_TRAINING_COMBINE_CUH_
