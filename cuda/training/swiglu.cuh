// Defines the kernel of SwiGLU's forward pass over BF16 matrices. Half a warp
// reads four rows of 128 columns of each and quantizes the results. For whole
// vec8s swiglu_smem.cuh is faster.
//
//   g, u -> their caches -> h -> h quantized
//
// Source: SPEC clauses S1, S2.

#ifndef ZEROULP_CUDA_TRAINING_SWIGLU_CUH_
#define ZEROULP_CUDA_TRAINING_SWIGLU_CUH_

#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/warp.cuh"
#include "cuda/training/swiglu_fast_math.cuh"

namespace zeroulp::cuda {
namespace detail {

/// h of a vec8 by the core's arithmetic.
__device__ inline bf16_vec8 swiglu_vec8(const bf16_vec8& g,
                                        const bf16_vec8& u) {
  const auto value = [&](int k) {
    return swiglu_value<device_fp32>(value_of<bf16_elements>(g.element(k)),
                                     value_of<bf16_elements>(u.element(k)));
  };
  bf16_vec8 h;
#pragma unroll
  for (int k = 0; k < 8; k += 2) {
    h.words[k / 2] = ptx::cvt_bf16x2(value(k), value(k + 1));
  }
  return h;
}

/// Writes a vec8 of a row of `to`, if it is wanted.
__device__ inline void store_vec8(const device_rows& to, std::ptrdiff_t row,
                                  std::ptrdiff_t col0, const bf16_vec8& x) {
  if (to.data == nullptr || row >= to.rows) return;
  store<2>(to.row<2>(row), col0, to.cols, to.vectorized, x);
}

template <class In>
__device__ vec8<In::bytes> load_vec8(const device_rows& from,
                                     std::ptrdiff_t row, std::ptrdiff_t col0) {
  return load<In::bytes>(from.row<In::bytes>(row), col0, from.cols,
                         from.vectorized);
}

/// True iff all `Rows` rows of half a warp, and this lane's columns, are inside
/// a wanted target whose rows are aligned.
template <int Rows>
__device__ bool is_covered(const quantized_target& y,
                           const half_warp_position& at) {
  return y.groups != grouping::none && y.codes.vectorized &&
         at.row0 + Rows <= y.codes.rows &&
         column_of_vec8(at.group) + 8 <= y.codes.cols;
}

/// The `Vec8s` of h (rows_1x128.cuh): `Rows` rows.
template <int Rows>
struct hidden_vec8s {
  using elements = bf16_elements;
  static constexpr int count = Rows;

  const swiglu_params& params;
  half_warp_position at;

  __device__ const quantized_target& target(int) const { return params.h_out; }
  __device__ const scale_target& scales(int) const {
    return params.h_out.scales;
  }
  __device__ std::ptrdiff_t row(int i) const { return at.row0 + i; }
  __device__ std::ptrdiff_t group(int) const { return at.group; }
  __device__ bool is_inside(int i) const { return row(i) < params.g.rows; }
  __device__ bool is_full() const { return is_covered<Rows>(params.h_out, at); }
  __device__ bf16_vec8 again(int i) const {
    const std::ptrdiff_t col0 = column_of_vec8(at.group);
    return swiglu_vec8(load_vec8<bf16_elements>(params.g, row(i), col0),
                       load_vec8<bf16_elements>(params.u, row(i), col0));
  }
};

/// The `Vec8s` of g, `Rows` rows, then those of u.
template <int Rows>
struct input_vec8s {
  using elements = bf16_elements;
  static constexpr int count = 2 * Rows;

  const swiglu_params& params;
  half_warp_position at;

