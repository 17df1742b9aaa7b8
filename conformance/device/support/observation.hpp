// Defines `compare_instruction`: compares an instruction with the core, both on
// the device, for cases numbered by an index.

#ifndef ZEROULP_CONFORMANCE_DEVICE_SUPPORT_OBSERVATION_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SUPPORT_OBSERVATION_HPP_

#include <cstdio>

#include "conformance/device/support/test.hpp"

namespace zeroulp::conformance::device {

/// The inputs and results of one case. Unused inputs are 0.
struct observation {
  std::uint32_t input[3];
  std::uint32_t silicon;
  std::uint32_t core;
};

struct observed_mismatches {
  unsigned long long count;
  observation first;
  output_sums sums;
};

template <class Function>
__global__ void observe(Function f, std::uint64_t count,
                        observed_mismatches* found) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  thread_sums sums;
  for (; i < count; i += stride) {
    const observation seen = f(i);
    sums.add(seen.silicon, seen.core);
    if (seen.silicon == seen.core) continue;
    if (atomicAdd(&found->count, 1ull) == 0) found->first = seen;
  }
  sums.add_to(found->sums);
}

/// Compares the results of f(0) to f(count - 1).
template <class Function>
verdict compare_instruction(const Function& f, std::uint64_t count) {
  const device_buffer<observed_mismatches> buffer(1);
  observe<<<132 * 16, 128>>>(f, count, buffer.data());
  finish_kernel();
  observed_mismatches found{};
  buffer.copy_to(&found, 1);
  verdict result;
  result.cases = count;
  result.failures = found.count;
  result.add(found.sums);
  if (found.count != 0) {
    const observation& seen = found.first;
    char text[120];
    std::snprintf(text, sizeof text, "%08x %08x %08x: GPU %x, core %x",
                  seen.input[0], seen.input[1], seen.input[2], seen.silicon,
                  seen.core);
    result.first_failure = text;
  }
  return result;
}

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_SUPPORT_OBSERVATION_HPP_
