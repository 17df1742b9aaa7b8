// Defines the host's interface to a GPU: which one it is, the checks that need
// it, single steps of its tensor cores. This header includes no CUDA.

#ifndef ZEROULP_CONFORMANCE_DEVICE_DEVICE_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_DEVICE_HPP_

#include <optional>
#include <string>
#include <vector>

#include "conformance/cases/gemm_cases.hpp"
#include "conformance/cases/step_cases.hpp"
#include "conformance/contract/registry.hpp"
#include "conformance/peers/cublaslt.hpp"
#include "fuzz/engine/finding.hpp"

namespace zeroulp::conformance::device {

/// Returns one line that says why there is no GPU to run on; empty if there is
/// one of compute capability 9.0.
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

/// Every check that needs the GPU. They ignore the implementation passed to
/// them: they check the kernels, the core on the device, or an instruction.
/// `shapes` are some more for cuBLASLt.
check_list all_checks(const std::vector<gemm_shape>& shapes = {});

/// What cuBLASLt does with a problem, by the algorithm that it would take.
struct cublaslt_answer {
  std::string refusal;  ///< if not empty, the rest is not set
  peers::cublaslt_algorithm algorithm;
  std::uint64_t outputs = 0;    ///< that were compared
  std::uint64_t differing = 0;  ///< from its recipe: cublaslt_recipe()
  bool tells = false;           ///< whether they tell that from other recipes
};

/// Runs it on N(0, 1) codes and scales within [2^-4, 2^4).
cublaslt_answer ask_cublaslt(const peers::cublaslt_problem& p,
                             std::uint64_t seed);

/// The kernels as an implementation; the core where there is no kernel.
implementation gpu_implementation();

/// Replaces settings that no kernel serves by settings that one serves.
void keep_to_kernels(fuzz::target t, fuzz::settings& s);

/// Returns where the two differ, or another error that the kernels' side found,
/// such as a word written outside an output. Throws input_error if no kernel
/// serves `p`, std::runtime_error if CUDA has failed for good.
std::optional<fuzz::difference> find_difference(const fuzz::problem& p,
                                                const implementation& gpu,
                                                const implementation& core);
/// Returns that difference as text: the output, the place, and the token of a
/// small case that shows it.
std::string describe_difference(const fuzz::problem& p,
                                const fuzz::difference& found,
                                const implementation& gpu,
                                const implementation& core);

/// Returns true iff an instruction of Hopper, wgmma or mma.sync, is claimed to
/// follow `p`.
bool has_instruction(const path& p);

/// Returns D of each case, computed by the instruction that follows `p`: wgmma,
/// or mma.sync if there is no such wgmma or `by_mma` is set. Throws
/// std::runtime_error if CUDA fails.
std::vector<std::uint64_t> run_steps(const path& p,
                                     const std::vector<step_case>& cases,
                                     bool by_mma = false);

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_DEVICE_HPP_
