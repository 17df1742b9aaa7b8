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
  /// Codes of eight neighbours of a vectorized row, and their one scale. There
  /// are fewer than 2^31 rows and columns.
  template <class Cache>
  __device__ vec8<Cache::bytes> eight_at(std::ptrdiff_t i,
                                         std::ptrdiff_t j) const {
    const char* at = codes.row<Cache::bytes>(i) + j * Cache::bytes;
    return load<Cache::bytes>(at, 0, 8, true);
  }
  __device__ float scale_at(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return __uint_as_float(
        scales.at(static_cast<unsigned>(i) / static_cast<unsigned>(height),
                  static_cast<unsigned>(j) / static_cast<unsigned>(width)));
  }
};

/// Without dh there are no gradients: h alone.
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

/// Writes eight neighbours of a vectorized row of BF16, if they are wanted.
__device__ inline void put_eight(const number_matrix& to, std::ptrdiff_t i,
                                 std::ptrdiff_t j, const bf16_vec8& x) {
  if (to.rows.data == nullptr) return;
  store<2>(to.rows.row<2>(i) + 2 * j, 0, 8, true, x);
}

/// h of eight neighbours, from any codes and scales.
template <class Cache>
struct cached_hidden {
  bf16_vec8 h;
  bool is_decided;

  __device__ cached_hidden(const vec8<Cache::bytes>& g, float g_scale,
                           const vec8<Cache::bytes>& u, float u_scale) {
    float gate[8], least = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      gate[k] = __fmul_rn(decoded<Cache>(g.words, k), g_scale);
      least = fminf(least, gate[k]);  // NaN is none
    }
    const fast_hidden fast(
        [&](int k) { return gate[k]; },
        [&](int k) { return __fmul_rn(decoded<Cache>(u.words, k), u_scale); });
    h = fast.h;
    is_decided = fast.is_decided && least >= -fast_limit;
  }
};

/// Computes and writes, by the core's arithmetic, what lanes of the warp have
/// left `undecided`: eight elements each.
template <class Cache>
__device__ __noinline__ void resolve_eights(
    const swiglu_gradient_elementwise_params& params, bool undecided) {
  const eight_place at(params.g.codes.cols);
  const std::ptrdiff_t row = at.row;
  const auto column = [&](unsigned thread, int k) {
    return at.column +
           8 * (static_cast<std::ptrdiff_t>(thread) -
                static_cast<std::ptrdiff_t>(threadIdx.x)) +
           k;
  };
  const auto find = [&](unsigned thread, int, int k) {
    const std::ptrdiff_t j = column(thread, k);
    const float dh = params.dh.rows.data == nullptr ? 0 : params.dh.at(row, j);
    return swiglu_gradient<device_fp32>(params.g.template at<Cache>(row, j),
                                        params.u.template at<Cache>(row, j),
                                        dh);
  };
  for_undecided_elements(undecided ? 1 : 0, find,
                         [&](unsigned thread, int, int k, const auto& x) {
                           const std::ptrdiff_t j = column(thread, k);
                           params.h.put(row, j, x.h);
                           params.dg.put(row, j, x.dg);
                           params.du.put(row, j, x.du);
                         });
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
    const float dh = params.dh.rows.data == nullptr ? 0 : params.dh.at(i, j);
    const auto x =
        swiglu_gradient<device_fp32>(params.g.template at<Cache>(i, j),
                                     params.u.template at<Cache>(i, j), dh);
    params.h.put(i, j, x.h);
    params.dg.put(i, j, x.dg);
    params.du.put(i, j, x.du);
  });
}

/// The same where all numbers are BF16, rows are vectorized and eight
/// neighbours of a cache have one scale: a thread has eight, by fast arithmetic
/// where that decides (swiglu_fast_math.cuh). `Alone`: h, without dh.
template <class Cache, bool Alone>
__global__ void __launch_bounds__(eights_threads) swiglu_backward_eights(
    const __grid_constant__ swiglu_gradient_elementwise_params params) {
  ptx::wait_for_kernels_before();
  const std::ptrdiff_t cols = params.g.codes.cols;
  const eight_place at(cols);
  // All lanes stay, for those that are left undecided.
  const bool inside = at.column < cols;
  const std::ptrdiff_t i = at.row, j = inside ? at.column : 0;
  const auto g = params.g.template eight_at<Cache>(i, j);
  const auto u = params.u.template eight_at<Cache>(i, j);
  detail::bf16_vec8 dh{};
  if (!Alone) dh = load<2>(params.dh.rows.row<2>(i) + 2 * j, 0, 8, true);
  const float g_scale = params.g.scale_at(i, j);
  const float u_scale = params.u.scale_at(i, j);
  bool is_decided = true;
  if (Alone || params.h.rows.data != nullptr) {
    const detail::cached_hidden<Cache> hidden(g, g_scale, u, u_scale);
    is_decided = hidden.is_decided;
    if (inside && is_decided) detail::put_eight(params.h, i, j, hidden.h);
  }
  if constexpr (!Alone) {
    const detail::fast_gradient<Cache> fast(
        dh, g, u, detail::gate_group_of<Cache>(g_scale, u_scale));
    is_decided = is_decided && fast.is_decided &&
                 (!fast.has_far_ones(dh) || fast.are_near_or_zero(dh));
    if (inside && is_decided) {
      detail::put_eight(params.dg, i, j, fast.dg);
      detail::put_eight(params.du, i, j, fast.du);
    }
  }
  const bool undecided = inside && !is_decided;
  if (__any_sync(all_lanes, undecided)) {
    detail::resolve_eights<Cache>(params, undecided);
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_TRAINING_SWIGLU_ELEMENTWISE_CUH_
