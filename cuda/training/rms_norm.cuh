// Defines the kernels of RMSNorm. The 256 threads of a block are the 256 lanes
// of a row's sum of squares. A thread's vec8s are its runs of eight. Half a
// warp quantizes a group.
//
//   x -> partial sums -> tree: shuffles, then eight warps -> rstd -> y -> codes
//
// Source: SPEC clauses S1, S4, S5.

#ifndef ZEROULP_CUDA_TRAINING_RMS_NORM_CUH_
#define ZEROULP_CUDA_TRAINING_RMS_NORM_CUH_

#include "cuda/common/arithmetic.cuh"
#include "cuda/common/bf16.cuh"
#include "cuda/common/numbers.cuh"
#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/warp.cuh"
#include "cuda/quantize/rows_1x128.cuh"

namespace zeroulp::cuda {

inline constexpr int rms_threads = rms_lanes;
inline constexpr int rms_warps = rms_threads / 32;
/// Columns between a thread's vec8s, and the vec8s it processes at a time.
inline constexpr int rms_stride = rms_run * rms_threads;
inline constexpr int rms_vec8s = 4;

/// Outputs without data, or without groups, are not wanted.
struct rms_params {
  quantizer_plan plan;
  number_matrix x, w, y;
  matrix_view<std::uint32_t> rstd;
  std::uint32_t count, eps;  ///< FP32 bits; count: of columns
  quantized_target out;
};

namespace detail {

using rms_vec8 = vec8<bf16_elements::bytes>;

/// Returns the sum of 256 partial sums for each of `Rows` rows: thread i < Rows
/// gets that of row i. Called by the whole block.
template <int Rows>
__device__ float sum_of_lanes(float (&p)[Rows]) {
  __shared__ float sums[Rows][rms_warps];
#pragma unroll
  for (int i = 0; i < Rows; ++i) {
#pragma unroll
    for (int lanes = 1; lanes < 32; lanes *= 2) {
      p[i] = __fadd_rn(p[i], __shfl_xor_sync(all_lanes, p[i], lanes));
    }
    if (threadIdx.x % 32 == 0) sums[i][threadIdx.x / 32] = p[i];
  }
  __syncthreads();
  if (threadIdx.x >= Rows) return 0;
  float s[rms_warps];
#pragma unroll
  for (int i = 0; i < rms_warps; ++i) s[i] = sums[threadIdx.x][i];
#pragma unroll
  for (int count = rms_warps / 2; count > 0; count /= 2) {
#pragma unroll
    for (int i = 0; i < count; ++i) s[i] = __fadd_rn(s[2 * i], s[2 * i + 1]);
  }
  return s[0];
}

/// Computes rstd of rows row0 to row0 + Rows - 1 from their partial sums, for
/// all threads.
template <int Rows>
__device__ void find_rstd(const rms_params& params, std::ptrdiff_t row0,
                          float (&p)[Rows], float (&rstd)[Rows]) {
  using A = device_fp32;
  const float sum = sum_of_lanes(p);
  const std::ptrdiff_t row = row0 + threadIdx.x;
  if (threadIdx.x < Rows) {
    rstd[threadIdx.x] =
        rms_rstd<A>(sum, A::from_bits(params.count), A::from_bits(params.eps));
    if (params.rstd.data != nullptr && row < params.x.rows.rows) {
      params.rstd(row, 0) = __float_as_uint(rstd[threadIdx.x]);
    }
  }
  __syncthreads();
}

/// Eight elements of w, BF16 or FP32, as numbers; zeros outside.
struct rms_weights {
  float number[8];

  __device__ rms_weights(const number_matrix& w, std::ptrdiff_t col0) {
    const device_rows& rows = w.rows;
    if (w.kind == number_kind::bf16) {
      const auto x = load<2>(rows.data, col0, rows.cols, rows.vectorized);
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        number[k] = value_of<bf16_elements>(x.element(k));
      }
    } else {
      const auto x = load<4>(rows.data, col0, rows.cols, rows.vectorized);
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        number[k] = value_of<fp32_elements>(x.element(k));
      }
    }
  }
};

