// Cross entropy (a warp or a block has a row of logits), sums in FP64, and what
// happens to gradients before the optimizer.
//
// Source: SPEC clauses N15 to N17, E6.

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/common/row_eights.cuh"
#include "cuda/model/row_sum.cuh"
#include "cuda/ptx/warp.cuh"
#include "zeroulp/core/model/cross_entropy.hpp"
#include "zeroulp/core/model/gradient_norm.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::cuda {
namespace {

using A = device_fp32;
using D = device_fp64;

constexpr int threads = 256;

/// What find_exponentials reads and writes, besides.
struct loss_params {
  cross_entropy_rows t;
  eights_matrix<const std::uint32_t> logits;
  eights_matrix<std::uint32_t> work;
  eights_matrix<std::uint16_t> dlogits;
};

__device__ bool has_target(const cross_entropy_rows& t, std::ptrdiff_t i) {
  const std::ptrdiff_t target = t.targets(i, 0);
  return target >= 0 && target < t.logits.cols;
}

/// The gradient of a row. Of its loss, log(sum) - (target's - largest), what is
/// in the parentheses goes where the loss does, the sum to the first of `work`:
/// find_losses has the logarithms of 32 rows at once. The first `Kept` runs of
/// eight of a thread stay in registers, exponentials of those beyond in `work`.
/// Whole: the logits are.
template <int Threads, int Kept, bool Whole>
__global__ void __launch_bounds__(threads, Kept == 1 ? 6 : 2)
    find_exponentials(const __grid_constant__ loss_params p) {
  ptx::wait_for_kernels_before();
  const cross_entropy_rows& t = p.t;
  const std::ptrdiff_t i = row_of_thread<Threads>();
  if (i >= t.logits.rows) return;
  const std::ptrdiff_t n = t.logits.cols;
  const bool wants_gradient = t.dlogits.data != nullptr;
  if (!has_target(t, i)) {
    for_runs<Threads>(n, [&](std::ptrdiff_t first) {
      if (wants_gradient) p.dlogits.put(i, first, vec8<2>{});
    });
    return;
  }
  const std::ptrdiff_t target = t.targets(i, 0);
  const auto read = [&](bool inside, std::ptrdiff_t first) {
    return p.logits.get_if<Whole>(inside, i, first);
  };
  kept_runs<Threads, Kept, vec8<4>> runs(n, read);

  float largest = __uint_as_float(minus_infinity);
  const auto find_largest = [&](std::ptrdiff_t first, const vec8<4>& z) {
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      if (Whole || first + e < n)
        largest = ptx::max_nan(largest, number_in(z, e));
    }
  };
  runs.for_all(find_largest, [&](std::ptrdiff_t first) {
    find_largest(first, read(true, first));
  });
  largest = maximum_of_threads<Threads>(largest);

  float sum = 0;
  /// Logits become exponentials. None is above the largest: with the sign set
  /// exp has the same bits in fewer instructions.
  const auto raise = [&](std::ptrdiff_t first, vec8<4>& z) {
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const float below = __fsub_rn(number_in(z, e), largest);
      const float x =
          exp<A>(__uint_as_float(__float_as_uint(below) | 0x80000000));
      z.words[e] = __float_as_uint(x);
      if (Whole || first + e < n) sum = __fadd_rn(sum, x);
    }
  };
  runs.for_all(raise, [&](std::ptrdiff_t first) {
    vec8<4> z = read(true, first);
    raise(first, z);
    if (wants_gradient) p.work.put(i, first, z);
  });
  sum = tree_of_threads<Threads, A>(sum);

  if (wants_gradient) {
    const float inverse = __fdiv_rn(1.0f, sum);
    const float factor = __uint_as_float(t.factor);
    const auto find_gradient = [&](std::ptrdiff_t first, const vec8<4>& u) {
      const std::ptrdiff_t ahead = target - first;
      const int of_target =
          ahead >= 0 && ahead < 8 ? static_cast<int>(ahead) : -1;
      p.dlogits.put(i, first, bf16_codes([&](int e) {
                      float share = __fmul_rn(number_in(u, e), inverse);
                      if (e == of_target) share = __fsub_rn(share, 1.0f);
                      return __fmul_rn(share, factor);
                    }));
    };
    runs.for_all(find_gradient, [&](std::ptrdiff_t first) {
      find_gradient(first, p.work.get(i, first));
    });
  }
  // The thread of the first element, which nobody needs any more.
  if (threadIdx.x % Threads != 0) return;
  t.work(i, 0) = __float_as_uint(sum);
  t.losses(i, 0) =
      __float_as_uint(__fsub_rn(__uint_as_float(t.logits(i, target)), largest));
}

