#include "tools/train/gpu/device_tensor.hpp"

#include <cuda_runtime.h>

namespace zeroulp::train {
namespace {

void require(cudaError_t status) {
  if (status != cudaSuccess) throw cuda::error(cudaGetErrorString(status));
}

/// Memory that was freed is kept for the next step.
void keep_freed_memory() {
  static const bool done = [] {
    int device = 0;
    cudaMemPool_t pool = nullptr;
    std::uint64_t all = ~std::uint64_t{0};
    require(cudaGetDevice(&device));
    require(cudaDeviceGetDefaultMemPool(&pool, device));
    require(
        cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace

device_memory::device_memory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  keep_freed_memory();
  void* p = nullptr;
  require(cudaMallocAsync(&p, bytes, nullptr));
  data_ = {p, [](void* of) { cudaFreeAsync(of, nullptr); }};
}

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, nullptr));
  cudaPointerAttributes place{};
  require(cudaPointerGetAttributes(&place, to));
  if (place.type != cudaMemoryTypeDevice)
    require(cudaStreamSynchronize(nullptr));
}

void copy_rows(void* to, std::size_t to_pitch, const void* from,
               std::size_t from_pitch, std::size_t bytes, std::ptrdiff_t rows) {
  if (bytes == 0 || rows == 0) return;
  require(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, bytes,
                            static_cast<std::size_t>(rows),
                            cudaMemcpyDeviceToDevice, nullptr));
}

void clear_bytes(void* to, std::size_t bytes) {
  if (bytes > 0) require(cudaMemsetAsync(to, 0, bytes, nullptr));
}

}  // namespace zeroulp::train