__device__ inline rms_vec8 rms_value_vec8(const rms_vec8& x, float rstd,
                                          const rms_weights& w) {
  const auto value = [&](int k) {
    return rms_value<device_fp32>(value_of<bf16_elements>(x.element(k)), rstd,
                                  w.number[k]);
  };
  rms_vec8 y;
#pragma unroll
  for (int k = 0; k < 8; k += 2) {
    y.words[k / 2] = ptx::cvt_bf16x2(value(k), value(k + 1));
  }
  return y;
}

/// The `Vec8s` of y (rows_1x128.cuh): a thread's four vec8s, distributed
/// over `Rows` rows.
template <int Rows>
struct normalized_vec8s {
  using elements = bf16_elements;
  static constexpr int count = rms_vec8s;
  static constexpr int of_row = count / Rows;

  const rms_params& params;
  const float* rstd;
  std::ptrdiff_t row0, chunk;  ///< a chunk has of_row vec8s of a row

  __device__ const quantized_target& target(int) const { return params.out; }
  __device__ const scale_target& scales(int) const { return params.out.scales; }
  __device__ std::ptrdiff_t row(int i) const { return row0 + i / of_row; }
  __device__ std::ptrdiff_t group(int i) const {
    return (chunk * of_row + i % of_row) * (rms_stride / tile_edge) +
           threadIdx.x / 16;
  }
  __device__ std::ptrdiff_t column(int i) const {
    return column_of_vec8(group(i));
  }
  __device__ bool is_inside(int i) const {
    return row(i) < params.x.rows.rows &&
           group(i) * tile_edge < params.x.rows.cols;
  }
  __device__ bool is_full() const {
    return params.out.codes.vectorized && row(count - 1) < params.x.rows.rows &&
           column(count - 1) + 8 <= params.x.rows.cols;
  }
  __device__ rms_vec8 input(int i) const {
    const device_rows& x = params.x.rows;
    if (row(i) >= x.rows) return {};
    return load<2>(x.row<2>(row(i)), column(i), x.cols, x.vectorized);
  }
  __device__ rms_vec8 again(int i) const {
    return rms_value_vec8(input(i), rstd[i / of_row], {params.w, column(i)});
  }
};

}  // namespace detail

namespace detail {

/// Finishes a half warp's groups. Not inlined, to keep its registers out of the
/// kernel.
template <class Out, int Rows>
__device__ __noinline__ void finish_rms(const rms_params& params,
                                        const float* rstd, std::ptrdiff_t row0,
                                        std::ptrdiff_t chunk,
                                        unfinished_vec8s left) {
  const normalized_vec8s<Rows> vec8s{params, rstd, row0, chunk};
  finish_vec8s<Out>(params.plan, {}, vec8s, left);
}

template <int Rows>
__device__ void read_vec8s(const normalized_vec8s<Rows>& vec8s,
                           rms_vec8 (&x)[rms_vec8s]) {
#pragma unroll
  for (int i = 0; i < rms_vec8s; ++i) x[i] = vec8s.input(i);
}

/// Adds the squares to the partial sums.
template <int Rows>
__device__ void add_squares(const rms_vec8 (&x)[rms_vec8s], float (&p)[Rows]) {
#pragma unroll
  for (int k = 0; k < 8 * rms_vec8s; ++k) {
    const float value = value_of<bf16_elements>(x[k / 8].element(k % 8));
    float& sum = p[k / (8 * rms_vec8s / Rows)];
    sum = __fmaf_rn(value, value, sum);
  }
}

/// Turns x into y and writes the outputs that are wanted.
template <class Out, int Rows>
__device__ void write_vec8s(const normalized_vec8s<Rows>& vec8s,
                            rms_vec8 (&x)[rms_vec8s]) {
  constexpr int of_row = rms_vec8s / Rows;
  const rms_params& params = vec8s.params;
  const device_rows& y = params.y.rows;
#pragma unroll
  for (int c = 0; c < of_row; ++c) {
    const rms_weights w(params.w, vec8s.column(c));
#pragma unroll
    for (int i = c; i < rms_vec8s; i += of_row) {
      x[i] = rms_value_vec8(x[i], vec8s.rstd[i / of_row], w);
      if (y.data == nullptr || vec8s.row(i) >= y.rows) continue;
      store<2>(y.row<2>(vec8s.row(i)), vec8s.column(i), y.cols, y.vectorized,
               x[i]);
    }
  }
  if (params.out.groups == grouping::none) return;
  const auto left = quantize_vec8s<Out>(params.plan, {}, vec8s, x);
  if (__any_sync(all_lanes, left.by_core || left.undecided != 0)) {
    finish_rms<Out, Rows>(params, vec8s.rstd, vec8s.row0, vec8s.chunk, left);
  }
}

}  // namespace detail

