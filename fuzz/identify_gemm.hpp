// Defines `identify_gemm`: which recipe of a grid turns these operands into
// these results.
//
//   (A, B, scales, C, D) -> the class that gives every bit, or the nearest
//
// The grid: accumulators x intervals x updates (one_then_other with either
// scale first) x splits of K x what the scales cover x epilogues. Every member
// is tried on a few outputs spread over D; those that do best there, on all of
// it. The nearest is the one among them with the fewest wrong outputs; where no
// output tried agrees with any member, it is an arbitrary one. Source: SPEC
// clauses T12 to T14, G1 to G8.

#ifndef ZEROULP_FUZZ_IDENTIFY_GEMM_HPP_
#define ZEROULP_FUZZ_IDENTIFY_GEMM_HPP_

#include <optional>
#include <string>
#include <vector>

#include "conformance/oracles/grid.hpp"
#include "fuzz/identify_class.hpp"
#include "zeroulp/core/convention.hpp"

namespace zeroulp::fuzz {

/// One operand: mn x k codes, and FP32 scales (bits) if it has any.
struct operand_evidence {
  format f = e4m3;
  oracle::grid codes;
  std::optional<oracle::grid> scales;
  std::string codes_name;  ///< what errors call it: a file
  std::string scales_name;
};

/// What an unknown GEMM took and gave.
struct gemm_evidence {
  operand_evidence a{e4m3, {}, {}, "A", "scales of A"};
  operand_evidence b{e4m3, {}, {}, "B", "scales of B"};
  std::optional<oracle::grid> c;  ///< FP32 bits; absent: zeros
  oracle::grid d;                 ///< codes of `output`
  format output = fp32;           ///< or bf16
  std::string c_name = "C";
  std::string d_name = "D";
};

struct gemm_answer {
  bool exact = false;  ///< every bit
  std::uint64_t tried = 0;
  definition_class found;
  recipe how;          ///< one of the class
  bool b_scale_first;  ///< one_then_other applies the scale of B to p
  std::uint64_t outputs_differ = 0;
  std::optional<wrong_word> first;
};

/// Throws input_error if shapes do not fit each other, or there are no outputs.
gemm_answer identify_gemm(const gemm_evidence& e);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_GEMM_HPP_
