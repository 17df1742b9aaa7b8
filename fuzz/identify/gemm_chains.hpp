// Defines `gemm_chains`: the partial sums of a chain in a block, computed once
// for all plans that add them up. Where outputs tell little, thousands of plans
// give all of them, and most of these plans differ in what they add first.
// Internal.

#ifndef ZEROULP_FUZZ_IDENTIFY_GEMM_CHAINS_HPP_
#define ZEROULP_FUZZ_IDENTIFY_GEMM_CHAINS_HPP_

#include <map>
#include <vector>

#include "fuzz/identify/gemm_blocks.hpp"

namespace zeroulp::fuzz {

class gemm_chains {
 public:
  explicit gemm_chains(const gemm_blocks& blocks) : blocks_(blocks) {}

  /// Returns true iff a plan's sums are quickly added from partial sums.
  bool serves(const gemm_definition& how, std::ptrdiff_t width) const;

  /// Cuts the operands into parts of `width` elements of K. Before partials().
  void prepare(std::ptrdiff_t width);

  /// The FP32 sums of the chain over each part of K: by part, row by row.
  std::vector<std::vector<float>> partials(const accumulator& acc,
                                           std::ptrdiff_t width,
                                           const output_block& at) const;

  /// The result of gemm_blocks::sums, made from the partial sums.
  std::vector<std::uint32_t> sums(
      const gemm_definition& how, std::ptrdiff_t width, const output_block& at,
      const std::vector<std::vector<float>>& partials) const;

 private:
  using parts = std::vector<std::vector<prepared_operand>>;  // by K, by rows
  struct cut_operands {
    parts a;
    parts b;
  };
  const gemm_blocks& blocks_;
  std::map<std::ptrdiff_t, cut_operands> by_width_;
};

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_GEMM_CHAINS_HPP_
