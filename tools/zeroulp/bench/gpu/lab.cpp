#include "tools/zeroulp/bench/gpu/lab.hpp"

#include <fmt/format.h>

#include <cstring>

#include "tools/zeroulp/gemm/gemm_gpu.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {

platform_text gpu_bench_platform() {
  int device = 0, driver = 0, runtime = 0;
  cudaDeviceProp properties{};
  require_cuda(cudaGetDevice(&device));
  require_cuda(cudaGetDeviceProperties(&properties, device));
  require_cuda(cudaDriverGetVersion(&driver));
  require_cuda(cudaRuntimeGetVersion(&runtime));
  const auto version = [](int v) {
    return fmt::format("{}.{}", v / 1000, v % 1000 / 10);
  };
  return {{"device", properties.name},
          {"multiprocessors", std::to_string(properties.multiProcessorCount)},
          {"CUDA of the driver", version(driver)},
          {"CUDA", version(runtime)}};
}

gpu_lab::gpu_lab() {
  (void)require_gpu("bench gpu");
  int device = 0;
  cudaDeviceProp properties{};
  require_cuda(cudaGetDevice(&device));
  require_cuda(cudaGetDeviceProperties(&properties, device));
  char bus[32] = {};
  require_cuda(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
  sensors = std::make_unique<gpu_sensors>(bus);
  l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  multiprocessors = properties.multiProcessorCount;
  require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
}

gpu_lab::~gpu_lab() { cudaStreamDestroy(stream); }

std::vector<double> gpu_lab::times(const std::vector<const job*>& jobs,
                                   int launches) {
  std::vector<gpu_event> marks(jobs.size() + 1);
  marks[0].record(stream);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    for (int i = 0; i < launches; ++i) (*jobs[j])();
    marks[j + 1].record(stream);
  }
  sensors->sample();
  marks.back().wait();
  std::vector<double> seconds;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    seconds.push_back(marks[j + 1].seconds_since(marks[j]) / launches);
  }
  return seconds;
}

std::vector<unsigned char> gpu_lab::download(const void* from,
                                             std::size_t bytes) const {
  std::vector<unsigned char> v(bytes);
  require_cuda(cudaStreamSynchronize(stream));
  require_cuda(cudaMemcpy(v.data(), from, bytes, cudaMemcpyDeviceToHost));
  return v;
}

void gpu_lab::hold_equal(const device_memory& right, std::size_t from,
                         std::size_t bytes,
                         const std::vector<device_memory>& sets) {
  const device_memory counter(sizeof(unsigned long long));
  auto* differing = reinterpret_cast<unsigned long long*>(counter.data());
  require_cuda(cudaMemsetAsync(differing, 0, sizeof *differing, stream));
  for (const auto& set : sets) {
    launch_compare(right.data(), set.data() + from, bytes, differing, stream);
  }
  const auto counted = download(differing, sizeof *differing);
  unsigned long long count = 0;
  std::memcpy(&count, counted.data(), sizeof count);
  if (count == 0) return;
  throw bench_mismatch(fmt::format(
      "{} pieces of 16 bytes changed from launch to launch", count));
}

}  // namespace zeroulp::program
