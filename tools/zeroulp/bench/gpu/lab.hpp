// Defines `gpu_lab`: where operations are timed. Needs CUDA's headers.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_GPU_LAB_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_GPU_LAB_HPP_

#include "tools/zeroulp/bench/gpu/memory.hpp"

namespace zeroulp::program {

/// The current device.
struct gpu_lab {
  /// Enqueues a launch.
  using job = std::function<void()>;

  /// Throws input_error if there is none of compute capability 9.0.
  gpu_lab();
  ~gpu_lab();
  gpu_lab(const gpu_lab&) = delete;
  gpu_lab& operator=(const gpu_lab&) = delete;

  /// Seconds of a launch of each of the jobs, done in this order without a
  /// pause, so many launches each.
  std::vector<double> times(const std::vector<const job*>& jobs, int launches);

  std::vector<unsigned char> download(const void* from,
                                      std::size_t bytes) const;
  /// Throws bench_mismatch if what each of the sets has from `from` on is not
  /// what is in `right`.
  void hold_equal(const device_memory& right, std::size_t from,
                  std::size_t bytes, const std::vector<device_memory>& sets);

  cudaStream_t stream = nullptr;
  std::size_t l2_bytes = 0;
  int multiprocessors = 0;
  set_maker maker;
  std::unique_ptr<gpu_sensors> sensors;
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_GPU_LAB_HPP_
