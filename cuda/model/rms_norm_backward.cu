// RMSNorm's backward pass. dx: a warp or a block has a row; dw: a thread has
// two columns of a range of 256 tokens, then one of the ranges' sums. Both are
// in one launch, so that dy and x come from memory once.
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

/// Columns of dw that a block has, and rows that a thread loads at once.
constexpr int dw_columns = 2 * threads, dw_rows = 16;

struct gradient_params {
  eights_matrix<const std::uint16_t> dy, x, residual;
  eights_matrix<const std::uint32_t> w;
  matrix_view<const std::uint32_t> rstd;
  eights_matrix<std::uint16_t> dx;
  float* ranges;                  ///< sums of dw, a row for each range; or none
  bool pairs;                     ///< two neighbours of dy and of x are a word
  std::uint32_t count;            ///< of columns, FP32 bits
  unsigned dw_blocks, dx_blocks;  ///< of a range of tokens
};

/// What find_dx reads of eight columns.
struct dx_operands {
  vec8<2> dy, x, residual;
};

/// The first `Kept` runs of eight of a thread stay in registers; those beyond
/// are read twice.
template <int Threads, int Kept>
__device__ void find_dx(const gradient_params& t, std::ptrdiff_t i) {
  constexpr std::ptrdiff_t step = rms_run * rms_lanes;
  const std::ptrdiff_t n = t.x.cols;
  const std::ptrdiff_t begin = rms_run * (threadIdx.x % Threads);
  const float rstd = __uint_as_float(t.rstd(i, 0));
  const bool adds = t.residual.data != nullptr;
  const auto read = [&](std::ptrdiff_t first) {
    return dx_operands{t.dy.get(i, first), t.x.get(i, first),
                       adds ? t.residual.get(i, first) : vec8<2>{}};
  };
  dx_operands kept[Kept];
#pragma unroll
  for (int k = 0; k < Kept; ++k) {
    if (begin + k * step < n) kept[k] = read(begin + k * step);
  }
  /// Calls use(first column, operands) for the runs of this thread, in order.
  const auto for_all = [&](auto use) {
#pragma unroll
    for (int k = 0; k < Kept; ++k) {
      if (begin + k * step < n) use(begin + k * step, kept[k]);
    }
    for (auto first = begin + Kept * step; first < n; first += step) {
      use(first, read(first));
    }
  };

  float sum = 0;
  for_all([&](std::ptrdiff_t first, const dx_operands& of) {
    const auto w = t.w.get(0, first);
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const float g = __fmul_rn(number_in(of.dy, e), number_in(w, e));
      if (first + e < n) sum = __fmaf_rn(g, number_in(of.x, e), sum);
    }
  });
  sum = tree_of_threads<Threads, A>(sum);
  const float minus_a = -__fdiv_rn(__fmul_rn(__fmul_rn(sum, rstd), rstd),
                                   __uint_as_float(t.count));
  for_all([&](std::ptrdiff_t first, const dx_operands& of) {
    const auto w = t.w.get(0, first);
    t.dx.put(i, first, bf16_codes([&](int e) {
               const float g = __fmul_rn(number_in(of.dy, e), number_in(w, e));
               const float d =
                   __fmul_rn(rstd, __fmaf_rn(minus_a, number_in(of.x, e), g));
               return adds ? __fadd_rn(d, number_in(of.residual, e)) : d;
             }));
  });
}

/// Elements j and j + 1 of row i, the first in the low half; 0 beyond the row.
__device__ std::uint32_t pair_of(const eights_matrix<const std::uint16_t>& x,
                                 std::ptrdiff_t i, std::ptrdiff_t j,
                                 bool is_a_word) {
  const std::uint16_t* const at = x.data + i * x.stride + j;
  if (is_a_word && j + 1 < x.cols) {
    return *reinterpret_cast<const std::uint32_t*>(at);
  }
  return at[0] | (j + 1 < x.cols ? std::uint32_t{at[1]} << 16 : 0);
}

