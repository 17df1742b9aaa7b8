// Defines one problem of cuBLASLt on the device: random operands, its results
// by an algorithm, and those of recipes by the emulator.

#ifndef ZEROULP_CONFORMANCE_DEVICE_PEERS_CUBLASLT_PROBLEM_CUH_
#define ZEROULP_CONFORMANCE_DEVICE_PEERS_CUBLASLT_PROBLEM_CUH_

#include <algorithm>

#include "conformance/device/support/output_differences.hpp"
#include "conformance/device/support/peer_operand.hpp"
#include "conformance/peers/cublaslt_rule.hpp"

namespace zeroulp::conformance::device {

class cublaslt_case {
 public:
  /// Operands of BF16 or FP16 have no scales, and others have. The first `rows`
  /// of D are compared. Throws cublaslt_error if cuBLASLt refuses the problem.
  cublaslt_case(const peers::cublaslt_problem& p, family of, std::uint64_t seed,
                std::ptrdiff_t rows)
      : p_(p),
        rows_(std::min(p.m, rows)),
        a_(operand(p.a, p.m, side::a, of, seed)),
        b_(operand(p.b, p.n, side::b, of, seed + 2)),
        d_(static_cast<std::size_t>(p.m * p.n) * bytes()),
        want_(outputs() * bytes()),
        other_(outputs() * bytes()),
        gemm_(p) {}

  std::size_t outputs() const { return static_cast<std::size_t>(rows_ * p_.n); }
  const peers::cublaslt_problem& problem() const { return p_; }
  std::vector<peers::cublaslt_algorithm> algorithms(int most = 64) const {
    return gemm_.algorithms(most);
  }

  void run(const peers::cublaslt_algorithm& by, void* workspace) {
    require(cudaMemset(d_.data(), 0xa5,
                       static_cast<std::size_t>(p_.m * p_.n) * bytes()));
    const auto& a = a_.operand();
    const auto& b = b_.operand();
    gemm_.run(by, {a.codes, a.scales.data, b.codes, b.scales.data, d_.data()},
              workspace, nullptr);
    finish_kernel();
  }

  /// Tallies the outputs of the last run that are not those of the recipe.
  peers::output_tally compare(const recipe& r) {
    if (expected_ != r.splits) {
      emulate(r, rows_, want_);
      expected_ = r.splits;
    }
    output_differences differences;
    differences.add(d_.data(), static_cast<int>(bytes()), want_.data(), rows_,
                    p_.n);
    return differences.found();
  }

  /// Whether some of the first outputs that `compare` expected are not those of
  /// another recipe.
  bool tells_apart(const recipe& other) {
    const auto rows = std::min<std::ptrdiff_t>(rows_, 32);
    emulate(other, rows, other_);
    output_differences differences;
    differences.add(want_.data(), static_cast<int>(bytes()), other_.data(),
                    rows, p_.n);
    return differences.found().differing > 0;
  }

 private:
  std::size_t bytes() const { return p_.output == fp32 ? 4 : 2; }

  /// How the operand's scales lie: as cuBLASLt reads them.
  random_operand operand(format f, std::ptrdiff_t rows, side at, family of,
                         std::uint64_t seed) const {
    using peers::cublaslt_scales;
    const bool block = p_.scales == cublaslt_scales::blocks && at == side::b;
    const bool tiles = p_.scales == cublaslt_scales::blocks ||
                       p_.scales == cublaslt_scales::columns;
    const granularity g = block   ? block_128x128
                          : tiles ? tile_1x128
                                  : per_tensor;
    return {f, rows, p_.k, g, p_.scales != cublaslt_scales::none, at, of, seed};
  }

  void emulate(const recipe& r, std::ptrdiff_t rows,
               const device_buffer<unsigned char>& to) const {
    cuda::operand a = a_.operand();
    a.rows = rows;
    cuda::emulate_gemm(r, a, b_.operand(), {}, {to.data(), rows, p_.n});
    finish_kernel();
  }

  peers::cublaslt_problem p_;
  std::ptrdiff_t rows_;
  random_operand a_, b_;
  device_buffer<unsigned char> d_, want_, other_;
  int expected_ = 0;  ///< the splits that `want_` has; 0: nothing yet
  peers::cublaslt_gemm gemm_;
};

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_PEERS_CUBLASLT_PROBLEM_CUH_
