// Defines NVIDIA's cuBLASLt as a peer: D = A B^T as it computes it, by any of
// the algorithms that it offers. The library is opened at run time; nothing is
// linked to it, and where it is not, `cublaslt_absence` says why.
//
//   A m x k, B n x k, D m x n, row-major without gaps: to cuBLASLt, whose
//   matrices are column-major, D^T = op(B) A^T with op the transpose.
//
// Source: cublasLt.h of CUDA 13. No CUDA in this header.

#ifndef ZEROULP_CONFORMANCE_PEERS_CUBLASLT_HPP_
#define ZEROULP_CONFORMANCE_PEERS_CUBLASLT_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "zeroulp/core/convention.hpp"

// cudaStream_t is a pointer to this.
struct CUstream_st;

namespace zeroulp::conformance::peers {

/// Why there is no cuBLASLt to call, one line; empty if there is one. Looked
/// for: the file that ZEROULP_CUBLASLT names or, without it, what the loader
/// finds, /usr/local/cuda*/lib64, nvidia/{cu13,cublas}/lib of Python's
/// packages.
std::string cublaslt_absence();
/// "13.1.0"; empty if there is none.
std::string cublaslt_version();

/// cuBLASLt was asked and failed.
class cublaslt_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Which FP32 scales A and B have, in device memory.
enum class cublaslt_scales : std::uint8_t {
  none,
  matrix,      ///< one for A, one for B
  blocks,      ///< 1x128 of A, transposed; 128x128 of B, scale_layout::blk128
  columns,     ///< 1x128 of A and of B, transposed without gaps
  block_rows,  ///< 128x128 of A, 1x128 of B
  rows,        ///< one for each row of A and of B
};

inline constexpr granularity per_row{1, 0};

/// What one scale of A, or of B, covers.
constexpr granularity granularity_of(cublaslt_scales s, bool is_a) {
  switch (s) {
    case cublaslt_scales::blocks:
      return is_a ? tile_1x128 : block_128x128;
    case cublaslt_scales::block_rows:
      return is_a ? block_128x128 : tile_1x128;
    case cublaslt_scales::columns:
      return tile_1x128;
    case cublaslt_scales::rows:
      return per_row;
    case cublaslt_scales::matrix:
    case cublaslt_scales::none:
      break;
  }
  return per_tensor;
}

struct cublaslt_problem {
  std::ptrdiff_t m, n, k;
  format a, b;    ///< e4m3 or e5m2, or both bf16 or fp16
  format output;  ///< bf16 or fp32
  cublaslt_scales scales;
  bool fast_accumulation;
  bool adds;  ///< to what D has
};

/// Numbers are those of cublasLt.h's enumerations.
struct cublaslt_algorithm {
  int id = 0;
  int tile = 0, stages = 0, inner_shape = 0, cluster = 0;
  int splits = 1, reduction = 0;
  int swizzle = 0, option = 0;
  std::size_t workspace = 0;  ///< bytes
  std::array<std::uint64_t, 8> opaque{};

  /// "algorithm 66, tile 20, stages 36, cluster 3, splits 1, option 0".
  std::string text() const;
};

struct cublaslt_operands {
  const void* a;
  const void* a_scales;
  const void* b;
  const void* b_scales;
  void* d;
};

/// One problem, on the device that is current.
class cublaslt_gemm {
 public:
  static constexpr std::size_t workspace_bytes = std::size_t{64} << 20;

  /// Throws cublaslt_error if cuBLASLt is absent or fails.
  explicit cublaslt_gemm(const cublaslt_problem& p);
  ~cublaslt_gemm();
  cublaslt_gemm(cublaslt_gemm&&) noexcept;
  cublaslt_gemm& operator=(cublaslt_gemm&&) noexcept;

  /// What its heuristic offers, the best by its own estimate first; at most
  /// `most`. None: it does not serve this problem.
  std::vector<cublaslt_algorithm> algorithms(int most = 64) const;

  /// `workspace` is of workspace_bytes; all is aligned to 256 bytes.
  void run(const cublaslt_algorithm& by, const cublaslt_operands& with,
           void* workspace, CUstream_st* stream);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace zeroulp::conformance::peers

#endif  // ZEROULP_CONFORMANCE_PEERS_CUBLASLT_HPP_
