// Defines one problem of cuBLASLt on the device: random operands, its results
// by an algorithm, and those of recipes by the emulator.

#ifndef ZEROULP_CONFORMANCE_DEVICE_PEERS_CUBLASLT_PROBLEM_CUH_
#define ZEROULP_CONFORMANCE_DEVICE_PEERS_CUBLASLT_PROBLEM_CUH_

#include <algorithm>

#include "conformance/device/peers/peer_operand.hpp"
#include "conformance/device/support/output_differences.hpp"
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
        c_(p.adds ? static_cast<std::size_t>(p.m * p.n) : 1),
        want_(outputs() * bytes()),
        other_(outputs() * bytes()),
        gemm_(p) {
    if (p.adds) fill_addend(seed + 4);
  }

  std::size_t outputs() const { return static_cast<std::size_t>(rows_ * p_.n); }
  const peers::cublaslt_problem& problem() const { return p_; }
  std::vector<peers::cublaslt_algorithm> algorithms(int most = 64) const {
    return gemm_.algorithms(most);
  }

  void run(const peers::cublaslt_algorithm& by, void* workspace) {
    const auto all = static_cast<std::size_t>(p_.m * p_.n) * bytes();
    if (p_.adds) {
      require(cudaMemcpy(d_.data(), c_.data(), all, cudaMemcpyDeviceToDevice));
    } else {
      require(cudaMemset(d_.data(), 0xa5, all));
    }
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
    return differ(want_, other, std::min(rows_, ceil_div(8192, p_.n)));
  }

  /// Whether the outputs of the last run are those of this recipe.
  bool follows(const recipe& other) { return !differ(d_, other, rows_); }

 private:
  std::size_t bytes() const { return p_.output == fp32 ? 4 : 2; }

  /// How the operand's scales lie: as cuBLASLt reads them.
  random_operand operand(format f, std::ptrdiff_t rows, side at, family of,
                         std::uint64_t seed) const {
    const granularity g = peers::granularity_of(p_.scales, at == side::a);
    return {f,  rows, p_.k, g, p_.scales != peers::cublaslt_scales::none,
            at, of,   seed};
  }

  /// C, FP32: numbers in [2^-4, 2^4).
  void fill_addend(std::uint64_t seed) {
    const matrix_view<std::uint32_t> c(c_.data(), p_.m, p_.n);
    fill_scales<<<132 * 16, 256>>>(c, seed);
    finish_kernel();
  }

  /// Of the first rows.
  bool differ(const device_buffer<unsigned char>& from, const recipe& other,
              std::ptrdiff_t rows) {
    emulate(other, rows, other_);
    output_differences differences;
    differences.add(from.data(), static_cast<int>(bytes()), other_.data(), rows,
                    p_.n);
    return differences.found().differing > 0;
  }

  void emulate(const recipe& r, std::ptrdiff_t rows,
               const device_buffer<unsigned char>& to) const {
    cuda::operand a = a_.operand();
    a.rows = rows;
    if (a.scales.rows > 1) {
      a.scales.rows = ceil_div(rows, peers::granularity_of(p_.scales, true).mn);
    }
    const cuda::const_matrix c = p_.adds
                                     ? cuda::const_matrix{c_.data(), rows, p_.n}
                                     : cuda::const_matrix{};
    cuda::emulate_gemm(r, a, b_.operand(), c, {to.data(), rows, p_.n});
    finish_kernel();
  }

  peers::cublaslt_problem p_;
  std::ptrdiff_t rows_;
  random_operand a_, b_;
  device_buffer<unsigned char> d_;
  device_buffer<std::uint32_t> c_;
  device_buffer<unsigned char> want_, other_;
  int expected_ = 0;  ///< the splits that `want_` has; 0: nothing yet
  peers::cublaslt_gemm gemm_;
};

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_PEERS_CUBLASLT_PROBLEM_CUH_
