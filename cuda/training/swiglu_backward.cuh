// Defines the kernel of SwiGLU's backward pass over BF16 matrices. Half a warp
// reads four rows of 128 columns of each and quantizes the results. For whole
// vec8s swiglu_smem.cuh is faster.
//
//   dh, caches of g and u -> h, dg, du -> dg, du quantized
//
// Source: SPEC clauses S1, S3.

#ifndef ZEROULP_CUDA_TRAINING_SWIGLU_BACKWARD_CUH_
#define ZEROULP_CUDA_TRAINING_SWIGLU_BACKWARD_CUH_

#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/warp.cuh"
#include "cuda/training/swiglu.cuh"

namespace zeroulp::cuda {
namespace detail {

struct gradient_vec8s {
  bf16_vec8 h, dg, du;
};

/// By the core's arithmetic, from a vec8 of dh and the codes of g and u with
/// their scales.
template <class Cache>
__device__ gradient_vec8s swiglu_gradient_vec8(const bf16_vec8& dh,
                                               const vec8<Cache::bytes>& g,
                                               float g_scale,
                                               const vec8<Cache::bytes>& u,
                                               float u_scale) {
  const auto gradient = [&](int k) {
    return swiglu_gradient<device_fp32>(
        __fmul_rn(decoded<Cache>(g.words, k), g_scale),
        __fmul_rn(decoded<Cache>(u.words, k), u_scale),
        value_of<bf16_elements>(dh.element(k)));
  };
  gradient_vec8s x;
#pragma unroll
  for (int k = 0; k < 8; k += 2) {
    const auto first = gradient(k), second = gradient(k + 1);
    x.h.words[k / 2] = ptx::cvt_bf16x2(first.h, second.h);
    x.dg.words[k / 2] = ptx::cvt_bf16x2(first.dg, second.dg);
    x.du.words[k / 2] = ptx::cvt_bf16x2(first.du, second.du);
  }
  return x;
}

/// The `Vec8s` of dg, `Rows` rows, then those of du.
template <class Cache, int Rows>
struct gradient_rows {
  using elements = bf16_elements;
  static constexpr int count = 2 * Rows;

  const swiglu_gradient_params& params;
  half_warp_position at;

  __device__ const quantized_target& target(int i) const {
    return i < Rows ? params.dg_out : params.du_out;
  }
  __device__ scale_target scales(int i) const {
    return scales_of_either(i < Rows, params.dg_out, params.du_out);
  }
  __device__ std::ptrdiff_t row(int i) const { return at.row0 + i % Rows; }
  __device__ std::ptrdiff_t group(int) const { return at.group; }
  __device__ bool is_inside(int i) const {
    return either(i < Rows, params.dg_out.groups, params.du_out.groups) !=
               grouping::none &&
           row(i) < params.dh.rows;
  }
  __device__ bool is_full() const {
    return is_covered<Rows>(params.dg_out, at) &&
           is_covered<Rows>(params.du_out, at);
  }
  __device__ bf16_vec8 again(int i) const {
    const std::ptrdiff_t col0 = column_of_vec8(at.group);
    const auto x = swiglu_gradient_vec8<Cache>(
        load_vec8<bf16_elements>(params.dh, row(i), col0),
        load_vec8<Cache>(params.g, row(i), col0),
        __uint_as_float(params.g_scales.at(row(i), at.group)),
        load_vec8<Cache>(params.u, row(i), col0),
        __uint_as_float(params.u_scales.at(row(i), at.group)));
    return i < Rows ? x.dg : x.du;
  }
};

/// Finishes a half warp's rows. Not inlined, to keep its registers out of the
/// kernel.
template <class Out, class Cache, int Rows>
__device__ __noinline__ void finish_gradients(
    const swiglu_gradient_params& params, half_warp_position at,
    unfinished_vec8s left) {
  finish_vec8s<Out>(params.out, {}, gradient_rows<Cache, Rows>{params, at},
                    left);
}

}  // namespace detail

template <class Out, class Cache>
__global__ void __launch_bounds__(row_threads, 6) swiglu_backward_rows(
    const __grid_constant__ swiglu_gradient_params params) {
  ptx::wait_for_kernels_before();
  constexpr int rows = swiglu_rows;
  __shared__ detail::resolved_vec8s<rows> resolved_dg, resolved_du;
  const half_warp_position at(rows, params.dh);
  const std::ptrdiff_t col0 = column_of_vec8(at.group);
  detail::bf16_vec8 dh[rows];
  vec8<Cache::bytes> g[rows], u[rows];
  load_rows<2>(params.dh, at.row0, col0, dh);
  load_rows<Cache::bytes>(params.g, at.row0, col0, g);
  load_rows<Cache::bytes>(params.u, at.row0, col0, u);

  // Lane i holds the scale of row i % 4: of g if i % 8 < 4, else of u. It is 1
  // beyond the matrix.
  const int of_lane = static_cast<int>(threadIdx.x % (2 * rows));
  const std::ptrdiff_t my_row = at.row0 + of_lane % rows;
  std::uint32_t my_scale = fp32_one;
  if (my_row < params.dh.rows) {
    my_scale = (of_lane < rows ? params.g_scales : params.u_scales)
                   .at(my_row, at.group);
  }

  detail::bf16_vec8 x[2 * rows];
  unsigned undecided = 0;
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    const auto scale_of = [&](int lane) {
      return __uint_as_float(__shfl_sync(all_lanes, my_scale, lane, 16));
    };
    const float g_scale = scale_of(i), u_scale = scale_of(rows + i);
    const detail::fast_gradient<Cache> fast(
        dh[i], g[i], u[i], detail::gate_group_of<Cache>(g_scale, u_scale));
    bool is_decided = fast.is_decided && (!fast.has_far_ones(dh[i]) ||
                                          fast.are_near_or_zero(dh[i]));
    if (params.h.data != nullptr) {
      const detail::fast_hidden hidden(
          [&](int k) {
            return __fmul_rn(decoded<Cache>(g[i].words, k), g_scale);
          },
          [&](int k) {
            return __fmul_rn(decoded<Cache>(u[i].words, k), u_scale);
          });
      is_decided = is_decided && hidden.is_decided;
      if (is_decided) {
        detail::store_vec8(params.h, at.row0 + i, col0, hidden.h);
      }
    }
    x[i] = fast.dg;
    x[rows + i] = fast.du;
    if (!is_decided) undecided |= 1u << i;
  }
  if (__any_sync(all_lanes, undecided != 0)) {
    detail::resolve_gradients<Cache>(params, undecided, resolved_dg,
                                     resolved_du);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      resolved_dg.take(i, undecided, x[i]);
      resolved_du.take(i, undecided, x[rows + i]);
    }
  }
  if (params.dg.data != nullptr || params.du.data != nullptr) {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      detail::store_vec8(params.dg, at.row0 + i, col0, x[i]);
      detail::store_vec8(params.du, at.row0 + i, col0, x[rows + i]);
    }
  }
  if (params.dg_out.groups == grouping::none &&
      params.du_out.groups == grouping::none) {
    return;
  }
  const detail::gradient_rows<Cache, rows> gradients{params, at};
  const auto left = quantize_vec8s<Out>(params.out, {}, gradients, x);
  if (__any_sync(all_lanes, left.by_core || left.undecided != 0)) {
    detail::finish_gradients<Out, Cache, rows>(params, at, left);
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_TRAINING_SWIGLU_BACKWARD_CUH_
