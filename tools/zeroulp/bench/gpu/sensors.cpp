// Clock and power, by a library that comes with the driver and is opened at run
// time: there is no other way to know them, and the bench does without.

#include <dlfcn.h>

#include "tools/zeroulp/bench/gpu/gpu.hpp"

namespace zeroulp::program {
namespace {

constexpr const char* library = "libnvidia-ml.so.1";
constexpr int success = 0;
constexpr int multiprocessor_clock = 1;

template <class Function>
Function find(void* handle, const char* name) {
  return reinterpret_cast<Function>(dlsym(handle, name));
}

}  // namespace

gpu_sensors::gpu_sensors(const std::string& pci_bus_id) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);  // until the end
  if (handle == nullptr) return;
  const auto init = find<int (*)()>(handle, "nvmlInit_v2");
  const auto device = find<int (*)(const char*, void**)>(
      handle, "nvmlDeviceGetHandleByPciBusId_v2");
  if (init == nullptr || device == nullptr || init() != success) return;
  if (device(pci_bus_id.c_str(), &device_) != success) return;
  clock_ = find<read_clock>(handle, "nvmlDeviceGetClockInfo");
  power_ = find<read_power>(handle, "nvmlDeviceGetPowerUsage");
}

void gpu_sensors::sample() {
  unsigned value = 0;
  if (clock_ && clock_(device_, multiprocessor_clock, &value) == success) {
    clocks_.push_back(value);
  }
  if (power_ && power_(device_, &value) == success) {
    powers_.push_back(value / 1000.0);  // from mW
  }
}

double gpu_sensors::clock_mhz() const {
  return clocks_.empty() ? 0 : median(clocks_);
}
double gpu_sensors::power_w() const {
  return powers_.empty() ? 0 : median(powers_);
}

void gpu_sensors::clear() {
  clocks_.clear();
  powers_.clear();
}

}  // namespace zeroulp::program
