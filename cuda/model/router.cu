// The router: sequential products, scores and choices (a thread has a token),
// the update of biases.
//
// Source: SPEC clauses T14, N8 to N12.

#include <utility>

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/arithmetic.cuh"
#include "cuda/common/vec8.cuh"
#include "zeroulp/core/model/router.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::cuda {
namespace {

using A = device_fp32;

constexpr int threads = 256;

// Sequential products: a block has 128 x 16 outputs, a warp four columns of
// them, a lane every 32nd row.
constexpr int tile_m = 128, tile_n = 16, tile_k = 32;
constexpr int sequential_threads = 128;
constexpr int rows_a_lane = tile_m / 32, columns_a_warp = 4;
/// Rows of a K lie so that lanes that write different K hit different banks.
constexpr int pitch_m = tile_m + 1, pitch_n = tile_n + 4;

struct sequential_params {
  sequential_operand a, b;
  std::ptrdiff_t range;  ///< of K
  float* d;              ///< a range's sums after the other's
  std::ptrdiff_t d_row, d_column, d_range;
  unsigned tiles_n;
};

/// Elements of a matrix: one, or eight neighbours at once.
template <class Element>
struct sequential_elements {
  static constexpr int bytes = sizeof(Element);
  const sequential_operand& x;

  __device__ float one(std::ptrdiff_t i, std::ptrdiff_t k) const {
    const std::ptrdiff_t at = i * x.row_stride + k * x.col_stride;
    return number(static_cast<const Element*>(x.data)[at]);
  }
  __device__ vec8<bytes> eight(std::ptrdiff_t i, std::ptrdiff_t k) const {
    const std::ptrdiff_t at = i * x.row_stride + k * x.col_stride;
    return load<bytes>(static_cast<const Element*>(x.data) + at, 0, 8, true);
  }
  __device__ std::uint32_t word(std::ptrdiff_t i, std::ptrdiff_t k) const {
    const std::ptrdiff_t at = i * x.row_stride + k * x.col_stride;
    return *reinterpret_cast<const std::uint32_t*>(
        static_cast<const Element*>(x.data) + at);
  }
  static __device__ float number(std::uint16_t code) {
    return bf16_number<A>(code);
  }
  static __device__ float number(std::uint32_t word) {
    return __uint_as_float(word);
  }
};

/// Copies `Rows` x tile_k elements as numbers to to[k][row], zeros outside:
/// eight at once along what is adjacent, if all are inside and aligned.
template <int Rows, int Pitch, class Element>
__device__ void copy_tile(float* to, const sequential_operand& operand,
                          std::ptrdiff_t row0, std::ptrdiff_t k0,
                          std::ptrdiff_t k_end) {
  const sequential_elements<Element> x{operand};
  const bool along_k = operand.col_stride == 1;
  const std::ptrdiff_t far = along_k ? operand.row_stride : operand.col_stride;
  const std::ptrdiff_t near = along_k ? operand.col_stride : operand.row_stride;
  const int left = static_cast<int>(min(k_end - k0, std::ptrdiff_t{tile_k}));
  const bool inside = row0 + Rows <= operand.rows && left % 8 == 0;
  const bool aligned =
      near == 1 &&
      starts_on(16, operand.data, far * static_cast<int>(sizeof(Element))) &&
      k0 % 8 == 0;
  const int thread = static_cast<int>(threadIdx.x);
  if (inside && aligned && along_k) {
#pragma unroll 4
    for (int at = thread; at < Rows * tile_k / 8; at += sequential_threads) {
      const int line = at / (tile_k / 8), first = 8 * (at % (tile_k / 8));
      const auto v = first < left ? x.eight(row0 + line, k0 + first)
                                  : vec8<sizeof(Element)>{};
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        to[(first + e) * Pitch + line] =
            x.number(static_cast<Element>(v.element(e)));
      }
    }
    return;
  }
  if (inside && aligned) {
    // A word a lane: wider reads would write the same banks of shared memory.
    constexpr int each = 4 / sizeof(Element);
#pragma unroll 4
    for (int at = thread; at < Rows * tile_k / each; at += sequential_threads) {
      const int line = at / (Rows / each), first = each * (at % (Rows / each));
      const std::uint32_t word =
          line < left ? x.word(row0 + first, k0 + line) : 0;
#pragma unroll
      for (int e = 0; e < each; ++e) {
        to[line * Pitch + first + e] =
            x.number(static_cast<Element>(word >> 16 * e));
      }
    }
    return;
  }
  for (int at = thread; at < Rows * tile_k; at += sequential_threads) {
    const int i = along_k ? at / tile_k : at % Rows;
    const int k = along_k ? at % tile_k : at / Rows;
    const bool is_in = row0 + i < operand.rows && k0 + k < k_end;
    to[k * Pitch + i] = is_in ? x.one(row0 + i, k0 + k) : 0;
  }
}

