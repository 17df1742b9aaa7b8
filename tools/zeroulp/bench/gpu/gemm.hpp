// Defines the GEMMs that `zeroulp bench gpu` times: a row is a job, and those
// who do it, in turns.
//
//   ratio = median over the rounds of seconds of another / seconds of the first
//
// A round is a b c ... c b a, each so many launches. Operands are random-normal
// codes, and rotate through more than twice the L2: each launch finds them
// cold. What is ours is held against the emulator before it is timed, on bands
// of rows of a large D, and all of it against that after. No CUDA in this
// header.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_GPU_GEMM_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_GPU_GEMM_HPP_

#include "conformance/peers/cublaslt.hpp"
#include "tools/zeroulp/bench/gpu/gpu.hpp"
#include "tools/zeroulp/bench/gpu/kernels.hpp"
#include "zeroulp/cuda_gemm.hpp"

namespace zeroulp::program {

/// The whole job: D m x n from A m x k and, for groups of rows, `count` B's
/// n x k; D of k_ranges is count times that.
struct gemm_size {
  std::ptrdiff_t m, n, k;
  std::ptrdiff_t count = 1;
  cuda::gemm_groups groups = cuda::gemm_groups::none;

  double work() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
  }
};

enum class gemm_player : std::uint8_t { ours, cublaslt, wgmma };

/// Who does the job, and how.
struct gemm_contestant {
  std::string name;
  gemm_player player;
  recipe by{};           ///< ours
  bool grouped = false;  ///< ours: in the row's groups; else one GEMM
  bool apart = false;    ///< ours: a launch a group
  conformance::peers::cublaslt_scales scales{};
  bool fast = false;         ///< cuBLASLt's fast accumulation
  bool halves = false;       ///< cuBLASLt on BF16 operands
  bool one_split = false;    ///< cuBLASLt: of all of K, reduced by nobody
  bool shows_first = false;  ///< the heuristic's first choice, too
  bool is_rival = false;     ///< the goals are against the fastest of these
  wgmma_loop loop{};         ///< of wgmma
};

/// The first contestant is ours. Goals are of its speed over the fastest
/// rival's; 0: none.
struct gemm_row {
  std::string name;
  gemm_size size;
  format output;
  bool adds;  ///< to what D has
  std::vector<gemm_contestant> contestants;
  double must = 0;
  double aim = 0;
  format element = e4m3;  ///< of ours; bf16: cuda::gemm_bf16, no groups
  bool across = false;    ///< BF16: A is k x m and B is k x n
};

std::vector<gemm_row> gemm_rows();

struct gemm_effort {
  int rounds;
  int launches;    ///< of a contestant at a time, at most
  double seconds;  ///< the same
  int algorithms;  ///< of cuBLASLt that are tried
};

struct gemm_result {
  struct entry {
    std::string name;
    std::string detail;           ///< cuBLASLt's algorithm
    std::vector<double> seconds;  ///< of a launch, a value a round
    bool is_rival = false;
  };
  std::vector<entry> entries;
  std::vector<std::string> absent;  ///< who could not do it, and why
  double clock_mhz = 0;
  double power_w = 0;
};

/// The current device.
class gemm_bench {
 public:
  gemm_bench();
  ~gemm_bench();
  gemm_bench(const gemm_bench&) = delete;
  gemm_bench& operator=(const gemm_bench&) = delete;

  /// Throws bench_mismatch if a bit of ours is wrong.
  gemm_result measure(const gemm_row& row, const gemm_effort& how);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_GPU_GEMM_HPP_
