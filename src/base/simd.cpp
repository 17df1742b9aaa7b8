#include "src/base/simd.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>

namespace zeroulp::engine {
namespace {

std::vector<simd> find_supported() {
  std::vector<simd> sets{simd::portable};
#if HWY_TARGETS & HWY_AVX2
  // What Highway's target of this name may use.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes")) {
    // clang 14 cannot ask for F16C, which every processor with AVX2 has.
    sets.push_back(simd::avx2);
#if HWY_TARGETS & HWY_AVX3
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd")) {
      sets.push_back(simd::avx512);
    }
#endif
  }
#endif
  return sets;
}

std::atomic<simd>& chosen() {
  static std::atomic<simd> set{supported_simd().back()};
  return set;
}

}  // namespace

const std::vector<simd>& supported_simd() {
  static const auto sets = find_supported();
  return sets;
}

simd current_simd() { return chosen().load(std::memory_order_relaxed); }

void use_simd(simd set) {
  const auto& sets = supported_simd();
  if (set != simd::reference &&
      std::find(sets.begin(), sets.end(), set) == sets.end()) {
    throw std::invalid_argument("this processor lacks these instructions");
  }
  chosen().store(set, std::memory_order_relaxed);
}

}  // namespace zeroulp::engine
