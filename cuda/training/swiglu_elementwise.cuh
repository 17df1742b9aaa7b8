// Defines the kernels of SwiGLU for numbers and caches of any kind, without
// quantized outputs. Half a warp has four rows of 128 columns, a thread every
// sixteenth element. Source: SPEC clauses S1 to S3.

#ifndef ZEROULP_CUDA_TRAINING_SWIGLU_ELEMENTWISE_CUH_
#define ZEROULP_CUDA_TRAINING_SWIGLU_ELEMENTWISE_CUH_

#include "cuda/common/arithmetic.cuh"
#include "cuda/common/numbers.cuh"
#include "cuda/common/row_eights.cuh"
#include "cuda/ptx/warp.cuh"
#include "cuda/quantize/rows_1x128.cuh"
#include "cuda/training/swiglu.cuh"

namespace zeroulp::cuda {

struct swiglu_elementwise_params {
  number_matrix g, u, h;
};

/// Codes and scales, in groups of height x width.
struct cached_matrix {
  device_rows codes;
  scale_source scales;
  std::ptrdiff_t height, width;

  /// fl(code * scale)
  template <class Cache>
  __device__ float at(std::ptrdiff_t i, std::ptrdiff_t j) const {
    const std::uint32_t code = detail::element_at<Cache::bytes>(codes, i, j);
    const std::uint32_t scale = scales.at(i / height, j / width);
    return __fmul_rn(decoded<Cache>(&code, 0), __uint_as_float(scale));
  }
};

struct swiglu_gradient_elementwise_params {
  number_matrix dh, h, dg, du;
  cached_matrix g, u;
};

namespace detail {

/// Calls use(i, j) for this thread's elements of a matrix like x.
template <class Use>
__device__ void for_elements(const device_rows& x, Use use) {
  const half_warp_position at(swiglu_rows, x);
  const std::ptrdiff_t first = at.group * tile_edge + threadIdx.x % 16;
  for (int i = 0; i < swiglu_rows && at.row0 + i < x.rows; ++i) {
#pragma unroll 4
    for (int k = 0; k < tile_edge; k += 16) {
      if (first + k < x.cols) use(at.row0 + i, first + k);
    }
  }
}

}  // namespace detail

static __global__ void __launch_bounds__(row_threads)
    swiglu_forward_elementwise(
        const __grid_constant__ swiglu_elementwise_params params) {
  ptx::wait_for_kernels_before();
  detail::for_elements(params.g.rows, [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    params.h.put(
        i, j, swiglu_value<device_fp32>(params.g.at(i, j), params.u.at(i, j)));
  });
}

template <class Cache>
__global__ void __launch_bounds__(row_threads) swiglu_backward_elementwise(
    const __grid_constant__ swiglu_gradient_elementwise_params params) {
  ptx::wait_for_kernels_before();
  detail::for_elements(params.dh.rows, [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    const auto x = swiglu_gradient<device_fp32>(
        params.g.template at<Cache>(i, j), params.u.template at<Cache>(i, j),
        params.dh.at(i, j));
    params.h.put(i, j, x.h);
    params.dg.put(i, j, x.dg);
    params.du.put(i, j, x.du);
  });
}

/// The same where all numbers are BF16, rows are vectorized and eight
/// neighbours of a cache have one scale: a thread has eight.
template <class Cache>
__global__ void __launch_bounds__(eights_threads) swiglu_backward_eights(
    const __grid_constant__ swiglu_gradient_elementwise_params params) {
  ptx::wait_for_kernels_before();
  const std::ptrdiff_t cols = params.dh.rows.cols;
  const eight_place at(cols);
  const std::ptrdiff_t i = at.row, j = at.column;
  if (j >= cols) return;
  constexpr int bytes = Cache::bytes;
  const auto of_cache = [&](const cached_matrix& c, float(&numbers)[8]) {
    const auto codes = load<bytes>(c.codes.row<bytes>(i), j, cols, true);
    const float scale = __uint_as_float(
        c.scales.at(static_cast<unsigned>(i) / static_cast<unsigned>(c.height),
                    static_cast<unsigned>(j) / static_cast<unsigned>(c.width)));
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      numbers[k] = __fmul_rn(decoded<Cache>(codes.words, k), scale);
    }
  };
  float g[8], u[8];
  of_cache(params.g, g);
  of_cache(params.u, u);
  const auto dh = load<2>(params.dh.rows.row<2>(i), j, cols, true);
  swiglu_gradients<device_fp32> x[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    x[k] = swiglu_gradient<device_fp32>(g[k], u[k], number_in(dh, k));
  }
  const auto put = [&](const number_matrix& to, auto value) {
    if (to.rows.data == nullptr) return;
    store<2>(to.rows.row<2>(i), j, cols, true, bf16_codes(value));
  };
  put(params.h, [&](int k) { return x[k].h; });
  put(params.dg, [&](int k) { return x[k].dg; });
  put(params.du, [&](int k) { return x[k].du; });
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_TRAINING_SWIGLU_ELEMENTWISE_CUH_
