// The limit of GEMMs: wgmma on operands that lie in shared memory, and nothing
// else. Two warp groups a multiprocessor, each a tile of 64 x n; one sum, since
// the compiler drops one that is begun anew before anybody has read it.

#include <cuda_runtime.h>

#include <algorithm>

#include "bench_gpu_kernels.hpp"
#include "cuda/wgmma.cuh"

namespace zeroulp::program {
namespace {

namespace ptx = cuda::ptx;

constexpr int groups = 2;
constexpr int stages = 4;          // of 128 elements of K
constexpr int a_bytes = 64 * 128;  // a stage of a warp group

template <int N>
constexpr int stage_bytes = groups* a_bytes + N * 128;

template <int N>
__global__ void __launch_bounds__(groups * 128, 1)
    multiply(const uint4* codes, int rounds, float* out) {
  extern __shared__ unsigned char memory[];
  constexpr int bytes = stages * stage_bytes<N>;
  // Swizzled rows repeat every 1024 bytes.
  auto* tiles = reinterpret_cast<unsigned char*>(
      (reinterpret_cast<std::uintptr_t>(memory) + 1023) / 1024 * 1024);
  for (int i = static_cast<int>(threadIdx.x); i < bytes / 16;
       i += groups * 128) {
    reinterpret_cast<uint4*>(tiles)[i] = codes[i];
  }
  ptx::fence_shared();
  __syncthreads();

  const auto group = threadIdx.x / 128;
  float d[N / 2] = {};
  for (int round = 0; round < rounds; ++round) {
    ptx::fence_registers(d);
    ptx::begin_wgmma();
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) {
      const auto at = ptx::address_of(tiles + stage * stage_bytes<N>);
      const auto a = ptx::descriptor(at + group * a_bytes);
      const auto b = ptx::descriptor(at + groups * a_bytes);
#pragma unroll
      for (unsigned step = 0; step < 4; ++step) {
        // 32 elements of K, in 16 bytes.
        ptx::wgmma<ptx::fp8_types::e4m3_e4m3, N>::run(
            d, a + 2 * step, b + 2 * step,
            round + stage + static_cast<int>(step) > 0);
      }
    }
    ptx::commit_wgmma();
    ptx::wait_for_wgmma<1>();
  }
  ptx::wait_for_wgmma<0>();
  ptx::fence_registers(d);
  // Results that nobody could read would not be computed.
  if (out == nullptr) return;
  for (const float x : d) out[threadIdx.x] += x;
}

template <int N>
int launch_multiply(const void* codes, double work, int multiprocessors,
                    CUstream_st* stream) {
  constexpr int bytes = stages * stage_bytes<N> + 1024;
  require_cuda(cudaFuncSetAttribute(
      multiply<N>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const double round = 2.0 * groups * 64 * N * 128 * stages * multiprocessors;
  const int rounds = std::max(static_cast<int>(work / round + 0.5), 1);
  multiply<N>
      <<<static_cast<unsigned>(multiprocessors), groups * 128, bytes, stream>>>(
          static_cast<const uint4*>(codes), rounds, nullptr);
  require_cuda(cudaGetLastError());
  return rounds;
}

}  // namespace

double launch_wgmma(int n, const void* codes, double work, int multiprocessors,
                    CUstream_st* stream) {
  const double round = 2.0 * groups * 64 * n * 128 * stages * multiprocessors;
  const int rounds =
      n == 256 ? launch_multiply<256>(codes, work, multiprocessors, stream)
               : launch_multiply<128>(codes, work, multiprocessors, stream);
  return rounds * round;
}

}  // namespace zeroulp::program
