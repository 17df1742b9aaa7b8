// Runs one check of the kernels, for kernels.sh: NAME LEVEL. At level 0, where
// a check takes moments, with several seeds. Status 0: it held, 1: it did not,
// 2: there is no such check, or no GPU.

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "conformance/device/model/model.hpp"
#include "conformance/device/support/test.hpp"

namespace zeroulp::conformance::device {
namespace {

check_list kernel_checks() {
  check_list all;
  for (const auto& list :
       {kernel_case_checks(), kernel_quantize_checks(),
        kernel_quantize_pair_checks(), kernel_retile_checks(),
        kernel_pack_checks(), kernel_refusal_checks(), kernel_training_checks(),
        kernel_adamw_checks(), kernel_gemm_checks(), kernel_whole_checks(),
        kernel_in_turn_checks(), kernel_model_checks()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

/// Returns what did not hold; empty if all did.
std::string failure_of(const check& c, const effort& e) {
  try {
    const verdict v = c.run(core_implementation(), e);
    if (v.cases == 0) return "no cases";
    return v.failures == 0 ? "" : v.first_failure;
  } catch (const std::exception& error) {
    return error.what();
  }
}

int run(const std::string& name, int level) {
  using clock = std::chrono::steady_clock;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::cout << "no GPU\n";
    return 2;
  }
  for (const check& c : kernel_checks()) {
    if (c.name != name) continue;
    const auto start = clock::now();
    const std::uint64_t seeds = level == 0 ? 8 : 1;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const auto failure = failure_of(c, {level, seed, true});
      if (!failure.empty()) {
        std::cout << "seed " << seed << ": " << failure << "\n";
        return 1;
      }
      if (clock::now() - start > std::chrono::seconds(3)) break;
    }
    return 0;
  }
  std::cout << "no check " << name << "\n";
  return 2;
}

}  // namespace
}  // namespace zeroulp::conformance::device

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return zeroulp::conformance::device::run(argv[1], std::atoi(argv[2]));
}
