// Defines what the host asks of a GPU: which one it is, the checks that need
// it, single steps of its tensor cores. No CUDA in this header.

#ifndef ZEROULP_CONFORMANCE_DEVICE_DEVICE_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_DEVICE_HPP_

#include <optional>
#include <string>
#include <vector>

#include "conformance/cases/step_cases.hpp"
#include "conformance/contract/registry.hpp"
#include "fuzz/engine/finding.hpp"

namespace zeroulp::conformance::device {

/// Why there is nothing to run on, one line; empty if a GPU of compute
/// capability 9.0 is here.
std::string why_absent();

struct description {
  std::string name;      ///< e.g. "NVIDIA H200"
  std::string driver;    ///< e.g. "580.159.03"
  std::string runtime;   ///< of CUDA, e.g. "13.0"
  std::string compiler;  ///< e.g. "nvcc 13.0.88"
  int multiprocessors = 0;
  int clock_mhz = 0;         ///< of the multiprocessors, the highest
  int memory_clock_mhz = 0;  ///< the highest
};
description describe();

/// Every check that needs the GPU. The implementation that they are given does
/// not matter: they hold the core on the device, or an instruction.
check_list all_checks();

/// The kernels, where there is one.
implementation gpu_implementation();

/// Replaces settings that no kernel serves by some that one does.
void keep_to_kernels(fuzz::target t, fuzz::settings& s);

/// Returns where the two differ, or what the kernels' side found besides, such
/// as a word written beside an output. Throws input_error if no kernel serves
/// `p`, std::runtime_error if CUDA has failed for good.
std::optional<fuzz::difference> find_difference(const fuzz::problem& p,
                                                const implementation& gpu,
                                                const implementation& core);
/// Returns that difference in words: the output, where, and the token of a
/// small case that shows it.
std::string describe_difference(const fuzz::problem& p,
                                const fuzz::difference& found,
                                const implementation& gpu,
                                const implementation& core);

/// Returns true iff an instruction of Hopper is said to follow `p`: wgmma or
/// mma.sync.
bool has_instruction(const path& p);

/// Returns D of each case, by the instruction that follows `p`: wgmma, or if
/// there is none or `by_mma` asks for it, mma.sync. Throws std::runtime_error
/// if CUDA fails.
std::vector<std::uint64_t> run_steps(const path& p,
                                     const std::vector<step_case>& cases,
                                     bool by_mma = false);

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_DEVICE_HPP_
