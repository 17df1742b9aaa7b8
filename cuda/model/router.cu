// The router: sequential products, scores and choices (a thread has a token),
// the update of biases.
//
// Source: SPEC clauses T14, N8 to N12.

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/arithmetic.cuh"
#include "zeroulp/core/model/router.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::cuda {
namespace {

using A = device_fp32;

constexpr int threads = 256;

// Sequential products: a block has 64 x 16 outputs, a thread four of a column.
constexpr int tile_m = 64, tile_n = 16, tile_k = 32;
constexpr int rows_a_thread = tile_m * tile_n / threads;

struct sequential_params {
  sequential_operand a, b;
  std::ptrdiff_t range;  ///< of K
  float* d;              ///< a range's sums after the other's
  std::ptrdiff_t d_stride, d_range;
  unsigned tiles_n;
};

__device__ float element(const sequential_operand& x, std::ptrdiff_t i,
                         std::ptrdiff_t j) {
  const std::ptrdiff_t at = i * x.row_stride + j * x.col_stride;
  return x.element == fp32
             ? static_cast<const float*>(x.data)[at]
             : bf16_number<A>(static_cast<const std::uint16_t*>(x.data)[at]);
}

/// Copies `Rows` x tile_k elements, zeros outside, along what is adjacent.
template <int Rows>
__device__ void copy_tile(float (&to)[Rows][tile_k + 1],
                          const sequential_operand& x, std::ptrdiff_t row0,
                          std::ptrdiff_t k0, std::ptrdiff_t k_end) {
  const bool along_k = x.col_stride == 1;
  for (int at = static_cast<int>(threadIdx.x); at < Rows * tile_k;
       at += threads) {
    const int i = along_k ? at / tile_k : at % Rows;
    const int k = along_k ? at % tile_k : at / Rows;
    const bool inside = row0 + i < x.rows && k0 + k < k_end;
    to[i][k] = inside ? element(x, row0 + i, k0 + k) : 0;
  }
}

__global__ void __launch_bounds__(threads)
    multiply_in_order(const __grid_constant__ sequential_params p) {
  __shared__ float a[tile_m][tile_k + 1], b[tile_n][tile_k + 1];
  const std::ptrdiff_t m0 = std::ptrdiff_t{blockIdx.x / p.tiles_n} * tile_m;
  const std::ptrdiff_t n0 = std::ptrdiff_t{blockIdx.x % p.tiles_n} * tile_n;
  const std::ptrdiff_t begin = std::ptrdiff_t{blockIdx.y} * p.range;
  const std::ptrdiff_t end = min(p.a.cols, begin + p.range);
  const int col = static_cast<int>(threadIdx.x) % tile_n;
  const int row = static_cast<int>(threadIdx.x) / tile_n * rows_a_thread;
  float sum[rows_a_thread]{};
  for (std::ptrdiff_t k0 = begin; k0 < end; k0 += tile_k) {
    copy_tile(a, p.a, m0, k0, end);
    copy_tile(b, p.b, n0, k0, end);
    __syncthreads();
    // Zeros beyond the end turn -0 into +0 at most, as the last step does.
#pragma unroll 8
    for (int k = 0; k < tile_k; ++k) {
#pragma unroll
      for (int i = 0; i < rows_a_thread; ++i) {
        sum[i] = __fmaf_rn(a[row + i][k], b[col][k], sum[i]);
      }
    }
    __syncthreads();
  }
  if (n0 + col >= p.b.rows) return;
#pragma unroll
  for (int i = 0; i < rows_a_thread; ++i) {
    if (m0 + row + i >= p.a.rows) break;
    // Every zero result is +0 (T6).
    p.d[std::ptrdiff_t{blockIdx.y} * p.d_range + (m0 + row + i) * p.d_stride +
        n0 + col] = __fadd_rn(sum[i], 0);
  }
}

__global__ void add_ranges(const float* sums, std::ptrdiff_t ranges,
                           matrix_view<std::uint32_t> d) {
  const auto at =
      static_cast<std::ptrdiff_t>(blockIdx.x) * threads + threadIdx.x;
  const std::ptrdiff_t count = d.rows * d.cols;
  if (at >= count) return;
  float sum = 0;
  for (std::ptrdiff_t i = 0; i < ranges; ++i) {
    sum = __fadd_rn(sum, sums[i * count + at]);
  }
  d(at / d.cols, at % d.cols) = __float_as_uint(sum);
}

__global__ void choose(const __grid_constant__ router r,
                       const __grid_constant__ routing t) {
  const auto i =
      static_cast<std::ptrdiff_t>(blockIdx.x) * threads + threadIdx.x;
  if (i < t.logits.rows) zeroulp::route<A>(r, t, i, i + 1);
}

__global__ void choose_backward(const __grid_constant__ router r,
                                const __grid_constant__ routing_gradients t) {
  const auto i =
      static_cast<std::ptrdiff_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= t.scores.rows) return;
  bool is_expert = true;
  for (std::ptrdiff_t k = 0; k < r.top; ++k) {
    const std::int32_t e = t.experts(i, k);
    is_expert = is_expert && e >= 0 && e < t.scores.cols;
  }
  if (is_expert) {
    zeroulp::route_backward<A>(r, t, i, i + 1);
    return;
  }
  for (std::ptrdiff_t e = 0; e < t.scores.cols; ++e) {
    t.dlogits(i, e) = 0x7fffffff;
  }
}

