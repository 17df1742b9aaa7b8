// Defines what the checks on the device share: the number of cases at each
// level, lists of checks, CUDA errors as exceptions, memory on the device.

#ifndef ZEROULP_CONFORMANCE_DEVICE_SUPPORT_TEST_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SUPPORT_TEST_HPP_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "conformance/cases/gemm_cases.hpp"
#include "conformance/contract/registry.hpp"

namespace zeroulp::conformance::device {

/// Returns how many cases a check takes: `few` at level 0, `many` at level 1, 8
/// and 64 times as many at levels 2 and 3. There are never more than `all`, the
/// number of existing cases. compute-sanitizer has time for level 0 only.
constexpr std::uint64_t cases(const effort& e, std::uint64_t few,
                              std::uint64_t many, std::uint64_t all = ~0ull) {
  if (e.level <= 0) return std::min(few, all);
  return std::min(many << 3 * (std::min(e.level, 3) - 1), all);
}

/// A check that needs no implementation: it checks code on the device.
inline check device_check(std::string name, std::string clauses,
                          std::string oracle,
                          std::function<verdict(const effort&)> run) {
  return {std::move(name), std::move(clauses), std::move(oracle), 0,
          [run = std::move(run)](const implementation&, const effort& e) {
            return run(e);
          }};
}

/// One check run(value, effort) for each of `named`; its name is `prefix` and
/// the name there.
template <class Named, class Run>
check_list checks_of_each(const Named& named, const char* prefix,
                          const char* clauses, const char* oracle, Run run) {
  check_list all;
  for (const auto& x : named) {
    all.push_back(
        device_check(std::string(prefix) + x.name, clauses, oracle,
                     [&x, run](const effort& e) { return run(x.value, e); }));
  }
  return all;
}

// The core on the device against the core on the host.
check_list core_conversion_checks();
check_list core_arithmetic_checks();
check_list core_step_checks();
check_list core_quantize_checks();
check_list core_retile_checks();
check_list core_gemm_checks();
// The emulator against the core on the host.
check_list emulator_checks();
check_list emulated_gemm_checks();
// Instructions against the emulator or the core, all on the device.
check_list silicon_wgmma_checks();
check_list silicon_mma_checks();
check_list silicon_shape_checks();
check_list silicon_short_shape_checks();
check_list silicon_conversion_checks();
check_list silicon_arithmetic_checks();
check_list silicon_division_checks();
// The kernels.
check_list kernel_case_checks();
check_list kernel_quantize_checks();
check_list kernel_quantize_pair_checks();
check_list kernel_retile_checks();
// Packing, transposed weights, dequantization.
check_list kernel_pack_checks();
check_list kernel_refusal_checks();
check_list kernel_training_checks();
// The bounds that SwiGLU's kernels rely on.
check_list kernel_sigmoid_checks();
check_list kernel_adamw_checks();
check_list kernel_gemm_checks();
// SwiGLU and RMSNorm on whole vec8s (vectors of 8 elements).
check_list kernel_whole_checks();
// Kernels launched right after one another.
check_list kernel_in_turn_checks();

// Other libraries against the recipes.
check_list peer_cublaslt_checks(const std::vector<gemm_shape>& shapes);

inline void require(cudaError_t status) {
  if (status != cudaSuccess) {
    throw std::runtime_error(cudaGetErrorString(status));
  }
}

/// Waits for the kernel launched last.
inline void finish_kernel() {
  require(cudaGetLastError());
  require(cudaDeviceSynchronize());
}

/// `count` objects on the device, zeroed.
template <class T>
class device_buffer {
 public:
  explicit device_buffer(std::size_t count) : bytes_(count * sizeof(T)) {
    require(cudaMalloc(&data_, bytes_));
    require(cudaMemset(data_, 0, bytes_));
  }
  device_buffer(const device_buffer&) = delete;
  device_buffer& operator=(const device_buffer&) = delete;
  ~device_buffer() { cudaFree(data_); }

  T* data() const { return static_cast<T*>(data_); }
  void copy_to(T* host, std::size_t count) const {
    require(cudaMemcpy(host, data_, count * sizeof(T), cudaMemcpyDeviceToHost));
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_SUPPORT_TEST_HPP_
