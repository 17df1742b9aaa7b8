// Defines the kernels of SwiGLU over BF16 matrices: half a warp reads four rows
// of 128 columns of each, and quantizes what it computes of them.
//
//   g, u -> their caches -> h -> h quantized
//   dh, caches of g and u -> h, dg, du -> dg, du quantized
//
// Source: SPEC clauses S1 to S3.

#ifndef ZEROULP_CUDA_SWIGLU_CUH_
#define ZEROULP_CUDA_SWIGLU_CUH_

#include "cuda/arithmetic.cuh"
#include "cuda/bf16.cuh"
#include "cuda/decode.cuh"
#include "cuda/quantize_rows.cuh"

namespace zeroulp::cuda {

/// Rows of half a warp.
inline constexpr int swiglu_rows = 4;

/// Outputs without data, or without groups, are not wanted.
struct swiglu_job {
  quantizer_plan out, cache;
  device_rows g, u, h;
  quantized_target h_out, g_cache, u_cache;
};

struct swiglu_gradient_job {
  quantizer_plan out;
  device_rows dh, g, u;  ///< g and u: codes
  scale_source g_scales, u_scales;
  device_rows h, dg, du;
  quantized_target dg_out, du_out;
};

namespace detail {

using bf16_octet = octet<bf16_elements::bytes>;

__device__ inline bf16_octet swiglu_octet(const bf16_octet& g,
                                          const bf16_octet& u) {
  const auto value = [&](int k) {
    return swiglu_value<device_fp32>(value_of<bf16_elements>(g.element(k)),
                                     value_of<bf16_elements>(u.element(k)));
  };
  bf16_octet h;
#pragma unroll
  for (int k = 0; k < 8; k += 2) {
    h.words[k / 2] = to_bf16(value(k), value(k + 1));
  }
  return h;
}

struct gradient_octets {
  bf16_octet h, dg, du;
};

/// Of an octet of dh and of the codes of g and u with their scales.
template <class Cache>
__device__ gradient_octets swiglu_gradient_octet(const bf16_octet& dh,
                                                 const octet<Cache::bytes>& g,
                                                 float g_scale,
                                                 const octet<Cache::bytes>& u,
                                                 float u_scale) {
  const auto gradient = [&](int k) {
    return swiglu_gradient<device_fp32>(
        __fmul_rn(decoded<Cache>(g.words, k), g_scale),
        __fmul_rn(decoded<Cache>(u.words, k), u_scale),
        value_of<bf16_elements>(dh.element(k)));
  };
  gradient_octets x;
#pragma unroll
  for (int k = 0; k < 8; k += 2) {
    const auto first = gradient(k), second = gradient(k + 1);
    x.h.words[k / 2] = to_bf16(first.h, second.h);
    x.dg.words[k / 2] = to_bf16(first.dg, second.dg);
    x.du.words[k / 2] = to_bf16(first.du, second.du);
  }
  return x;
}

/// Writes an octet of a row of `to`, if it is wanted.
__device__ inline void store_octet(const device_rows& to, std::ptrdiff_t row,
                                   std::ptrdiff_t col0, const bf16_octet& x) {
  if (to.data == nullptr || row >= to.rows) return;
  store<2>(to.row<2>(row), col0, to.cols, to.whole, x);
}

template <class In>
__device__ octet<In::bytes> load_octet(const device_rows& from,
                                       std::ptrdiff_t row,
                                       std::ptrdiff_t col0) {
  return load<In::bytes>(from.row<In::bytes>(row), col0, from.cols, from.whole);
}

/// True iff all rows of half a warp, and this lane's columns, are part of an
/// m x n target whose rows are aligned.
__device__ inline bool is_covered(const quantized_target& y,
                                  const half_warp_place& at) {
  return y.groups != grouping::none && y.codes.whole &&
         at.row0 + swiglu_rows <= y.codes.rows &&
         column_of_octet(at.group) + 8 <= y.codes.cols;
}

/// h of four rows.
struct hidden_octets {
  using elements = bf16_elements;
  static constexpr int count = swiglu_rows;

  const swiglu_job& job;
  half_warp_place at;

  __device__ const quantized_target& target(int) const { return job.h_out; }
  __device__ std::ptrdiff_t row(int i) const { return at.row0 + i; }
  __device__ std::ptrdiff_t group(int) const { return at.group; }
  __device__ bool is_inside(int i) const { return row(i) < job.g.rows; }
  __device__ bool is_full() const { return is_covered(job.h_out, at); }
  __device__ bf16_octet again(int i) const {
    const std::ptrdiff_t col0 = column_of_octet(at.group);
    return swiglu_octet(load_octet<bf16_elements>(job.g, row(i), col0),
                        load_octet<bf16_elements>(job.u, row(i), col0));
  }
};

/// g of four rows, then u.
struct input_octets {
  using elements = bf16_elements;
  static constexpr int count = 2 * swiglu_rows;

  const swiglu_job& job;
  half_warp_place at;

  __device__ const quantized_target& target(int i) const {
    return i < swiglu_rows ? job.g_cache : job.u_cache;
  }
  __device__ std::ptrdiff_t row(int i) const {
    return at.row0 + i % swiglu_rows;
  }
  __device__ std::ptrdiff_t group(int) const { return at.group; }
  __device__ bool is_inside(int i) const {
    return target(i).groups != grouping::none && row(i) < job.g.rows;
  }
  __device__ bool is_full() const {
    return is_covered(job.g_cache, at) && is_covered(job.u_cache, at);
  }
  __device__ bf16_octet again(int i) const {
    return load_octet<bf16_elements>(i < swiglu_rows ? job.g : job.u, row(i),
                                     column_of_octet(at.group));
  }
};

/// dg of four rows, then du.
template <class Cache>
struct gradient_rows {
  using elements = bf16_elements;
  static constexpr int count = 2 * swiglu_rows;

