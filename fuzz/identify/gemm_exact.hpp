// Defines the exact sums of outputs, and FP32 sums of the dequantized products:
// identify_gemm measures recipes against them. Internal.

#ifndef ZEROULP_FUZZ_IDENTIFY_GEMM_EXACT_HPP_
#define ZEROULP_FUZZ_IDENTIFY_GEMM_EXACT_HPP_

#include <vector>

#include "fuzz/identify/gemm_blocks.hpp"

namespace zeroulp::fuzz {

/// How scales are read, and whether C is added.
struct gemm_reading {
  const scale_cover* a;
  const scale_cover* b;
  epilogue end;
};

/// Sums of one output; the roundings of FP64 are negligible beside FP32's.
struct exact_output {
  double sum = 0;     ///< of all products, with scales, and C; may be NaN
  double size = 0;    ///< of their magnitudes
  float lanes = 0;    ///< FP32 products summed in 16 FP32 lanes
  float in_turn = 0;  ///< one after the other
  float cut = 0;      ///< likewise, each sum cut
};

/// A block of D, row by row.
struct exact_block {
  output_block at;
  std::vector<exact_output> sums;
  std::vector<std::uint32_t> rounded;  ///< the exact sums, in D's format
};

/// The exact sums of D, or of as many blocks as are quickly done.
struct exact_part {
  gemm_reading as;
  std::vector<exact_block> blocks;
};

exact_part exact_part_of(const gemm_evidence& e, const gemm_grid& grid,
                         const gemm_blocks& blocks);

/// The numbers between these round to a code of `f`; they have the code's sign.
struct rounding_range {
  double from;
  double to;
};
rounding_range range_of(format f, std::uint32_t code);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_GEMM_EXACT_HPP_
