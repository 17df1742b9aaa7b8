// Defines `identify_block_gemm`: which GEMM with block scales turns these
// operands into these results.
//
//   (A, B, bytes of scales, C, D) -> the class that gives every bit, or nothing
//
// The grid: how the bytes are read x what a step aligns x products a step x
// fraction bits x floors x how sums are stored x the order of the scales of the
// second level x epilogues. Members are tried on a few outputs, then those that
// gave these on all of D, as far as there is time. Source: SPEC clauses T17 to
// T20, G14.

#ifndef ZEROULP_FUZZ_IDENTIFY_BLOCKS_BLOCK_GEMM_HPP_
#define ZEROULP_FUZZ_IDENTIFY_BLOCKS_BLOCK_GEMM_HPP_

#include <optional>
#include <string>
#include <vector>

#include "fuzz/identify/gemm.hpp"

namespace zeroulp::fuzz {

/// The scales of an operand's second level: FP32 bits, 1 x 1 or a column.
struct second_evidence {
  std::optional<oracle::grid> a, b;
  std::string a_name, b_name;
};

/// Returns true iff both operands of `e` have a byte for every 16 or 32
/// elements of K.
bool has_block_scales(const gemm_evidence& e);

/// The most products that are computed for members that gave the first outputs.
inline constexpr double usual_block_products = 4e8;

/// Nothing but every bit looked at counts as near, and `how` is not set. It
/// tells if no more than half of all definitions fit; chance is not measured.
struct block_gemm_answer : gemm_answer {
  /// The named recipe that `best` and `first` are of, where none is near.
  std::string nearest;
};

/// Requires has_block_scales(e). Throws input_error if shapes do not fit.
block_gemm_answer identify_block_gemm(
    const gemm_evidence& e, const second_evidence& second,
    double most_products = usual_block_products);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_BLOCKS_BLOCK_GEMM_HPP_
