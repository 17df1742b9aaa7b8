// Defines cuBLASLt's D = A B^T where both BF16 operands lie across K, as
// gradients of weights have them: A k x m, B k x n, both row-major without
// gaps. To cuBLASLt, whose matrices are column-major, B is n x k and A m x k:
// it computes D^T = B A^T. No CUDA in this header.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_GPU_CUBLASLT_ACROSS_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_GPU_CUBLASLT_ACROSS_HPP_

#include "conformance/peers/cublaslt.hpp"

namespace zeroulp::program {

/// As conformance::peers::cublaslt_gemm, which has operands along K.
class cublaslt_across {
 public:
  /// Throws cublaslt_error if cuBLASLt is absent or fails; `output` is fp32 or
  /// bf16.
  cublaslt_across(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k,
                  format output);
  ~cublaslt_across();
  cublaslt_across(const cublaslt_across&) = delete;
  cublaslt_across& operator=(const cublaslt_across&) = delete;

  std::vector<conformance::peers::cublaslt_algorithm> algorithms(
      int most) const;
  void run(const conformance::peers::cublaslt_algorithm& by,
           const conformance::peers::cublaslt_operands& with, void* workspace,
           CUstream_st* stream);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_GPU_CUBLASLT_ACROSS_HPP_
