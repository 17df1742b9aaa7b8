// Defines `identify_gemm`: which recipe of a grid turns these operands into
// these results.
//
//   (A, B, scales, C, D) -> the class that gives every bit, or the nearest,
//                           or nothing
//
// The grid: accumulators x intervals x updates x splits of K x what the scales
// cover x epilogues. Every member is tried on the outputs that tell most. A
// member that gives these is tried on block after block of D until it fails:
// one that gives every bit is always found. The nearest member fails least
// often. It counts only if it is far above chance (chance.hpp): what the exact
// sum, and an FP32 sum in another order, would get right. Source: SPEC clauses
// T12 to T14, G1 to G8.

#ifndef ZEROULP_FUZZ_IDENTIFY_GEMM_HPP_
#define ZEROULP_FUZZ_IDENTIFY_GEMM_HPP_

#include <optional>
#include <string>
#include <vector>

#include "conformance/oracles/grid.hpp"
#include "fuzz/identify/chance.hpp"
#include "fuzz/identify/class.hpp"
#include "fuzz/identify/progress.hpp"
#include "fuzz/identify/scales.hpp"
#include "zeroulp/core/convention.hpp"

namespace zeroulp::fuzz {

/// One operand: mn x k codes, and a file of scales if it has any.
struct operand_evidence {
  format f = e4m3;
  oracle::grid codes;
  std::optional<oracle::grid> scales;
  std::string codes_name;  ///< name in errors: a file
  std::string scales_name;
  scale_words words = scale_words::numbers;  ///< of the scales
};

/// The operands and results of an unknown GEMM.
struct gemm_evidence {
  operand_evidence a{e4m3, {}, {}, "A", "scales of A"};
  operand_evidence b{e4m3, {}, {}, "B", "scales of B"};
  std::optional<oracle::grid> c;  ///< FP32 bits; absent: zeros
  oracle::grid d;                 ///< codes of `output`
  format output = fp32;           ///< or bf16
  std::string c_name = "C";
  std::string d_name = "D";
};

/// How near D is to the exact sum. This decides whether D counts as an FP32 sum
/// of FP8 products that no Hopper FP8 tensor core made.
struct fp32_evidence {
  agreement exact;   ///< D with the exact sum, rounded once to the output
  agreement hopper;  ///< the most that Hopper's FP8 accumulator gets of these
};

struct gemm_answer {
  bool exact = false;    ///< every bit of D
  bool tells = false;    ///< far above chance
  bool is_near = false;  ///< every bit looked at, or far above chance: else
                         ///< none is found
  std::uint64_t tried = 0;
  std::vector<fitting_field> grid;        ///< every field with all values tried
  agreement best;                         ///< of D, as far as it was looked at
  agreement chance;                       ///< the most that unrelated sums get
  std::optional<fp32_evidence> fp32_sum;  ///< if D is such a sum
  double seconds = 0;                     ///< of the search
  // The rest is set if `is_near`.
  definition_class found;
  recipe how{};  ///< one of the class
  std::optional<wrong_word> first;
};

/// Where D tells little, thousands of definitions give all of it. The products
/// computed for more than a few of them are at most so many. Beyond that, some
/// of D is not examined, and `exact` is false.
inline constexpr double usual_products = 1e11;

/// Throws input_error if shapes do not fit each other, or there are no outputs.
gemm_answer identify_gemm(const gemm_evidence& e,
                          const identify_progress& tell = {},
                          double most_products = usual_products);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_GEMM_HPP_
