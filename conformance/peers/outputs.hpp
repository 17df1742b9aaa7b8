// Defines whether a result on the device has the bits that it should. No CUDA
// in this header.

#ifndef ZEROULP_CONFORMANCE_PEERS_OUTPUTS_HPP_
#define ZEROULP_CONFORMANCE_PEERS_OUTPUTS_HPP_

#include <cstddef>
#include <cstdint>

#include "conformance/contract/output_sums.hpp"

// cudaStream_t is a pointer to this.
struct CUstream_st;

namespace zeroulp::conformance::peers {

/// What was compared so far; of no output: {}.
struct output_tally {
  unsigned long long differing;
  /// row * cols + col of any one that differs, and its bits.
  unsigned long long index;
  std::uint32_t got, want;
  output_sums sums;
};

/// Adds to *tally, in device memory, which elements of d (m x n, `bytes` 2 or 4
/// each, row i at d + i * stride elements) differ from those of `want`, without
/// gaps. Returns a cudaError_t.
int compare_outputs(const void* d, int bytes, std::ptrdiff_t stride,
                    const void* want, std::ptrdiff_t m, std::ptrdiff_t n,
                    output_tally* tally, CUstream_st* stream);

}  // namespace zeroulp::conformance::peers

#endif  // ZEROULP_CONFORMANCE_PEERS_OUTPUTS_HPP_