__global__ void find_losses(const __grid_constant__ cross_entropy_rows t) {
  ptx::wait_for_kernels_before();
  const auto i =
      static_cast<std::ptrdiff_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= t.logits.rows) return;
  std::uint32_t loss = 0;
  if (has_target(t, i)) {
    loss = __float_as_uint(
        __fsub_rn(__uint_as_float(zeroulp::log<D>(t.work(i, 0))),
                  __uint_as_float(t.losses(i, 0))));
  }
  t.losses(i, 0) = loss;
}

__global__ void find_logs(matrix_view<const std::uint32_t> x,
                          matrix_view<std::uint32_t> out) {
  const auto at =
      static_cast<std::ptrdiff_t>(blockIdx.x) * threads + threadIdx.x;
  if (at >= x.rows * x.cols) return;
  out(at / x.cols, at % x.cols) = zeroulp::log<D>(x(at / x.cols, at % x.cols));
}

/// A block has a range: its numbers are read at once, added by one thread.
__global__ void add_losses(matrix_view<const std::uint32_t> losses,
                           double* sums) {
  __shared__ float all[loss_range];
  const std::ptrdiff_t first = std::ptrdiff_t{blockIdx.x} * loss_range;
  const std::ptrdiff_t count = min(loss_range, losses.rows - first);
  for (std::ptrdiff_t i = threadIdx.x; i < count; i += threads) {
    all[i] = __uint_as_float(losses(first + i, 0));
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  double p = 0;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    p = __dadd_rn(p, static_cast<double>(all[i]));
  }
  sums[blockIdx.x] = p;
}

struct chain_params {
  const double* x;
  std::ptrdiff_t count;
  double* sum;
};

/// One block: a chain of additions of `count` numbers, from +0.
__global__ void add_in_order(const __grid_constant__ chain_params t) {
  ptx::wait_for_kernels_before();
  __shared__ double all[threads];
  double p = 0;
  for (std::ptrdiff_t first = 0; first < t.count; first += threads) {
    const std::ptrdiff_t n = min(std::ptrdiff_t{threads}, t.count - first);
    if (threadIdx.x < n) all[threadIdx.x] = t.x[first + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
      for (std::ptrdiff_t i = 0; i < n; ++i) p = __dadd_rn(p, all[i]);
    }
    __syncthreads();
  }
  // Every NaN is the same.
  if (threadIdx.x == 0) *t.sum = D::from_bits(D::bits(p));
}

struct squares_params {
  eights_matrix<const std::uint32_t> g;
  double* sums;
};

/// A block has a chunk. Whole: g is.
template <bool Whole>
__global__ void __launch_bounds__(threads, 4)
    add_squares(const __grid_constant__ squares_params t) {
  ptx::wait_for_kernels_before();
  const std::ptrdiff_t first = std::ptrdiff_t{blockIdx.x} * norm_chunk;
  const std::ptrdiff_t count = min(norm_chunk, t.g.cols - first);
  double sum = 0;
  const auto read = [&](bool inside, std::ptrdiff_t at) {
    return t.g.get_if<Whole>(inside, 0, first + at);
  };
  for_loaded_runs<threads, 4>(
      count, read, [&](std::ptrdiff_t at, const vec8<4>& x) {
#pragma unroll
        for (int e = 0; e < 8; ++e) {
          const auto y = static_cast<double>(number_in(x, e));
          if (Whole || at + e < count) sum = __fma_rn(y, y, sum);
        }
      });
  sum = tree_of_threads<threads, D>(sum);
  if (threadIdx.x == 0) t.sums[blockIdx.x] = sum;
}

constexpr int most_shards = 64;

struct shard_list {
  const std::uint32_t* shards[most_shards];
  int count;
};

template <int Count>
__device__ float tree_of_shards(const shard_list& all, int first,
                                std::ptrdiff_t at) {
  if constexpr (Count == 1) {
    return __uint_as_float(all.shards[first][at]);
  } else {
    return __fadd_rn(tree_of_shards<Count / 2>(all, first, at),
                     tree_of_shards<Count / 2>(all, first + Count / 2, at));
  }
}

template <int Count>
__global__ void add_all(const __grid_constant__ shard_list all,
                        std::ptrdiff_t count, std::uint32_t* out) {
  const auto at =
      static_cast<std::ptrdiff_t>(blockIdx.x) * threads + threadIdx.x;
  if (at < count) {
    out[at] = __float_as_uint(tree_of_shards<Count>(all, 0, at));
  }
}

template <int Count>
void launch_tree(const shard_list& all, std::ptrdiff_t n, unsigned blocks,
                 std::uint32_t* out, CUstream_st* stream) {
  if (all.count == Count) {
    add_all<Count><<<blocks, threads, 0, stream>>>(all, n, out);
  } else if constexpr (Count < most_shards) {
    launch_tree<2 * Count>(all, n, blocks, out, stream);
  }
}

__global__ void multiply_all(
    const __grid_constant__ eights_matrix<std::uint32_t> x, float factor) {
  const eight_place at(x.cols);
  if (at.column >= x.cols) return;
  auto y = x.get(0, at.column);
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    y.words[e] = __float_as_uint(__fmul_rn(number_in(y, e), factor));
  }
  x.put(0, at.column, y);
}