/// x and y are of BF16, w of BF16 or FP32. A block takes `Rows` rows of up to
/// 8192 / Rows columns and reads them once. With `Longer` rows have more
/// columns and are read twice.
template <class Out, int Rows, bool Longer>
__global__ void __launch_bounds__(rms_threads, 4)
    rms_norm_rows(const __grid_constant__ rms_params params) {
  ptx::wait_for_kernels_before();
  __shared__ float rstd[Rows];
  detail::normalized_vec8s<Rows> vec8s{params, rstd,
                                       std::ptrdiff_t{blockIdx.x} * Rows, 0};
  const bool is_written =
      params.y.rows.data != nullptr || params.out.groups != grouping::none;
  [[maybe_unused]] const auto chunks = static_cast<int>(
      ceil_div(params.x.rows.cols, rms_stride * rms_vec8s / Rows));
  float p[Rows] = {};
  detail::rms_vec8 x[rms_vec8s];
  if constexpr (Longer) {
    for (; vec8s.chunk < chunks; ++vec8s.chunk) {
      detail::read_vec8s(vec8s, x);
      detail::add_squares(x, p);
    }
  } else {
    detail::read_vec8s(vec8s, x);
    detail::add_squares(x, p);
  }
  detail::find_rstd<Rows>(params, vec8s.row0, p, rstd);
  if (!is_written) return;
  if constexpr (Longer) {
    for (vec8s.chunk = 0; vec8s.chunk < chunks; ++vec8s.chunk) {
      detail::read_vec8s(vec8s, x);
      detail::write_vec8s<Out>(vec8s, x);
    }
  } else {
    detail::write_vec8s<Out>(vec8s, x);
  }
}

/// Numbers of any kind, without quantized output. A block takes a row.
static __global__ void __launch_bounds__(rms_threads)
    rms_norm_elementwise(const __grid_constant__ rms_params params) {
  ptx::wait_for_kernels_before();
  __shared__ float rstd[1];
  const std::ptrdiff_t row = blockIdx.x, n = params.x.rows.cols;
  float p[1] = {};
  for (std::ptrdiff_t j = rms_run * threadIdx.x; j < n; j += rms_stride) {
    for (std::ptrdiff_t k = j; k < min(n, j + rms_run); ++k) {
      const float value = params.x.at(row, k);
      p[0] = __fmaf_rn(value, value, p[0]);
    }
  }
  detail::find_rstd<1>(params, row, p, rstd);
  if (params.y.rows.data == nullptr) return;
  for (std::ptrdiff_t j = threadIdx.x; j < n; j += rms_threads) {
    params.y.put(row, j,
                 rms_value<device_fp32>(params.x.at(row, j), rstd[0],
                                        params.w.at(0, j)));
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_TRAINING_RMS_NORM_CUH_