constexpr int most_experts = 4096;

/// One block: integer counts, then biases.
__global__ void move_biases(matrix_view<const std::int32_t> experts,
                            std::uint32_t speed,
                            matrix_view<std::uint32_t> bias) {
  __shared__ unsigned counts[most_experts];
  __shared__ unsigned slots;
  const auto n = static_cast<int>(bias.cols);
  for (int e = static_cast<int>(threadIdx.x); e < n; e += blockDim.x) {
    counts[e] = 0;
  }
  if (threadIdx.x == 0) slots = 0;
  __syncthreads();
  const std::ptrdiff_t all = experts.rows * experts.cols;
  unsigned own = 0;
  for (std::ptrdiff_t at = threadIdx.x; at < all; at += blockDim.x) {
    const std::int32_t e = experts(at / experts.cols, at % experts.cols);
    if (e < 0 || e >= n) continue;
    atomicAdd(&counts[e], 1u);
    ++own;
  }
  atomicAdd(&slots, own);
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < n; e += blockDim.x) {
    bias(0, e) = updated_bias(bias(0, e), speed, counts[e], n, slots);
  }
}

}  // namespace

void sequential_gemm(const sequential_operand& a, const sequential_operand& b,
                     std::ptrdiff_t interval, matrix_view<std::uint32_t> d,
                     std::span<std::uint32_t> work, CUstream_st* stream) {
  const argument_checks r("cuda::sequential_gemm");
  r.need(a.cols == b.cols, "A and B differ in K");
  r.need(interval >= 0, "the interval is negative");
  r.need(d.rows == a.rows && d.cols == b.rows && d.col_stride == 1,
         "D is m x n, elements of a row adjacent");
  const std::ptrdiff_t k = a.cols, count = d.rows * d.cols;
  const std::ptrdiff_t ranges = interval == 0 ? 1 : ceil_div(k, interval);
  const bool once = interval == 0;
  r.need(once || static_cast<std::ptrdiff_t>(work.size()) >= ranges * count,
         "`work` is smaller than ceil(k / interval) x m x n words");
  r.need(ranges < 65536, "there are more than 65535 ranges of K");
  if (count == 0) return;
  r.need_gpu();
  sequential_params p{a,
                      b,
                      once ? k : interval,
                      reinterpret_cast<float*>(once ? d.data : work.data()),
                      once ? d.row_stride : d.cols,
                      once ? 0 : count,
                      r.blocks(ceil_div(d.cols, tile_n))};
  if (ranges > 0) {
    const unsigned tiles = r.blocks(ceil_div(d.rows, tile_m) * p.tiles_n);
    multiply_in_order<<<dim3(tiles, static_cast<unsigned>(ranges)), threads, 0,
                        stream>>>(p);
    r.launched();
  }
  if (once) return;
  add_ranges<<<r.blocks(ceil_div(count, threads)), threads, 0, stream>>>(
      p.d, ranges, d);
  r.launched();
}

void route(const router& how, const routing& t, CUstream_st* stream) {
  const argument_checks r("cuda::route");
  const std::ptrdiff_t m = t.logits.rows, n = t.logits.cols;
  r.need(is_valid(how, n), "the router cannot choose from so many experts");
  r.need(t.scores.rows == m && t.scores.cols == n && t.experts.rows == m &&
             t.experts.cols == how.top && t.weights.rows == m &&
             t.weights.cols == how.top,
         "scores, experts or weights have another shape");
  r.need(t.bias.data == nullptr || (t.bias.rows == 1 && t.bias.cols == n),
         "bias has another shape");
  r.need(t.work.rows == m && t.work.cols >= n + how.groups,
         "`work` is smaller than m x (experts + groups)");
  if (m == 0) return;
  r.need_gpu();
  choose<<<r.blocks(ceil_div(m, threads)), threads, 0, stream>>>(how, t);
  r.launched();
}

void route_backward(const router& how, const routing_gradients& t,
                    CUstream_st* stream) {
  const argument_checks r("cuda::route_backward");
  const std::ptrdiff_t m = t.scores.rows, n = t.scores.cols;
  r.need(is_valid(how, n), "the router cannot choose from so many experts");
  r.need(t.experts.rows == m && t.experts.cols == how.top &&
             t.dweights.rows == m && t.dweights.cols == how.top &&
             t.dlogits.rows == m && t.dlogits.cols == n,
         "experts, dweights or dlogits have another shape");
  if (m == 0) return;
  r.need_gpu();
  choose_backward<<<r.blocks(ceil_div(m, threads)), threads, 0, stream>>>(how,
                                                                          t);
  r.launched();
}

void update_bias(matrix_view<const std::int32_t> experts, std::uint32_t speed,
                 matrix_view<std::uint32_t> bias, CUstream_st* stream) {
  const argument_checks r("cuda::update_bias");
  r.need(bias.rows == 1 && bias.cols > 0 && bias.cols <= most_experts,
         "biases are those of 1 to 4096 experts");
  r.need(experts.rows * experts.cols < std::ptrdiff_t{1} << 31,
         "there are 2^31 slots and more");
  r.need_gpu();
  move_biases<<<1, 1024, 0, stream>>>(experts, speed, bias);
  r.launched();
}

}  // namespace zeroulp::cuda