std::ptrdiff_t size_of(const auto& x) {
  return static_cast<std::ptrdiff_t>(x.size());
}

}  // namespace

void log(matrix_view<const std::uint32_t> x, matrix_view<std::uint32_t> out,
         CUstream_st* stream) {
  const argument_checks r("cuda::log");
  r.need(x.rows == out.rows && x.cols == out.cols, "x and out differ in shape");
  if (x.rows == 0 || x.cols == 0) return;
  const unsigned blocks = r.blocks(ceil_div(x.rows * x.cols, threads));
  r.need_gpu();
  find_logs<<<blocks, threads, 0, stream>>>(x, out);
  r.launched();
}

void cross_entropy(const cross_entropy_rows& t, CUstream_st* stream) {
  const argument_checks r("cuda::cross_entropy");
  const std::ptrdiff_t m = t.logits.rows, n = t.logits.cols;
  r.need(n > 0 || m == 0, "a row has no logits");
  r.need(t.targets.rows == m && t.targets.cols == 1 && t.losses.rows == m &&
             t.losses.cols == 1,
         "targets or losses are not m x 1");
  r.need(t.work.rows == m && t.work.cols == n, "`work` is not m x n");
  r.need(
      t.dlogits.data == nullptr || (t.dlogits.rows == m && t.dlogits.cols == n),
      "dlogits have another shape than logits");
  if (m == 0) return;
  r.need_gpu();
  const loss_params params{t, eights_matrix(t.logits), eights_matrix(t.work),
                           eights_matrix(t.dlogits)};
  const auto kernel = kernel_for_rows<8>(
      n, params.logits.whole, [&]<int Threads, int Kept, bool Whole>() {
        return find_exponentials<Threads, Kept, Whole>;
      });
  pdl_launch(stream, kernel, r.blocks(ceil_div(m, rows_of_block(n))), threads,
             params);
  r.launched();
  pdl_launch(stream, find_losses, r.blocks(ceil_div(m, threads)), threads, t);
  r.launched();
}

void sum_of_losses(matrix_view<const std::uint32_t> losses,
                   std::span<double> work, double* sum, CUstream_st* stream) {
  const argument_checks r("cuda::sum_of_losses");
  const std::ptrdiff_t ranges = ceil_div(losses.rows, loss_range);
  r.need(losses.cols == 1, "losses are not m x 1");
  r.need(size_of(work) >= ranges, "`work` is smaller than ceil(m / 1024)");
  r.need_gpu();
  if (ranges > 0) {
    add_losses<<<r.blocks(ranges), threads, 0, stream>>>(losses, work.data());
    r.launched();
  }
  pdl_launch(stream, add_in_order, 1, threads, {work.data(), ranges, sum});
  r.launched();
}

void sum_of_squares(std::span<const std::uint32_t> g, std::span<double> work,
                    double* sum, CUstream_st* stream) {
  const argument_checks r("cuda::sum_of_squares");
  const std::ptrdiff_t chunks = ceil_div(size_of(g), norm_chunk);
  r.need(size_of(work) >= chunks, "`work` is smaller than ceil(count / 65536)");
  r.need_gpu();
  if (chunks > 0) {
    const squares_params params{row_of(g), work.data()};
    pdl_launch(stream, params.g.whole ? add_squares<true> : add_squares<false>,
               r.blocks(chunks), threads, params);
    r.launched();
  }
  pdl_launch(stream, add_in_order, 1, threads, {work.data(), chunks, sum});
  r.launched();
}

void add_shards(std::span<const std::uint32_t* const> shards,
                std::span<std::uint32_t> out, CUstream_st* stream) {
  const argument_checks r("cuda::add_shards");
  const auto count = static_cast<int>(shards.size());
  r.need(count >= 1 && count <= most_shards && (count & (count - 1)) == 0,
         "shards are 1, 2, 4, .. 64");
  if (out.empty()) return;
  shard_list all{};
  all.count = count;
  for (int i = 0; i < count; ++i) {
    all.shards[i] = shards[static_cast<std::size_t>(i)];
  }
  const unsigned blocks = r.blocks(ceil_div(size_of(out), threads));
  r.need_gpu();
  launch_tree<1>(all, size_of(out), blocks, out.data(), stream);
  r.launched();
}

void scale(std::span<std::uint32_t> x, std::uint32_t factor,
           CUstream_st* stream) {
  const argument_checks r("cuda::scale");
  if (x.empty()) return;
  const auto all = row_of(x);
  const unsigned blocks = eight_blocks(r, 1, all.cols);
  r.need_gpu();
  multiply_all<<<blocks, eights_threads, 0, stream>>>(all,
                                                      bit_cast<float>(factor));
  r.launched();
}

}  // namespace zeroulp::cuda
