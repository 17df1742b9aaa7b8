// The limits of GEMMs: wgmma on operands that lie in shared memory, and nothing
// else; or the promotion of what it sums, too; or that and the copies of
// operands, but no scale is copied, and there is no D.

#include <cuda_runtime.h>

#include <algorithm>

#include "cuda/common/pdl_launch.cuh"
#include "cuda/common/pipeline.cuh"
#include "cuda/gemm/scaling.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "tools/zeroulp/bench/gpu/kernels.hpp"

namespace zeroulp::program {
namespace {

namespace ptx = cuda::ptx;

constexpr int stages = 4;            // of 128 elements of K
constexpr int a_bytes = 64 * 128;    // a stage of a warp group
constexpr int panels = 12;           // of each operand
constexpr int l2_panel = 512 << 10;  // bytes of a row or a column of tiles
constexpr int memory_panel = 8 << 20;
static_assert(2 * panels * memory_panel == wgmma_bytes);

struct limit_params {
  const unsigned char* codes;
  int panel_bytes;
  int rounds;  ///< of all stages
  float* out;  ///< null
};

/// Warp groups, each of which has a tile of 64 x n. `Fed`: operands are copied,
/// by one more.
template <int Groups, int N, bool Fed = false>
struct limit_shape {
  static constexpr int groups = Groups, n = N;
  static constexpr bool fed = Fed;
  static constexpr int threads = 128 * (Groups + (Fed ? 1 : 0));
  static constexpr int b_at = Groups * a_bytes;
  static constexpr int stage_bytes = b_at + N * 128;
  /// A scale for each row and each column.
  static constexpr int scales = 64 * Groups + N;
  /// Swizzled rows repeat every 1024 bytes.
  static constexpr int shared_bytes = 1024 + stages * stage_bytes + scales * 4;
};

/// Where the stages are; scales follow. All threads have filled them, but for
/// stages that are fed.
template <class Shape>
__device__ unsigned char* fill_stages(unsigned char* memory,
                                      const unsigned char* codes) {
  constexpr int bytes = stages * Shape::stage_bytes;
  ptx::wait_for_kernels_before();
  const auto at = ptx::address_of(memory);
  auto* const tiles = memory + ((at + 1023) / 1024 * 1024 - at);
  const int first = static_cast<int>(threadIdx.x);
  if constexpr (!Shape::fed) {
    for (int i = first; i < bytes / 16; i += Shape::threads) {
      reinterpret_cast<uint4*>(tiles)[i] =
          reinterpret_cast<const uint4*>(codes)[i];
    }
  }
  auto* const scales = reinterpret_cast<float*>(tiles + bytes);
  for (int i = first; i < Shape::scales; i += Shape::threads) {
    scales[i] = 1 + static_cast<float>(i % 97) / 128;
  }
  ptx::fence_proxy_async();
  __syncthreads();
  return tiles;
}

/// The lower words of the descriptors of a warp group's operands in the first
/// stage, from lane 0: the compiler then keeps them in uniform registers.
template <class Shape>
struct limit_operands {
  unsigned a, b;

  __device__ explicit limit_operands(const unsigned char* tiles)
      : a(word(tiles + threadIdx.x / 128 * a_bytes)),
        b(word(tiles + Shape::b_at)) {}

  /// Starts the products of 128 elements of K, added to d if it `adds`.
  template <class Sums>
  __device__ void start(Sums& d, int stage, bool adds) const {
    const auto at = static_cast<unsigned>(stage * Shape::stage_bytes / 16);
    const auto from_a = ptx::descriptor_of(a + at);
    const auto from_b = ptx::descriptor_of(b + at);
#pragma unroll
    for (unsigned step = 0; step < 4; ++step) {
      // 32 elements of K, in 16 bytes.
      ptx::wgmma<ptx::fp8_types::e4m3_e4m3, Shape::n>::run(
          d, from_a + 2 * step, from_b + 2 * step, adds || step > 0);
    }
  }