template <int Rows, int Pitch>
__device__ void copy_tile(float* to, const sequential_operand& x,
                          std::ptrdiff_t row0, std::ptrdiff_t k0,
                          std::ptrdiff_t k_end) {
  if (x.element == fp32) {
    copy_tile<Rows, Pitch, std::uint32_t>(to, x, row0, k0, k_end);
  } else {
    copy_tile<Rows, Pitch, std::uint16_t>(to, x, row0, k0, k_end);
  }
}

__global__ void __launch_bounds__(sequential_threads)
    multiply_in_order(const __grid_constant__ sequential_params p) {
  __shared__ float a[tile_k * pitch_m];
  __shared__ __align__(16) float b[tile_k * pitch_n];
  const std::ptrdiff_t m0 = std::ptrdiff_t{blockIdx.x / p.tiles_n} * tile_m;
  const std::ptrdiff_t n0 = std::ptrdiff_t{blockIdx.x % p.tiles_n} * tile_n;
  const std::ptrdiff_t begin = std::ptrdiff_t{blockIdx.y} * p.range;
  const std::ptrdiff_t end = min(p.a.cols, begin + p.range);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int col = static_cast<int>(threadIdx.x) / 32 * columns_a_warp;
  float sum[rows_a_lane][columns_a_warp]{};
  for (std::ptrdiff_t k0 = begin; k0 < end; k0 += tile_k) {
    copy_tile<tile_m, pitch_m>(a, p.a, m0, k0, end);
    copy_tile<tile_n, pitch_n>(b, p.b, n0, k0, end);
    __syncthreads();
    const int count = static_cast<int>(min(end - k0, std::ptrdiff_t{tile_k}));
#pragma unroll 8
    for (int k = 0; k < count; ++k) {
      const float4 y = *reinterpret_cast<const float4*>(b + k * pitch_n + col);
#pragma unroll
      for (int i = 0; i < rows_a_lane; ++i) {
        const float x = a[k * pitch_m + lane + 32 * i];
        sum[i][0] = __fmaf_rn(x, y.x, sum[i][0]);
        sum[i][1] = __fmaf_rn(x, y.y, sum[i][1]);
        sum[i][2] = __fmaf_rn(x, y.z, sum[i][2]);
        sum[i][3] = __fmaf_rn(x, y.w, sum[i][3]);
      }
    }
    __syncthreads();
  }
  float* const d = p.d + std::ptrdiff_t{blockIdx.y} * p.d_range;
#pragma unroll
  for (int i = 0; i < rows_a_lane; ++i) {
    const std::ptrdiff_t row = m0 + lane + 32 * i;
    if (row >= p.a.rows) break;
#pragma unroll
    for (int j = 0; j < columns_a_warp; ++j) {
      const std::ptrdiff_t column = n0 + col + j;
      if (column >= p.b.rows) break;
      // Every zero result is +0 (T6).
      d[row * p.d_row + column * p.d_column] = __fadd_rn(sum[i][j], 0);
    }
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
                      1,
                      once ? 0 : count,
                      0};
  // A tile is tall; a product commutes.
  if (d.rows < d.cols) {
    std::swap(p.a, p.b);
    std::swap(p.d_row, p.d_column);
  }
  p.tiles_n = r.blocks(ceil_div(p.b.rows, tile_n));
  if (ranges > 0) {
    const unsigned tiles = r.blocks(ceil_div(p.a.rows, tile_m) * p.tiles_n);
    multiply_in_order<<<dim3(tiles, static_cast<unsigned>(ranges)),
                        sequential_threads, 0, stream>>>(p);
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
