// RMSNorm's backward pass. dx: a warp or a block has a row; dw: a thread has
// two columns of a range of 256 tokens, then one of the ranges' sums. Both are
// in one launch, so that dy and x come from memory once.
//
// Source: SPEC clause N3.

#include <algorithm>

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/common/row_eights.cuh"
#include "cuda/model/row_sum.cuh"
#include "cuda/ptx/warp.cuh"
#include "zeroulp/core/model/rms_norm_backward.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::cuda {
namespace {

using A = device_fp32;

constexpr int threads = 256;

/// Columns of dw that a block has.
constexpr int dw_columns = 2 * threads;
/// Rows of dw that a thread loads at once.
template <int Kept>
constexpr int dw_rows = Kept == 1 ? 16 : 44;
/// How far dx is behind dw, as rows times columns, by 256: dw reads a range of
/// tokens from memory, slowly, as its chains are long; dx then finds it in the
/// L2.
constexpr std::ptrdiff_t dx_distance = 14336;

struct gradient_params {
  eights_matrix<const std::uint16_t> dy, x, residual;
  eights_matrix<const std::uint32_t> w;
  matrix_view<const std::uint32_t> rstd;
  eights_matrix<std::uint16_t> dx;
  float* ranges;                  ///< sums of dw, a row for each range; or none
  std::uint32_t count;            ///< of columns, FP32 bits
  unsigned dw_blocks, dx_blocks;  ///< of a range of tokens
  unsigned token_ranges, dx_is_behind;
};

/// What find_dx reads of eight columns.
struct dx_operands {
  vec8<2> dy, x, residual;
  vec8<4> w;
};

/// The first `Kept` runs of eight of a thread stay in registers; those beyond
/// are read twice. Whole: all matrices are.
template <int Threads, int Kept, bool Whole>
__device__ void find_dx(const gradient_params& t, std::ptrdiff_t i) {
  const std::ptrdiff_t n = t.x.cols;
  const float rstd = __uint_as_float(t.rstd(i, 0));
  const bool adds = t.residual.data != nullptr;
  const auto read = [&](bool inside, std::ptrdiff_t first) {
    return dx_operands{t.dy.get_if<Whole>(inside, i, first),
                       t.x.get_if<Whole>(inside, i, first),
                       t.residual.get_if<Whole>(inside && adds, i, first),
                       t.w.get_if<Whole>(inside, 0, first)};
  };
  kept_runs<Threads, Kept, dx_operands> runs(n, read);
  /// Calls use(first column, operands) for the runs of this thread, in order.
  const auto for_all = [&](auto use) {
    runs.for_all(use,
                 [&](std::ptrdiff_t first) { use(first, read(true, first)); });
  };

  float sum = 0;
  for_all([&](std::ptrdiff_t first, const dx_operands& of) {
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const float g = __fmul_rn(number_in(of.dy, e), number_in(of.w, e));
      if (Whole || first + e < n) sum = __fmaf_rn(g, number_in(of.x, e), sum);
    }
  });
  sum = tree_of_threads<Threads, A>(sum);
  const float minus_a = -__fdiv_rn(__fmul_rn(__fmul_rn(sum, rstd), rstd),
                                   __uint_as_float(t.count));
  for_all([&](std::ptrdiff_t first, const dx_operands& of) {
    t.dx.put(i, first, bf16_codes([&](int e) {
               const float g =
                   __fmul_rn(number_in(of.dy, e), number_in(of.w, e));
               const float d =
                   __fmul_rn(rstd, __fmaf_rn(minus_a, number_in(of.x, e), g));
               return adds ? __fadd_rn(d, number_in(of.residual, e)) : d;
             }));
  });
}

/// Elements j and j + 1 of row i if `inside`, the first in the low half; 0
/// beyond the row. Whole: two neighbours are an aligned word.
template <bool Whole>
__device__ std::uint32_t pair_of(const eights_matrix<const std::uint16_t>& x,
                                 bool inside, std::ptrdiff_t i,
                                 std::ptrdiff_t j) {
  const std::uint16_t* const at = x.data + i * x.stride + j;
  if constexpr (Whole) return ptx::load_if(inside, at);
  if (!inside) return 0;
  return at[0] | (j + 1 < x.cols ? std::uint32_t{at[1]} << 16 : 0);
}

