// The limits of GEMMs: wgmma on operands that lie in shared memory, and nothing
// else, or nothing but the promotion of what it sums.

#include <cuda_runtime.h>

#include <algorithm>

#include "bench_gpu_kernels.hpp"
#include "cuda/gemm_parts.cuh"
#include "cuda/wgmma.cuh"

namespace zeroulp::program {
namespace {

namespace ptx = cuda::ptx;

constexpr int stages = 4;          // of 128 elements of K
constexpr int a_bytes = 64 * 128;  // a stage of a warp group

/// Warp groups, each of which has a tile of 64 x n.
template <int Groups, int N>
struct limit_shape {
  static constexpr int groups = Groups, n = N, threads = 128 * Groups;
  static constexpr int stage_bytes = Groups * a_bytes + N * 128;
  /// A scale for each row and each column.
  static constexpr int scales = 64 * Groups + N;
  /// Swizzled rows repeat every 1024 bytes.
  static constexpr int shared_bytes = 1024 + stages * stage_bytes + scales * 4;
};

/// Where the stages are, once all threads have filled them; scales follow.
template <class Shape>
__device__ unsigned char* fill_stages(unsigned char* memory,
                                      const uint4* codes) {
  constexpr int bytes = stages * Shape::stage_bytes;
  auto* const tiles = reinterpret_cast<unsigned char*>(
      (reinterpret_cast<std::uintptr_t>(memory) + 1023) / 1024 * 1024);
  const int first = static_cast<int>(threadIdx.x);
  for (int i = first; i < bytes / 16; i += Shape::threads) {
    reinterpret_cast<uint4*>(tiles)[i] = codes[i];
  }
  auto* const scales = reinterpret_cast<float*>(tiles + bytes);
  for (int i = first; i < Shape::scales; i += Shape::threads) {
    scales[i] = 1 + static_cast<float>(i % 97) / 128;
  }
  ptx::fence_shared();
  __syncthreads();
  return tiles;
}

/// Starts the products of 128 elements of K, added to d if it `adds`.
template <class Shape, class Sums>
__device__ void start(Sums& d, const unsigned char* stage, bool adds) {
  const auto at = ptx::address_of(stage);
  const auto a = ptx::descriptor(at + threadIdx.x / 128 * a_bytes);
  const auto b = ptx::descriptor(at + Shape::groups * a_bytes);
#pragma unroll
  for (unsigned step = 0; step < 4; ++step) {
    // 32 elements of K, in 16 bytes.
    ptx::wgmma<ptx::fp8_types::e4m3_e4m3, Shape::n>::run(
        d, a + 2 * step, b + 2 * step, adds || step > 0);
  }
}

/// Sums that nobody could read would not be made.
template <class Sums>
__device__ void write(const Sums& sums, float* out) {
  if (out == nullptr) return;
  for (const float x : sums) out[threadIdx.x] += x;
}

/// One sum, since the compiler drops one that is begun anew before anybody has
/// read it.
template <class Shape>
__global__ void __launch_bounds__(Shape::threads, 1)
    multiply(const uint4* codes, int rounds, float* out) {
  extern __shared__ unsigned char memory[];
  const auto* const tiles = fill_stages<Shape>(memory, codes);
  float d[Shape::n / 2] = {};
  for (int round = 0; round < rounds; ++round) {
    ptx::fence_registers(d);
    ptx::begin_wgmma();
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) {
      start<Shape>(d, tiles + stage * Shape::stage_bytes, round + stage > 0);
    }
    ptx::commit_wgmma();
    ptx::wait_for_wgmma<1>();
  }
  ptx::wait_for_wgmma<0>();
  ptx::fence_registers(d);
  write(d, out);
}

template <class Shape, class Scaling>
__global__ void __launch_bounds__(Shape::threads, 1)
    multiply_promoted(const uint4* codes, int rounds, float* out) {
  extern __shared__ unsigned char memory[];
  const auto* const tiles = fill_stages<Shape>(memory, codes);
  const auto* const scales =
      reinterpret_cast<const float*>(tiles + stages * Shape::stage_bytes);
  const int row =
      static_cast<int>(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4);
  float d[Shape::n / 2] = {}, p[Shape::n / 2];
  for (int i = 0; i < rounds * stages; ++i) {
    ptx::fence_registers(p);
    ptx::begin_wgmma();
    start<Shape>(p, tiles + i % stages * Shape::stage_bytes, false);
    ptx::commit_wgmma();
    Scaling scaling;
    scaling.find_columns(scales + 64 * Shape::groups, 0);
    scaling.find_rows(scales + row);
    ptx::wait_for_wgmma<0>();
    ptx::fence_registers(p);
    scaling.promote(d, p);
  }
  write(d, out);
}

using limit_kernel = void (*)(const uint4* codes, int rounds, float* out);

template <class Shape>
double launch_kernel(limit_kernel kernel, const void* codes, double work,
                     int multiprocessors, CUstream_st* stream) {
  constexpr int bytes = Shape::shared_bytes;
  static_assert(stages * Shape::stage_bytes <= wgmma_bytes);
  require_cuda(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const double round =
      2.0 * Shape::groups * 64 * Shape::n * 128 * stages * multiprocessors;
  const int rounds = std::max(static_cast<int>(work / round + 0.5), 1);
  kernel<<<static_cast<unsigned>(multiprocessors), Shape::threads, bytes,
           stream>>>(static_cast<const uint4*>(codes), rounds, nullptr);
  require_cuda(cudaGetLastError());
  return rounds * round;
}

}  // namespace

double launch_wgmma(wgmma_loop loop, const void* codes, double work,
                    int multiprocessors, CUstream_st* stream) {
  using cuda::block_scaling, cuda::column_scaling;
  constexpr auto by_product = promotion::product_of_scales;
  using wide = limit_shape<2, 256>;
  using narrow = limit_shape<2, 128>;
  using three = limit_shape<3, 128>;
  const auto run = [&]<class Shape>(Shape /*shape*/, limit_kernel kernel) {
    return launch_kernel<Shape>(kernel, codes, work, multiprocessors, stream);
  };
  switch (loop) {
    case wgmma_loop::n256:
      return run(wide(), multiply<wide>);
    case wgmma_loop::n128:
      return run(narrow(), multiply<narrow>);
    case wgmma_loop::fprop:
      return run(three(), multiply_promoted<three, block_scaling<by_product>>);
    case wgmma_loop::wgrad:
      break;
  }
  return run(three(),
             multiply_promoted<three, column_scaling<by_product, 128, 4>>);
}

}  // namespace zeroulp::program
