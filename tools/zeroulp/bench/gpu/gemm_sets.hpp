// Defines the operands of a GEMM row in device memory: sets with the same
// contents, each with every form that a contestant takes. Needs CUDA's headers.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_GPU_GEMM_SETS_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_GPU_GEMM_SETS_HPP_

#include "tools/zeroulp/bench/gpu/gemm.hpp"
#include "tools/zeroulp/bench/gpu/lab.hpp"

namespace zeroulp::program {

/// Rows of D, and of A, that have the same rows of B and elements of K.
struct gemm_band {
  std::ptrdiff_t d_row, a_row, b_row;
  std::ptrdiff_t rows;
  std::ptrdiff_t k_begin, k_end;
};

class gemm_sets {
 public:
  /// The sets together are more than twice the L2, without the forms that not
  /// every contestant takes.
  gemm_sets(gpu_lab& lab, const gemm_row& row);

  std::size_t count() const { return sets_.size(); }
  const std::vector<device_memory>& memory() const { return sets_; }
  std::size_t d_from() const { return layout_.at[form::result]; }
  std::size_t d_bytes() const { return operands_[form::result].bytes(); }
  void* d(std::size_t set) const { return at(set, form::result); }
  shape d_shape() const { return operands_[form::result].is; }

  /// The groups of the row, and where they stand; `grouped` or one GEMM.
  cuda::gemm_partition partition(bool grouped) const;
  std::vector<gemm_band> groups(bool grouped) const;

  cuda::operand a(std::size_t set, const recipe& r, const gemm_band& x) const;
  cuda::operand b(std::size_t set, const recipe& r, const gemm_band& x) const;
  /// The whole operands, for all groups or one GEMM.
  cuda::operand a(std::size_t set, const recipe& r) const;
  cuda::operand b(std::size_t set, const recipe& r, bool grouped) const;
  conformance::peers::cublaslt_operands for_cublaslt(
      std::size_t set, const gemm_contestant& c) const;
  /// A and B in BF16, m x k and n x k wherever K lies.
  matrix_view<const std::uint16_t> half_a(std::size_t set) const {
    return half(set, a16);
  }
  matrix_view<const std::uint16_t> half_b(std::size_t set) const {
    return half(set, b16);
  }

 private:
  enum form : std::size_t {
    a8,
    b8,
    a_tiles,
    b_blocks,
    b_tiles,
    a16,
    b16,
    result
  };
  cuda::operand b_part(std::size_t set, const recipe& r, const gemm_band& x,
                       std::ptrdiff_t rows) const;
  /// BF16 rows along K; of set 0 where they have to be turned.
  cuda::operand half_part(std::size_t set, form f, std::ptrdiff_t row,
                          std::ptrdiff_t rows) const;
  matrix_view<const std::uint16_t> half(std::size_t set, form f) const;
  void turn(gpu_lab& lab, form f);
  static std::vector<gpu_operand> operands_of(const gemm_row& row);
  void* at(std::size_t set, form f) const {
    return sets_[set].data() + layout_.at[f];
  }

  gemm_size size_;
  std::vector<gpu_operand> operands_;
  set_layout layout_;
  std::vector<device_memory> sets_;
  device_memory table_;
  format element_;
  bool across_;
  std::map<form, device_memory> turned_;  ///< BF16 of set 0, along K
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_GPU_GEMM_SETS_HPP_
