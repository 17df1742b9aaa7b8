#include "tools/train/gpu/device_tensor.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <array>
#include <mutex>

#include "zeroulp/io.hpp"

namespace zeroulp::train {
namespace {

void require(cudaError_t status) {
  if (status != cudaSuccess) throw cuda::error(cudaGetErrorString(status));
}

int current_device() {
  int device = 0;
  require(cudaGetDevice(&device));
  return device;
}

cudaMemPool_t pool_of(int device) {
  cudaMemPool_t pool = nullptr;
  require(cudaDeviceGetDefaultMemPool(&pool, device));
  return pool;
}

/// Memory that was freed is kept for the next step.
void keep_freed_memory(int device) {
  static std::array<std::once_flag, 64> done;
  const auto keep = [device] {
    std::uint64_t all = ~std::uint64_t{0};
    require(cudaMemPoolSetAttribute(pool_of(device),
                                    cudaMemPoolAttrReleaseThreshold, &all));
  };
  std::call_once(done[static_cast<std::size_t>(device) % done.size()], keep);
}

/// Says nothing of errors: it also runs while one is thrown.
void free_on(int device, void* p) noexcept {
  int before = device;
  cudaGetDevice(&before);
  cudaSetDevice(device);
  cudaFreeAsync(p, nullptr);
  cudaSetDevice(before);
}

}  // namespace

on_device::on_device(int device) : before_(current_device()) {
  require(cudaSetDevice(device));
}
on_device::~on_device() { cudaSetDevice(before_); }

void wait_for_device() { require(cudaDeviceSynchronize()); }

void share_memory(int count) {
  for (int i = 0; i < count; ++i) {
    for (int reader = 0; reader < count; ++reader) {
      if (reader == i) continue;
      int can = 0;
      require(cudaDeviceCanAccessPeer(&can, reader, i));
      if (can == 0) {
        throw input_error(fmt::format(
            "train --on gpu: GPU {} cannot read the memory of GPU {}", reader,
            i));
      }
      const cudaMemAccessDesc access{{cudaMemLocationTypeDevice, reader},
                                     cudaMemAccessFlagsProtReadWrite};
      require(cudaMemPoolSetAccess(pool_of(i), &access, 1));
    }
  }
}

device_memory::device_memory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const int device = current_device();
  keep_freed_memory(device);
  void* p = nullptr;
  const cudaError_t status = cudaMallocAsync(&p, bytes, nullptr);
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    throw input_error(fmt::format(
        "train --on gpu: the memory of GPU {} has no {} MiB more: use fewer "
        "sequences or layers, or more shards",
        device, (bytes >> 20) + 1));
  }
  require(status);
  data_ = {p, [device](void* of) { free_on(device, of); }};
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
