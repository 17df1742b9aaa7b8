// Describes this machine's GPU, and lists all checks on it.

#include <cctype>
#include <fstream>

#include "conformance/device/device.hpp"
#include "conformance/device/support/test.hpp"

namespace zeroulp::conformance::device {
namespace {

/// Returns "13.0" for 13000.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

/// Returns the version of the kernel module or, if the system does not give it,
/// the driver's CUDA version.
std::string driver_version() {
  std::ifstream in("/proc/driver/nvidia/version");
  for (std::string word; in >> word;) {
    // The first word such as 580.159.03.
    const bool starts = std::isdigit(static_cast<unsigned char>(word[0])) != 0;
    if (starts && word.find('.') != std::string::npos) return word;
  }
  int version = 0;
  require(cudaDriverGetVersion(&version));
  return "for CUDA " + version_text(version);
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  require(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

}  // namespace

std::string why_absent() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    return "no NVIDIA GPU here, or no driver for it";
  }
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) {
    return "the GPU does not answer";
  }
  if (properties.major != 9 || properties.minor != 0) {
    return std::string(properties.name) + " is not of compute capability 9.0";
  }
  return {};
}

description describe() {
  cudaDeviceProp properties{};
  require(cudaGetDeviceProperties(&properties, 0));
  description d;
  d.name = properties.name;
  d.driver = driver_version();
  int runtime = 0;
  require(cudaRuntimeGetVersion(&runtime));
  d.runtime = version_text(runtime);
  d.compiler = "nvcc " + std::to_string(__CUDACC_VER_MAJOR__) + "." +
               std::to_string(__CUDACC_VER_MINOR__) + "." +
               std::to_string(__CUDACC_VER_BUILD__);
  d.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
  d.clock_mhz = attribute(cudaDevAttrClockRate) / 1000;
  d.memory_clock_mhz = attribute(cudaDevAttrMemoryClockRate) / 1000;
  return d;
}

check_list all_checks(const std::vector<gemm_shape>& shapes) {
  check_list all;
  for (const auto& list :
       {core_conversion_checks(),    core_arithmetic_checks(),
        core_step_checks(),          core_quantize_checks(),
        core_retile_checks(),        core_gemm_checks(),
        emulator_checks(),           emulated_gemm_checks(),
        silicon_wgmma_checks(),      silicon_mma_checks(),
        silicon_shape_checks(),      silicon_short_shape_checks(),
        silicon_conversion_checks(), silicon_arithmetic_checks(),
        silicon_division_checks(),   kernel_case_checks(),
        kernel_quantize_checks(),    kernel_quantize_pair_checks(),
        kernel_retile_checks(),      kernel_pack_checks(),
        kernel_refusal_checks(),     kernel_training_checks(),
        kernel_sigmoid_checks(),     kernel_adamw_checks(),
        kernel_gemm_checks(),        kernel_whole_checks(),
        kernel_in_turn_checks(),     peer_cublaslt_checks(shapes)}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

}  // namespace zeroulp::conformance::device
