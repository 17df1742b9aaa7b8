#include "tools/zeroulp/plugin/memory.hpp"

#include "tools/zeroulp/program.hpp"

#ifdef ZEROULP_HAVE_CUDA
#include <cuda_runtime.h>
#endif

namespace zeroulp::program {

#ifdef ZEROULP_HAVE_CUDA

namespace {

/// "" or "WHAT: what CUDA says".
std::string fault_of(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return "";
  return std::string(what) + ": " + cudaGetErrorString(status);
}

}  // namespace

std::string plugin_memory::enter(std::size_t bytes) {
  if (!on_device_) return "";
  bytes_ = bytes;
  if (bytes > room_) {
    cudaFree(copy_);
    copy_ = nullptr;
    room_ = 0;
    void* data = nullptr;
    const auto fault = fault_of(cudaMalloc(&data, bytes), "device memory");
    if (!fault.empty()) return fault;
    copy_ = static_cast<unsigned char*>(data);
    room_ = bytes;
  }
  return fault_of(cudaMemcpy(copy_, shared_, bytes, cudaMemcpyHostToDevice),
                  "device memory");
}

std::string plugin_memory::leave() {
  if (!on_device_) return "";
  auto fault = fault_of(cudaGetLastError(), "its launch failed");
  if (fault.empty()) {
    fault = fault_of(cudaDeviceSynchronize(), "its kernel failed");
  }
  if (!fault.empty()) return fault;
  return fault_of(cudaMemcpy(shared_, copy_, bytes_, cudaMemcpyDeviceToHost),
                  "device memory");
}

#else

std::string plugin_memory::enter(std::size_t) {
  if (!on_device_) return "";
  return std::string("it wants device memory: ") + no_gpu_part;
}

std::string plugin_memory::leave() { return ""; }

#endif

}  // namespace zeroulp::program