  __device__ const quantized_target& target(int i) const {
    return i < Rows ? params.g_cache : params.u_cache;
  }
  __device__ scale_target scales(int i) const {
    return scales_of_either(i < Rows, params.g_cache, params.u_cache);
  }
  __device__ std::ptrdiff_t row(int i) const { return at.row0 + i % Rows; }
  __device__ std::ptrdiff_t group(int) const { return at.group; }
  __device__ bool is_inside(int i) const {
    return either(i < Rows, params.g_cache.groups, params.u_cache.groups) !=
               grouping::none &&
           row(i) < params.g.rows;
  }
  __device__ bool is_full() const {
    return is_covered<Rows>(params.g_cache, at) &&
           is_covered<Rows>(params.u_cache, at);
  }
  __device__ bf16_vec8 again(int i) const {
    return load_vec8<bf16_elements>(i < Rows ? params.g : params.u, row(i),
                                    column_of_vec8(at.group));
  }
};

/// Finishes a half warp's rows. Not inlined, to keep its registers out of the
/// kernel.
template <class Out, class Cache, int Rows>
__device__ __noinline__ void finish_swiglu(const swiglu_params& params,
                                           half_warp_position at,
                                           unfinished_vec8s hidden,
                                           unfinished_vec8s inputs) {
  finish_vec8s<Out>(params.out, {}, hidden_vec8s<Rows>{params, at}, hidden);
  finish_vec8s<Cache>(params.cache, {}, input_vec8s<Rows>{params, at}, inputs);
}

}  // namespace detail

template <class Out, class Cache>
__global__ void __launch_bounds__(row_threads, 6)
    swiglu_forward_rows(const __grid_constant__ swiglu_params params) {
  ptx::wait_for_kernels_before();
  constexpr int rows = swiglu_rows;
  __shared__ detail::resolved_vec8s<rows> resolved;
  const half_warp_position at(rows, params.g);
  const std::ptrdiff_t col0 = column_of_vec8(at.group);
  detail::bf16_vec8 x[2 * rows];  // g, then u
  {
    detail::bf16_vec8 g[rows], u[rows];
    load_rows<2>(params.g, at.row0, col0, g);
    load_rows<2>(params.u, at.row0, col0, u);
#pragma unroll
    for (int i = 0; i < rows; ++i) x[i] = g[i], x[rows + i] = u[i];
  }

  unfinished_vec8s inputs_left{}, hidden_left{};
  if (params.g_cache.groups != grouping::none ||
      params.u_cache.groups != grouping::none) {
    inputs_left = quantize_vec8s<Cache>(
        params.cache, {}, detail::input_vec8s<rows>{params, at}, x);
  }
  if (params.h.data == nullptr && params.h_out.groups == grouping::none) {
    if (__any_sync(all_lanes,
                   inputs_left.by_core || inputs_left.undecided != 0)) {
      detail::finish_swiglu<Out, Cache, rows>(params, at, hidden_left,
                                              inputs_left);
    }
    return;
  }
  detail::bf16_vec8 h[rows];
  unsigned undecided = 0;
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    const detail::fast_hidden fast(
        [&](int k) { return value_of<bf16_elements>(x[i].element(k)); },
        [&](int k) { return value_of<bf16_elements>(x[rows + i].element(k)); });
    h[i] = fast.h;
    if (!fast.is_decided || !detail::is_fast(x[i])) undecided |= 1u << i;
  }
  if (__any_sync(all_lanes, undecided != 0)) {
    detail::resolve_hidden(params, undecided, resolved);
#pragma unroll
    for (int i = 0; i < rows; ++i) resolved.take(i, undecided, h[i]);
  }
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    detail::store_vec8(params.h, at.row0 + i, col0, h[i]);
  }
  if (params.h_out.groups != grouping::none) {
    hidden_left = quantize_vec8s<Out>(
        params.out, {}, detail::hidden_vec8s<rows>{params, at}, h);
  }
  const bool by_core = hidden_left.by_core || inputs_left.by_core;
  if (__any_sync(all_lanes, by_core || (hidden_left.undecided |
                                        inputs_left.undecided) != 0)) {
    detail::finish_swiglu<Out, Cache, rows>(params, at, hidden_left,
                                            inputs_left);
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_TRAINING_SWIGLU_CUH_