/// A thread has two columns of dw of a range of tokens, from column j on.
__device__ void find_range_of_dw(const gradient_params& t, std::ptrdiff_t range,
                                 std::ptrdiff_t j) {
  const std::ptrdiff_t n = t.x.cols;
  if (j >= n) return;
  const std::ptrdiff_t from = range * token_range;
  const std::ptrdiff_t to = min(t.x.rows, from + token_range);
  float p[2]{};
  for (std::ptrdiff_t first = from; first < to; first += dw_rows) {
    std::uint32_t dy[dw_rows], x[dw_rows];
    float rstd[dw_rows];
#pragma unroll
    for (int k = 0; k < dw_rows; ++k) {
      if (first + k >= to) break;
      dy[k] = pair_of(t.dy, first + k, j, t.pairs);
      x[k] = pair_of(t.x, first + k, j, t.pairs);
      rstd[k] = __uint_as_float(t.rstd(first + k, 0));
    }
#pragma unroll
    for (int k = 0; k < dw_rows; ++k) {
      if (first + k >= to) break;
      const auto add = [&](float& sum, std::uint32_t of_dy,
                           std::uint32_t of_x) {
        sum = __fmaf_rn(__uint_as_float(of_dy),
                        __fmul_rn(__uint_as_float(of_x), rstd[k]), sum);
      };
      add(p[0], dy[k] << 16, x[k] << 16);
      add(p[1], dy[k] & 0xffff0000, x[k] & 0xffff0000);
    }
  }
  float* const sums = t.ranges + range * n + j;
  sums[0] = p[0];
  if (j + 1 < n) sums[1] = p[1];
}

/// Of each range of tokens the blocks of dw, then those of its rows of dx,
/// which find in the L2 what the first ones read.
template <int Threads, int Kept>
__global__ void __launch_bounds__(threads, Kept == 1 ? 3 : 2)
    find_gradients(const __grid_constant__ gradient_params t) {
  const unsigned blocks = t.dw_blocks + t.dx_blocks;
  const unsigned range = blockIdx.x / blocks;
  const unsigned at = blockIdx.x - range * blocks;
  if (at < t.dw_blocks) {
    find_range_of_dw(
        t, range,
        std::ptrdiff_t{at} * dw_columns + 2 * static_cast<int>(threadIdx.x));
    return;
  }
  const std::ptrdiff_t i = range * token_range +
                           (at - t.dw_blocks) * (threads / Threads) +
                           threadIdx.x / Threads;
  if (i < t.x.rows) find_dx<Threads, Kept>(t, i);
}

__global__ void add_ranges_of_dw(const float* ranges, std::ptrdiff_t count,
                                 matrix_view<std::uint32_t> dw) {
  const auto j =
      static_cast<std::ptrdiff_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (j >= dw.cols) return;
  float sum = 0;
#pragma unroll 16
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
  auto* const sums = reinterpret_cast<float*>(work.data());
  const bool finds_dw = t.dw.data != nullptr;
  const std::ptrdiff_t rows_of_block = n <= row_of_warp ? threads / 32 : 1;
  const std::ptrdiff_t dw_blocks = finds_dw ? ceil_div(n, dw_columns) : 0;
  const std::ptrdiff_t dx_blocks =
      t.dx.data != nullptr ? token_range / rows_of_block : 0;
  if (ranges > 0 && dw_blocks + dx_blocks > 0) {
    const auto of = [](auto x) { return eights_matrix(x); };
    const auto in_pairs = [](const auto& x) {
      return starts_on(4, x.data, 2 * x.row_stride);
    };
    const gradient_params params{of(t.dy),
                                 of(t.x),
                                 of(t.residual),
                                 of(t.w),
                                 t.rstd,
                                 of(t.dx),
                                 sums,
                                 in_pairs(t.dy) && in_pairs(t.x),
                                 count_as_fp32(n),
                                 static_cast<unsigned>(dw_blocks),
                                 static_cast<unsigned>(dx_blocks)};
    const unsigned blocks = r.blocks(ranges * (dw_blocks + dx_blocks));
    const auto kernel = n <= row_of_warp           ? find_gradients<32, 1>
                        : n <= rms_run * rms_lanes ? find_gradients<threads, 1>
                                                   : find_gradients<threads, 4>;
    kernel<<<blocks, threads, 0, stream>>>(params);
    r.launched();
  }
  if (!finds_dw) return;
  constexpr int columns = 64;
  add_ranges_of_dw<<<r.blocks(ceil_div(n, columns)), columns, 0, stream>>>(
      sums, ranges, t.dw);
  r.launched();
}

}  // namespace zeroulp::cuda
