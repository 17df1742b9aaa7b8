// RMSNorm's backward pass. dx: a warp or a block has a row; dw: a thread has a
// column of a range of 256 tokens, then of the ranges' sums.
//
// Source: SPEC clause N3.

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/row_eights.cuh"
#include "cuda/model/row_sum.cuh"
#include "zeroulp/core/model/rms_norm_backward.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::cuda {
namespace {

using A = device_fp32;

constexpr int threads = 256;

/// What find_dx reads and writes.
struct dx_params {
  eights_matrix<const std::uint16_t> dy, x, residual;
  eights_matrix<const std::uint32_t> w;
  matrix_view<const std::uint32_t> rstd;
  eights_matrix<std::uint16_t> dx;
  std::uint32_t count;  ///< of columns, FP32 bits
};

template <int Threads>
__global__ void find_dx(const __grid_constant__ dx_params t) {
  const std::ptrdiff_t i = row_of_thread<Threads>();
  if (i >= t.x.rows) return;
  const std::ptrdiff_t n = t.x.cols;
  const float rstd = __uint_as_float(t.rstd(i, 0));
  float sum = 0;
  for_runs<Threads>(n, [&](std::ptrdiff_t first) {
    const auto dy = t.dy.get(i, first), x = t.x.get(i, first);
    const auto w = t.w.get(0, first);
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const float g = __fmul_rn(number_in(dy, e), number_in(w, e));
      if (first + e < n) sum = __fmaf_rn(g, number_in(x, e), sum);
    }
  });
  sum = tree_of_threads<Threads, A>(sum);
  const float minus_a = -__fdiv_rn(__fmul_rn(__fmul_rn(sum, rstd), rstd),
                                   __uint_as_float(t.count));
  for_runs<Threads>(n, [&](std::ptrdiff_t first) {
    const auto dy = t.dy.get(i, first), x = t.x.get(i, first);
    const auto w = t.w.get(0, first);
    const bool adds = t.residual.data != nullptr;
    const auto q = adds ? t.residual.get(i, first) : vec8<2>{};
    t.dx.put(i, first, bf16_codes([&](int e) {
               const float g = __fmul_rn(number_in(dy, e), number_in(w, e));
               const float d =
                   __fmul_rn(rstd, __fmaf_rn(minus_a, number_in(x, e), g));
               return adds ? __fadd_rn(d, number_in(q, e)) : d;
             }));
  });
}

__global__ void find_range_dw(const __grid_constant__ rms_norm_gradients t,
                              float* ranges) {
  const std::ptrdiff_t n = t.x.cols;
  const auto j =
      static_cast<std::ptrdiff_t>(blockIdx.x) * threads + threadIdx.x;
  if (j >= n) return;
  const std::ptrdiff_t from = std::ptrdiff_t{blockIdx.y} * token_range;
  const std::ptrdiff_t to = min(t.x.rows, from + token_range);
  float p = 0;
#pragma unroll 4
  for (std::ptrdiff_t i = from; i < to; ++i) {
    p = __fmaf_rn(
        bf16_number<A>(t.dy(i, j)),
        __fmul_rn(bf16_number<A>(t.x(i, j)), __uint_as_float(t.rstd(i, 0))), p);
  }
  ranges[std::ptrdiff_t{blockIdx.y} * n + j] = p;
}

__global__ void add_ranges_of_dw(const float* ranges, std::ptrdiff_t count,
                                 matrix_view<std::uint32_t> dw) {
  const auto j =
      static_cast<std::ptrdiff_t>(blockIdx.x) * threads + threadIdx.x;
  if (j >= dw.cols) return;
  float sum = 0;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    sum = __fadd_rn(sum, ranges[i * dw.cols + j]);
  }
  dw(0, j) = __float_as_uint(sum);
}

}  // namespace

void rms_norm_backward(const rms_norm_gradients& t,
                       std::span<std::uint32_t> work, CUstream_st* stream) {
  const argument_checks r("cuda::rms_norm_backward");
  const std::ptrdiff_t m = t.x.rows, n = t.x.cols;
  const auto need = [&](const auto& x, std::ptrdiff_t rows, const char* what) {
    if (x.rows != rows || x.cols != n || (rows > 0 && x.col_stride != 1)) {
      r.refuse(std::string(what) + " has another shape");
    }
  };
  need(t.dy, m, "dy");
  need(t.w, 1, "w");
  r.need(t.rstd.rows == m && t.rstd.cols == 1, "rstd has another shape");
  if (t.residual.data != nullptr) need(t.residual, m, "residual");
  if (t.dx.data != nullptr) need(t.dx, m, "dx");
  const std::ptrdiff_t ranges = ceil_div(m, token_range);
  if (t.dw.data != nullptr) {
    need(t.dw, 1, "dw");
    r.need(static_cast<std::ptrdiff_t>(work.size()) >= ranges * n,
           "`work` is smaller than ceil(m / 256) x n words");
    r.need(ranges < 65536, "there are more than 2^24 tokens");
  }
  if (n == 0) return;
  r.need_gpu();
  if (t.dx.data != nullptr && m > 0) {
    const auto of = [](auto x) { return eights_matrix(x); };
    const dx_params params{of(t.dy), of(t.x),  of(t.residual),  of(t.w),
                           t.rstd,   of(t.dx), count_as_fp32(n)};
    ZEROULP_LAUNCH_ROWS(r, find_dx, m, n, stream, params);
  }
  if (t.dw.data == nullptr) return;
  const unsigned columns = r.blocks(ceil_div(n, threads));
  auto* const sums = reinterpret_cast<float*>(work.data());
  if (ranges > 0) {
    find_range_dw<<<dim3(columns, static_cast<unsigned>(ranges)), threads, 0,
                    stream>>>(t, sums);
    r.launched();
  }
  add_ranges_of_dw<<<columns, threads, 0, stream>>>(sums, ranges, t.dw);
  r.launched();
}

}  // namespace zeroulp::cuda
