// Defines device memory, events, and where the operands of an operation lie.
// Needs CUDA's headers.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_GPU_MEMORY_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_GPU_MEMORY_HPP_

#include <cuda_runtime_api.h>

#include <map>
#include <utility>

#include "tools/zeroulp/bench/gpu/gpu.hpp"
#include "tools/zeroulp/bench/gpu/kernels.hpp"

namespace zeroulp::program {

class device_memory {
 public:
  explicit device_memory(std::size_t bytes) {
    require_cuda(cudaMalloc(&data_, bytes));
  }
  ~device_memory() { cudaFree(data_); }
  device_memory(device_memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)) {}
  device_memory& operator=(device_memory&&) = delete;

  unsigned char* data() const { return static_cast<unsigned char*>(data_); }

 private:
  void* data_ = nullptr;
};

class gpu_event {
 public:
  gpu_event() { require_cuda(cudaEventCreate(&event_)); }
  ~gpu_event() { cudaEventDestroy(event_); }
  gpu_event(const gpu_event&) = delete;
  gpu_event& operator=(const gpu_event&) = delete;

  void record(cudaStream_t stream) const {
    require_cuda(cudaEventRecord(event_, stream));
  }
  void wait() const { require_cuda(cudaEventSynchronize(event_)); }
  double seconds_since(const gpu_event& start) const;

 private:
  cudaEvent_t event_ = nullptr;
};

/// What memory holds, in each byte, before anybody writes it.
inline constexpr int poison = 0xa5;

/// Where the operands lie in a set, in bytes: what is only written comes last.
struct set_layout {
  std::vector<std::size_t> at;
  std::size_t written_from = 0;
  std::size_t bytes = 0;

  explicit set_layout(const std::vector<gpu_operand>& operands);
  std::size_t written() const { return bytes - written_from; }
};

engine::code_view view_of(const gpu_operand& o, void* data);
gpu_matrices views_of(const gpu_operation& op, const set_layout& layout,
                      unsigned char* set);

/// Sets of operands with the same random contents; what is only written, and
/// scratch, is poisoned.
class set_maker {
 public:
  std::vector<device_memory> make(const std::vector<gpu_operand>& operands,
                                  const set_layout& layout, std::size_t count,
                                  cudaStream_t stream);

 private:
  const void* pool_of(gpu_fill fill, format f, cudaStream_t stream);
  std::map<std::pair<gpu_fill, std::string>, device_memory> pools_;
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_GPU_MEMORY_HPP_