/// A block has dw_columns of dw of a range of tokens, a thread two of them from
/// column j on.
template <int Rows, bool Whole>
__device__ void find_range_of_dw(const gradient_params& t, std::ptrdiff_t range,
                                 std::ptrdiff_t j) {
  __shared__ float rstd[token_range];
  const std::ptrdiff_t from = range * token_range;
  const int rows = static_cast<int>(min(t.x.rows - from, token_range));
  static_assert(token_range == threads);
  if (static_cast<int>(threadIdx.x) < rows) {
    rstd[threadIdx.x] = __uint_as_float(t.rstd(from + threadIdx.x, 0));
  }
  __syncthreads();
  const std::ptrdiff_t n = t.x.cols;
  if (j >= n) return;
  float p[2]{};
  for (int first = 0; first < rows; first += Rows) {
    std::uint32_t dy[Rows], x[Rows];
#pragma unroll
    for (int k = 0; k < Rows; ++k) {
      const bool inside = first + k < rows;
      dy[k] = pair_of<Whole>(t.dy, inside, from + first + k, j);
      x[k] = pair_of<Whole>(t.x, inside, from + first + k, j);
    }
#pragma unroll
    for (int k = 0; k < Rows; ++k) {
      if (first + k >= rows) break;
      const float r = rstd[first + k];
      const auto add = [&](float& sum, std::uint32_t of_dy,
                           std::uint32_t of_x) {
        sum = __fmaf_rn(__uint_as_float(of_dy),
                        __fmul_rn(__uint_as_float(of_x), r), sum);
      };
      add(p[0], dy[k] << 16, x[k] << 16);
      add(p[1], dy[k] & 0xffff0000, x[k] & 0xffff0000);
    }
  }
  float* const sums = t.ranges + range * n + j;
  sums[0] = p[0];
  if (j + 1 < n) sums[1] = p[1];
}

/// Of each range of tokens the blocks of dw, and those of rows of dx of an
/// earlier range. dw of the first ranges comes before any dx, dx of the last
/// ones after all dw.
template <int Threads, int Kept, bool Whole>
__global__ void __launch_bounds__(threads, !Whole || Kept > 1 ? 2 : 4)
    find_gradients(const __grid_constant__ gradient_params t) {
  ptx::wait_for_kernels_before();
  const unsigned dw = t.dw_blocks, dx = t.dx_blocks, both = dw + dx;
  const unsigned of_both = t.token_ranges - t.dx_is_behind;
  unsigned i = blockIdx.x, range, at;  // at < dw: dw
  if (i < t.dx_is_behind * dw) {
    range = i / dw, at = i % dw;
  } else if ((i -= t.dx_is_behind * dw) < of_both * both) {
    range = i / both, at = i % both;
    if (at < dw) range += t.dx_is_behind;
  } else {
    i -= of_both * both;
    range = of_both + i / dx, at = dw + i % dx;
  }
  if (at < dw) {
    find_range_of_dw<dw_rows<Kept>, Whole>(
        t, range, std::ptrdiff_t{at} * dw_columns + 2 * threadIdx.x);
    return;
  }
  const std::ptrdiff_t row = std::ptrdiff_t{range} * token_range +
                             (at - dw) * (threads / Threads) +
                             threadIdx.x / Threads;
  if (row < t.x.rows) find_dx<Threads, Kept, Whole>(t, row);
}

struct ranges_params {
  const float* ranges;
  std::ptrdiff_t count;
  matrix_view<std::uint32_t> dw;
};

__global__ void add_ranges_of_dw(const __grid_constant__ ranges_params t) {
  ptx::wait_for_kernels_before();
  const auto j =
      static_cast<std::ptrdiff_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (j >= t.dw.cols) return;
  float sum = 0;
#pragma unroll 16
  for (std::ptrdiff_t i = 0; i < t.count; ++i) {
    sum = __fadd_rn(sum, t.ranges[i * t.dw.cols + j]);
  }
  t.dw(0, j) = __float_as_uint(sum);
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
  const std::ptrdiff_t dw_blocks = finds_dw ? ceil_div(n, dw_columns) : 0;
  const std::ptrdiff_t dx_blocks =
      t.dx.data != nullptr ? token_range / rows_of_block(n) : 0;
  if (ranges > 0 && dw_blocks + dx_blocks > 0) {
    const auto of = [](auto x) { return eights_matrix(x); };
    const gradient_params params{
        of(t.dy),
        of(t.x),
        of(t.residual),
        of(t.w),
        t.rstd,
        of(t.dx),
        sums,
        count_as_fp32(n),
        static_cast<unsigned>(dw_blocks),
        static_cast<unsigned>(dx_blocks),
        static_cast<unsigned>(ranges),
        static_cast<unsigned>(std::min(ranges, ceil_div(dx_distance, n)))};
    const bool whole = params.dy.whole && params.x.whole &&
                       params.residual.whole && params.w.whole;
    const auto kernel =
        kernel_for_rows<4>(n, whole, [&]<int Threads, int Kept, bool Whole>() {
          return find_gradients<Threads, (Whole ? Kept : 1), Whole>;
        });
    pdl_launch(stream, kernel, r.blocks(ranges * (dw_blocks + dx_blocks)),
               threads, params);
    r.launched();
  }
  if (!finds_dw) return;
  constexpr int columns = 64;
  pdl_launch(stream, add_ranges_of_dw, r.blocks(ceil_div(n, columns)), columns,
             {sums, ranges, t.dw});
  r.launched();
}

}  // namespace zeroulp::cuda