 private:
  __device__ static unsigned word(const unsigned char* tile) {
    return ptx::make_warp_uniform(ptx::descriptor_word(ptx::address_of(tile)));
  }
};

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
    multiply(const limit_params job) {
  static_assert(Shape::groups == 2 && !Shape::fed);
  extern __shared__ unsigned char memory[];
  const limit_operands<Shape> operands(fill_stages<Shape>(memory, job.codes));
  float d[Shape::n / 2] = {};
  for (int round = 0; round < job.rounds; ++round) {
    ptx::fence_registers(d);
    ptx::begin_wgmma();
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) {
      operands.start(d, stage, round + stage > 0);
    }
    ptx::commit_wgmma();
    ptx::wait_for_wgmma<1>();
  }
  ptx::wait_for_wgmma<0>();
  ptx::fence_registers(d);
  write(d, job.out);
}

/// Brings what the tiles of one wave need: a panel of A for each row of tiles,
/// and one of B for each column, the same for all blocks there, which are at
/// the same elements of K.
template <class Shape>
__device__ void feed(unsigned char* tiles, const limit_params& job,
                     ptx::barrier* full, ptx::barrier* empty) {
  constexpr int b_bytes = Shape::stage_bytes - Shape::b_at;
  const auto block = static_cast<int>(blockIdx.x);
  const auto* const a = job.codes + block / panels % panels * job.panel_bytes;
  const auto* const b = job.codes + (panels + block % panels) * job.panel_bytes;
  int of_a = 0, of_b = 0;
  for (int i = 0; i < job.rounds * stages; ++i) {
    const auto at = cuda::pipeline_state<stages>::after(i);
    unsigned char* const to = tiles + at.stage * Shape::stage_bytes;
    auto& there = full[at.stage];
    cuda::wait_empty(empty, at);
    ptx::arrive_expect_tx(there, Shape::stage_bytes);
    ptx::tma_load_bytes(to, a + of_a, Shape::b_at, there);
    ptx::tma_load_bytes(to + Shape::b_at, b + of_b, b_bytes, there);
    of_a += Shape::b_at, of_b += b_bytes;
    if (of_a + Shape::b_at > job.panel_bytes) of_a = 0;
    if (of_b + b_bytes > job.panel_bytes) of_b = 0;
  }
}

template <class Shape, class Scaling>
__global__ void __launch_bounds__(Shape::threads, 1)
    multiply_promoted(const limit_params job) {
  extern __shared__ unsigned char memory[];
  __shared__ ptx::barrier full[stages], empty[stages];
  if (Shape::fed && threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) {
      cuda::initialize_stage(full[i], 1, empty[i],
                             4 * Shape::groups * cuda::releasing_lanes);
    }
    ptx::fence_barrier_init();
  }
  auto* const tiles = fill_stages<Shape>(memory, job.codes);
  const auto* const scales =
      reinterpret_cast<const float*>(tiles + stages * Shape::stage_bytes);
  const int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
  if constexpr (Shape::fed) {
    if (group == Shape::groups) {
      ptx::warpgroup_reg_dealloc<32>();
      if (threadIdx.x % 128 == 0) feed<Shape>(tiles, job, full, empty);
      return;
    }
    ptx::warpgroup_reg_alloc<160>();
  }
  const int row =
      static_cast<int>(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4);
  const limit_operands<Shape> operands(tiles);
  float d[Shape::n / 2] = {}, p[Shape::n / 2];
  for (int i = 0; i < job.rounds * stages; ++i) {
    const auto at = cuda::pipeline_state<stages>::after(i);
    if (Shape::fed) cuda::wait_full(full, at);
    ptx::fence_registers(p);
    ptx::begin_wgmma();
    operands.start(p, at.stage, false);
    ptx::commit_wgmma();
    Scaling scaling;
    scaling.find_columns(scales + 64 * Shape::groups, 0);
    scaling.find_rows(scales + row);
    ptx::wait_for_wgmma<0>();
    ptx::fence_registers(p);
    if (Shape::fed) cuda::arrive_as_warp(empty[at.stage]);
    scaling.promote(d, p);
  }
  write(d, job.out);
}

template <class Shape>
double launch_kernel(void (*kernel)(limit_params), limit_params job,
                     double work, int multiprocessors, CUstream_st* stream) {
  constexpr int bytes = Shape::shared_bytes;
  static_assert(stages * Shape::stage_bytes <= wgmma_bytes);
  require_cuda(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const double round =
      2.0 * Shape::groups * 64 * Shape::n * 128 * stages * multiprocessors;
  job.rounds = std::max(static_cast<int>(work / round + 0.5), 1);
  cuda::pdl_launch(stream, kernel, static_cast<unsigned>(multiprocessors),
                   Shape::threads, job, bytes);
  require_cuda(cudaGetLastError());
  return job.rounds * round;
}

}  // namespace

double launch_wgmma(wgmma_loop loop, const void* codes, double work,
                    int multiprocessors, CUstream_st* stream) {
  constexpr auto by_product = promotion::product_of_scales;
  using by_blocks = cuda::block_scaling<by_product>;
  using by_columns = cuda::column_scaling<by_product, 128, 4>;
  using wide = limit_shape<2, 256>;
  using narrow = limit_shape<2, 128>;
  using three = limit_shape<3, 128>;
  using fed = limit_shape<3, 128, true>;
  const auto run = [&]<class Shape>(Shape /*shape*/,
                                    void (*kernel)(limit_params),
                                    int panel_bytes = l2_panel) {
    const limit_params job{static_cast<const unsigned char*>(codes),
                           panel_bytes};
    return launch_kernel<Shape>(kernel, job, work, multiprocessors, stream);
  };
  switch (loop) {
    case wgmma_loop::n256:
      return run(wide(), multiply<wide>);
    case wgmma_loop::n128:
      return run(narrow(), multiply<narrow>);
    case wgmma_loop::fprop:
      return run(three(), multiply_promoted<three, by_blocks>);
    case wgmma_loop::fprop_fed:
      return run(fed(), multiply_promoted<fed, by_blocks>);
    case wgmma_loop::fprop_streamed:
      return run(fed(), multiply_promoted<fed, by_blocks>, memory_panel);
    case wgmma_loop::wgrad:
      return run(three(), multiply_promoted<three, by_columns>);
    case wgmma_loop::wgrad_fed:
      return run(fed(), multiply_promoted<fed, by_columns>);
    case wgmma_loop::wgrad_streamed:
      break;
  }
  return run(fed(), multiply_promoted<fed, by_columns>, memory_panel);
}

}  // namespace zeroulp::program
