// Defines how outputs are summed: a sum over their words that depends on their
// number and bits, not on their order. `output_digest` sums on the host.

#ifndef ZEROULP_CONFORMANCE_CONTRACT_OUTPUT_SUMS_HPP_
#define ZEROULP_CONFORMANCE_CONTRACT_OUTPUT_SUMS_HPP_

#include <cstdint>

#ifdef __CUDACC__
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#endif

#include "zeroulp/random.hpp"

namespace zeroulp::conformance {

/// What a word of an output adds to the sum.
ZEROULP_HD constexpr std::uint64_t output_summand(std::uint64_t word) {
  return mix64(word + 1);
}

/// The sums of the outputs of both sides, in device memory.
struct output_sums {
  unsigned long long got, expected;
};

#ifdef __CUDACC__

/// One thread's part of output_sums.
class thread_sums {
 public:
  __device__ void add(std::uint32_t got, std::uint32_t expected) {
    got_ += output_summand(got);
    expected_ += output_summand(expected);
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
