// Defines the inputs of a GEMM: recipes written out from SPEC G10, valid random
// recipes, and operands, scales and shapes that try each clause.

#ifndef ZEROULP_CONFORMANCE_CASES_GEMM_CASES_HPP_
#define ZEROULP_CONFORMANCE_CASES_GEMM_CASES_HPP_

#include <string>
#include <vector>

#include "conformance/cases/placement.hpp"
#include "conformance/oracles/grid.hpp"
#include "zeroulp/core/gemm.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance {

struct specified_recipe {
  std::string name;
  recipe value;
};

/// The recipes that the core's table must have (G10, and T14's two).
std::vector<specified_recipe> specified_recipes();

/// Which numbers the codes of an operand are.
enum class code_family : std::uint8_t {
  normal,    ///< as a normal distribution has them
  positive,  ///< the same without signs: sums grow
  finite,    ///< any finite code
  sparse,    ///< mostly zeros of both signs
  huge,      ///< the largest ones
  special,   ///< normal, and a few codes of any kind
};
inline constexpr int code_families = 6;

/// Which numbers the scales are.
enum class scale_family : std::uint8_t {
  none,          ///< no scales: all 1
  power_of_two,  ///< near 1
  normal,        ///< any significand, near 1
  subnormal,
  huge,
  special,  ///< any FP32 bits: NaN, Inf, 0, negative
};
inline constexpr int scale_families = 6;

/// A GEMM to be. Scale grids without rows: that operand has none.
struct gemm_case {
  recipe r;
  format fa;
  format fb;
  oracle::grid a;
  oracle::grid b;
  oracle::grid sa;
  oracle::grid sb;
  oracle::grid c;
  placement layout = placement::dense;

  std::ptrdiff_t m() const { return a.rows; }
  std::ptrdiff_t n() const { return b.rows; }
  std::ptrdiff_t k() const { return a.cols; }
};

struct gemm_shape {
  std::ptrdiff_t m;
  std::ptrdiff_t n;
  std::ptrdiff_t k;
};

/// A code of `f`; finite unless the family is special.
std::uint32_t make_code(format f, code_family family, counter_rng& rng);
/// FP32 bits.
std::uint32_t make_scale_bits(scale_family family, counter_rng& rng);

/// A random recipe that G2 allows, and operand formats that go with it.
struct recipe_choice {
  recipe r;
  format fa;
  format fb;
};
recipe_choice make_recipe(counter_rng& rng);

/// Fills operands, scales and C.
gemm_case make_gemm_case(const recipe_choice& how, gemm_shape shape,
                         code_family codes, scale_family scales,
                         counter_rng& rng);

/// Ragged shapes: most are small, some cross an edge of 128 rows or columns.
gemm_shape make_shape(counter_rng& rng);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CASES_GEMM_CASES_HPP_
