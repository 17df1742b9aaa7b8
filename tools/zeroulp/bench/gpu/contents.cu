// Random contents, and whether two pieces of memory are the same.

#include <cuda_runtime.h>

#include <string>

#include "tools/zeroulp/bench/gpu/kernels.hpp"
#include "zeroulp/cuda.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::program {
namespace {

constexpr unsigned threads = 256;
constexpr std::size_t most_blocks = 4096;

unsigned blocks_for(std::size_t count) {
  const std::size_t blocks = (count + threads - 1) / threads;
  return static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks);
}

/// Calls use(i) for each i below count.
template <class Use>
__device__ void for_each(std::size_t count, Use use) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i < count; i += step) use(i);
}

template <class T>
__global__ void pick(const T* pool, std::uint32_t mask, T* out,
                     std::size_t count, std::uint64_t seed) {
  for_each(count, [&](std::size_t i) {
    out[i] = pool[mix64(seed + i * golden) & mask];
  });
}

template <class T>
void launch_pick(const void* pool, std::uint32_t pool_count, void* out,
                 std::size_t count, std::uint64_t seed, CUstream_st* stream) {
  pick<<<blocks_for(count), threads, 0, stream>>>(
      static_cast<const T*>(pool), pool_count - 1, static_cast<T*>(out), count,
      seed);
}

__global__ void compare(const uint4* a, const uint4* b, std::size_t count,
                        unsigned long long* differing) {
  for_each(count, [&](std::size_t i) {
    const uint4 x = a[i], y = b[i];
    if (x.x != y.x || x.y != y.y || x.z != y.z || x.w != y.w) {
      atomicAdd(differing, 1ull);
    }
  });
}

}  // namespace

void require_cuda(int status) {
  const auto error = static_cast<cudaError_t>(status);
  if (error == cudaSuccess) return;
  throw cuda::error(std::string("bench gpu: CUDA: ") + cudaGetErrorName(error) +
                    ": " + cudaGetErrorString(error));
}

void launch_fill(const void* pool, std::uint32_t pool_count, int element_bytes,
                 void* out, std::size_t count, std::uint64_t seed,
                 CUstream_st* stream) {
  const auto fill = element_bytes == 1   ? launch_pick<std::uint8_t>
                    : element_bytes == 2 ? launch_pick<std::uint16_t>
                                         : launch_pick<std::uint32_t>;
  if (count == 0) return;
  fill(pool, pool_count, out, count, seed, stream);
  require_cuda(cudaGetLastError());
}

void launch_compare(const void* a, const void* b, std::size_t bytes,
                    unsigned long long* differing, CUstream_st* stream) {
  const std::size_t count = bytes / 16;
  if (count == 0) return;
  compare<<<blocks_for(count), threads, 0, stream>>>(
      static_cast<const uint4*>(a), static_cast<const uint4*>(b), count,
      differing);
  require_cuda(cudaGetLastError());
}

}  // namespace zeroulp::program
