// Defines how a kernel sums the outputs of both sides, as output_digest does on
// the host.

#ifndef ZEROULP_CONFORMANCE_CONTRACT_OUTPUT_SUMS_HPP_
#define ZEROULP_CONFORMANCE_CONTRACT_OUTPUT_SUMS_HPP_

#include <cstdint>

#ifdef __CUDACC__
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "zeroulp/random.hpp"
#endif

namespace zeroulp::conformance {

/// The sums of the outputs of both sides, in device memory.
struct output_sums {
  unsigned long long got, expected;
};

#ifdef __CUDACC__

/// One thread's part of output_sums.
class thread_sums {
 public:
  __device__ void add(std::uint32_t got, std::uint32_t expected) {
    got_ += mix64(std::uint64_t{got} + 1);
    expected_ += mix64(std::uint64_t{expected} + 1);
  }
  /// Adds this part to the sums. Lanes that have left take no part.
  __device__ void add_to(output_sums& sums) const {
    namespace groups = cooperative_groups;
    const auto lanes = groups::coalesced_threads();
    const auto got = groups::reduce(lanes, got_, groups::plus<std::uint64_t>());
    const auto expected =
        groups::reduce(lanes, expected_, groups::plus<std::uint64_t>());
    if (lanes.thread_rank() != 0) return;
    atomicAdd(&sums.got, static_cast<unsigned long long>(got));
    atomicAdd(&sums.expected, static_cast<unsigned long long>(expected));
  }

 private:
  std::uint64_t got_ = 0, expected_ = 0;
};

#endif

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CONTRACT_OUTPUT_SUMS_HPP_
