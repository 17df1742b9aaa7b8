// Defines `gemm_blocks`: D divided into blocks, and the engine's results of a
// recipe for each. Internal.

#ifndef ZEROULP_FUZZ_IDENTIFY_GEMM_BLOCKS_HPP_
#define ZEROULP_FUZZ_IDENTIFY_GEMM_BLOCKS_HPP_

#include <vector>

#include "fuzz/identify/gemm_grid.hpp"
#include "zeroulp/engine.hpp"

namespace zeroulp::fuzz {

// A block is one tile of the engine, so small that the engine's functions start
// no threads. Blocks, and groups of rows that share a scale, are powers of two,
// so that one divides the other.
inline constexpr std::ptrdiff_t block_rows = 32;
inline constexpr std::ptrdiff_t block_cols = 128;

/// Outputs [row, row + rows) x [col, col + cols) of D.
struct output_block {
  std::ptrdiff_t row;
  std::ptrdiff_t col;
  std::ptrdiff_t rows;
  std::ptrdiff_t cols;

  std::size_t size() const { return static_cast<std::size_t>(rows * cols); }
};

/// A recipe without its epilogue, and the scales that it reads.
struct gemm_definition {
  recipe r;
  const scale_cover* a;
  const scale_cover* b;
};

gemm_definition definition_of(const gemm_grid& grid, const gemm_chain& c,
                              const gemm_plan& p);

/// Returns true iff the engine falls back to the core for `acc`.
bool is_slow(format a, format b, const accumulator& acc);

/// Prepares `count` elements of K from `from` on, in parts of `height` rows.
std::vector<prepared_operand> prepared_rows(const operand_evidence& x,
                                            std::ptrdiff_t height,
                                            std::ptrdiff_t from,
                                            std::ptrdiff_t count);

/// An operand whose rows with a NaN or Inf are zeros: with those rows the
/// engine would fall back to the core.
struct masked_operand {
  operand_evidence codes;
  std::vector<bool> has_nan;  ///< by row: D is NaN there, whatever the recipe
  std::vector<bool> has_infinity;  ///< and no NaN
};

class gemm_blocks {
 public:
  explicit gemm_blocks(const gemm_evidence& e);

  /// Every block once, in a fixed order without pattern.
  const std::vector<output_block>& all() const { return all_; }
  const operand_evidence& a() const { return a_.codes; }
  const operand_evidence& b() const { return b_.codes; }

  /// The FP32 sums of a block of the masked operands, row by row.
  std::vector<std::uint32_t> sums(const gemm_definition& how,
                                  const output_block& at) const;

  /// Computes the sums of rows and columns with Inf, by the core.
  void add_infinite(const gemm_definition& how, const output_block& at,
                    std::vector<std::uint32_t>& sums) const;

  /// Returns D of a block from its sums: SPEC G8.
  std::vector<std::uint32_t> finished(
      epilogue end, const output_block& at,
      const std::vector<std::uint32_t>& sums) const;

 private:
  template <class Which>
  void sum_by_core(const gemm_definition& how, const output_block& at,
                   Which which, std::vector<std::uint32_t>& sums) const;

  const gemm_evidence& e_;
  masked_operand a_;
  masked_operand b_;
  std::vector<prepared_operand> rows_;  // of A, block_rows each
  std::vector<prepared_operand> cols_;  // of B, block_cols each
  std::vector<output_block> all_;
};

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_GEMM_BLOCKS_HPP_
