// Defines the kernel of dispatch: the quantizer of rows_1x128.cuh, applied
// to rows given by row numbers. Source: SPEC clause S11.
//
//   a lane a row number -> vec8s of those rows -> quantized as rows -> results
//   of invalid row numbers overwritten

#ifndef ZEROULP_CUDA_TRAINING_DISPATCH_CUH_
#define ZEROULP_CUDA_TRAINING_DISPATCH_CUH_

#include "cuda/ptx/warp.cuh"
#include "cuda/quantize/rows_1x128.cuh"
#include "zeroulp/cuda_training.hpp"

namespace zeroulp::cuda {

struct dispatch_params {
  quantizer_plan plan;
  device_rows x;
  row_numbers rows;
  quantized_target y;

  /// The row number for row i of the result; -1 beyond the last.
  __device__ std::int32_t number(std::ptrdiff_t i) const {
    return i < rows.rows ? rows.data[i * rows.stride] : -1;
  }
  __device__ bool is_row(std::int32_t number) const {
    return number >= 0 && number < x.rows;
  }
};

/// The `Vec8s` of the rows (rows_1x128.cuh); zeros for an invalid row
/// number.
struct gathered_vec8s {
  using elements = bf16_elements;
  static constexpr int count = rows_of_half_warp<elements>;

  const dispatch_params& params;
  half_warp_position at;

  __device__ const quantized_target& target(int) const { return params.y; }
  __device__ const scale_target& scales(int) const { return params.y.scales; }
  __device__ std::ptrdiff_t row(int i) const { return at.row0 + i; }
  __device__ std::ptrdiff_t group(int) const { return at.group; }
  __device__ bool is_inside(int i) const { return row(i) < params.rows.rows; }
  __device__ bool is_full() const {
    return params.y.codes.vectorized && at.row0 + count <= params.rows.rows &&
           column_of_vec8(at.group) + 8 <= params.x.cols;
  }
  __device__ vec8<2> again(int i) const {
    return of_number(params.number(row(i)));
  }
  __device__ vec8<2> of_number(std::int32_t number) const {
    if (!params.is_row(number)) return {};
    return load<2>(params.x.row<2>(number), column_of_vec8(at.group),
                   params.x.cols, false);
  }

  /// Loads this lane's vec8s. Lane i % count passes the number of row i.
  __device__ void load_all(std::int32_t mine, vec8<2> (&x)[count]) const {
    const std::ptrdiff_t col = column_of_vec8(at.group);
    std::int32_t number[count];
#pragma unroll
    for (int i = 0; i < count; ++i) {
      number[i] = __shfl_sync(all_lanes, mine, i, 16);
    }
    if (params.x.vectorized && col + 8 <= params.x.cols && params.x.rows > 0) {
      // Avoid branches between loads: for an invalid number load any row, as
      // its codes are overwritten later.
      const std::ptrdiff_t last = params.x.rows - 1;
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const std::ptrdiff_t row = max(number[i], 0);
        x[i] = load<2>(params.x.row<2>(min(row, last)), col, col + 8, true);
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < count; ++i) x[i] = of_number(number[i]);
  }
};

/// Not inlined, to keep its registers out of the kernel.
template <class Out>
__device__ __noinline__ void finish_dispatch(const dispatch_params& params,
                                             gathered_vec8s vec8s,
                                             unfinished_vec8s left) {
  finish_vec8s<Out>(params.plan, {}, vec8s, left);
}

template <class Out>
__global__ void __launch_bounds__(row_threads, 8)
    dispatch_rows(const __grid_constant__ dispatch_params params) {
  ptx::wait_for_kernels_before();
  constexpr int count = gathered_vec8s::count;
  const gathered_vec8s vec8s{params, half_warp_position(count, params.x)};
  const int lane = static_cast<int>(threadIdx.x % 16);
  vec8<2> x[count];
  vec8s.load_all(params.number(vec8s.row(lane % count)), x);
  const auto left = quantize_vec8s<Out>(params.plan, {}, vec8s, x);
  if (__any_sync(all_lanes, left.by_core || left.undecided != 0)) {
    finish_dispatch<Out>(params, vec8s, left);
  }

  // Reread rather than kept in registers.
  const std::int32_t mine = params.number(vec8s.row(lane % count));
  const bool is_row = params.is_row(mine);
  if (!__any_sync(all_lanes, !is_row && vec8s.is_inside(lane % count))) return;
  // Another lane may have written the scale or codes before.
  __syncwarp();
  if (!is_row && lane < count && vec8s.is_inside(lane)) {
    detail::put_kept(params.y.scales, vec8s.row(lane), vec8s.at.group,
                     mine == -1 ? fp32_one : fp32_nan);
  }
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    const std::int32_t number = __shfl_sync(all_lanes, mine, i, 16);
    if (params.is_row(number) || !vec8s.is_inside(i)) continue;
    store<Out::bytes>(params.y.codes.row<Out::bytes>(vec8s.row(i)),
                      column_of_vec8(vec8s.at.group), params.y.codes.cols,
                      params.y.codes.vectorized, vec8<Out::bytes>{});
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_TRAINING_DISPATCH_CUH_
