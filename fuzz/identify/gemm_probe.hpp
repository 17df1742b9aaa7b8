// Defines the first test of identify_gemm: every plan on the few outputs that
// tell most, by the core. Internal.

#ifndef ZEROULP_FUZZ_IDENTIFY_GEMM_PROBE_HPP_
#define ZEROULP_FUZZ_IDENTIFY_GEMM_PROBE_HPP_

#include <span>
#include <vector>

#include "fuzz/identify/gemm_exact.hpp"
#include "fuzz/identify/progress.hpp"

namespace zeroulp::fuzz {

/// An output (i, j), and its operands.
struct gemm_probe {
  std::ptrdiff_t i;
  std::ptrdiff_t j;
  std::vector<unpacked> a;  ///< row i of A
  std::vector<unpacked> b;  ///< row j of B
};

/// Returns outputs of D. First come those whose exact sum is nearest, relative
/// to its terms, to where the output would be rounded differently: there the
/// smallest errors show. Some others follow.
std::vector<gemm_probe> probes_of(const gemm_evidence& e,
                                  const exact_part& exact);

/// Compares contenders, which are sorted by chain, with D at the probes.
void hold(const gemm_evidence& e, const gemm_grid& grid,
          std::span<const gemm_probe> probes,
          std::vector<gemm_contender>& contenders, work_meter& meter);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_GEMM_PROBE_HPP_