  const swiglu_gradient_job& job;
  half_warp_place at;

  __device__ const quantized_target& target(int i) const {
    return i < swiglu_rows ? job.dg_out : job.du_out;
  }
  __device__ std::ptrdiff_t row(int i) const {
    return at.row0 + i % swiglu_rows;
  }
  __device__ std::ptrdiff_t group(int) const { return at.group; }
  __device__ bool is_inside(int i) const {
    return target(i).groups != grouping::none && row(i) < job.dh.rows;
  }
  __device__ bool is_full() const {
    return is_covered(job.dg_out, at) && is_covered(job.du_out, at);
  }
  __device__ bf16_octet again(int i) const {
    const std::ptrdiff_t col0 = column_of_octet(at.group);
    const auto x = swiglu_gradient_octet<Cache>(
        load_octet<bf16_elements>(job.dh, row(i), col0),
        load_octet<Cache>(job.g, row(i), col0),
        __uint_as_float(job.g_scales.at(row(i), at.group)),
        load_octet<Cache>(job.u, row(i), col0),
        __uint_as_float(job.u_scales.at(row(i), at.group)));
    return i < swiglu_rows ? x.dg : x.du;
  }
};

}  // namespace detail

namespace detail {

/// What is left of a half warp's rows; out of the way of the kernel's
/// registers.
template <class Out, class Cache>
__device__ __noinline__ void finish_swiglu(const swiglu_job& job,
                                           unfinished_octets hidden,
                                           unfinished_octets inputs) {
  const half_warp_place at(swiglu_rows, job.g.cols);
  finish_octets<Out>(job.out, {}, hidden_octets{job, at}, hidden);
  finish_octets<Cache>(job.cache, {}, input_octets{job, at}, inputs);
}

}  // namespace detail

template <class Out, class Cache>
__global__ void __launch_bounds__(row_threads, 6)
    swiglu_forward_rows(const __grid_constant__ swiglu_job job) {
  constexpr int rows = swiglu_rows;
  const half_warp_place at(rows, job.g.cols);
  const std::ptrdiff_t col0 = column_of_octet(at.group);
  detail::bf16_octet x[2 * rows];  // of g, then of u
  {
    detail::bf16_octet g[rows], u[rows];
    load_rows<2>(job.g, at.row0, col0, g);
    load_rows<2>(job.u, at.row0, col0, u);
#pragma unroll
    for (int i = 0; i < rows; ++i) x[i] = g[i], x[rows + i] = u[i];
  }

  unfinished_octets inputs_left{}, hidden_left{};
  if (job.g_cache.groups != grouping::none ||
      job.u_cache.groups != grouping::none) {
    inputs_left =
        quantize_octets<Cache>(job.cache, {}, detail::input_octets{job, at}, x);
  }
  detail::bf16_octet h[rows];
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    h[i] = detail::swiglu_octet(x[i], x[rows + i]);
    detail::store_octet(job.h, at.row0 + i, col0, h[i]);
  }
  if (job.h_out.groups != grouping::none) {
    hidden_left =
        quantize_octets<Out>(job.out, {}, detail::hidden_octets{job, at}, h);
  }
  const bool by_core = hidden_left.by_core || inputs_left.by_core;
  if (__any_sync(all_lanes,
                 by_core || (hidden_left.open | inputs_left.open) != 0)) {
    detail::finish_swiglu<Out, Cache>(job, hidden_left, inputs_left);
  }
}

template <class Out, class Cache>
__global__ void __launch_bounds__(row_threads, 6)
    swiglu_backward_rows(const __grid_constant__ swiglu_gradient_job job) {
  constexpr int rows = swiglu_rows;
  const half_warp_place at(rows, job.dh.cols);
  const std::ptrdiff_t col0 = column_of_octet(at.group);
  detail::bf16_octet dh[rows];
  octet<Cache::bytes> g[rows], u[rows];
  load_rows<2>(job.dh, at.row0, col0, dh);
  load_rows<Cache::bytes>(job.g, at.row0, col0, g);
  load_rows<Cache::bytes>(job.u, at.row0, col0, u);

  // Lane i has the scale of row i % 4, of g if i % 8 < 4, else of u.
  const int of_lane = static_cast<int>(threadIdx.x % (2 * rows));
  const std::ptrdiff_t my_row = at.row0 + of_lane % rows;
  std::uint32_t my_scale = 0;
  if (my_row < job.dh.rows) {
    my_scale =
        (of_lane < rows ? job.g_scales : job.u_scales).at(my_row, at.group);
  }

  detail::bf16_octet x[2 * rows];
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    const auto scale_of = [&](int lane) {
      return __uint_as_float(__shfl_sync(all_lanes, my_scale, lane, 16));
    };
    const float g_scale = scale_of(i), u_scale = scale_of(rows + i);
    const auto gradient = detail::swiglu_gradient_octet<Cache>(
        dh[i], g[i], g_scale, u[i], u_scale);
    detail::store_octet(job.h, at.row0 + i, col0, gradient.h);
    detail::store_octet(job.dg, at.row0 + i, col0, gradient.dg);
    detail::store_octet(job.du, at.row0 + i, col0, gradient.du);
    x[i] = gradient.dg;
    x[rows + i] = gradient.du;
  }
  if (job.dg_out.groups == grouping::none &&
      job.du_out.groups == grouping::none) {
    return;
  }
  const detail::gradient_rows<Cache> gradients{job, at};
  const auto left = quantize_octets<Out>(job.out, {}, gradients, x);
  finish_octets<Out>(job.out, {}, gradients, left);
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_SWIGLU_CUH_
