// Defines `mechanism`: everything that a tensor core may do with one
// instruction's operands, as data: a superset of the paths of the SPEC.
//
//   order        which products each internal step takes
//   acc          how a step aligns, cuts, sums and converts (accumulate.hpp)
//   joins        where c comes in
//   zero rules   what subnormals, zeros and overflow become
//
// Source: SPEC clauses T1 to T11. Left out: block scales; trees of sums.

#ifndef ZEROULP_FUZZ_PROBE_MECHANISM_HPP_
#define ZEROULP_FUZZ_PROBE_MECHANISM_HPP_

#include <string>
#include <vector>

#include "conformance/cases/step_cases.hpp"
#include "zeroulp/core/path.hpp"

namespace zeroulp::fuzz {

using conformance::step_case;

/// Of products of an instruction.
inline constexpr int longest_instruction = 128;

/// The internal steps of an instruction. Product k belongs to step
/// (k / chunk) mod steps; `reversed` steps run from the last to the first.
struct grouping {
  int chunk = 0;  ///< at least 1
  int steps = 1;
  bool reversed = false;

  constexpr int step_of(int k) const {
    const int step = k / chunk % steps;
    return reversed ? steps - 1 - step : step;
  }
  friend constexpr bool operator==(const grouping&, const grouping&) = default;
};

/// Where c comes in.
enum class joins : std::uint8_t {
  first_step,  ///< one more term of the first step
  every_step,  ///< each step's converted sum is added to the result so far
  the_end,     ///< added to the result of all steps, to nearest
  sums,        ///< so are the results of the steps, which each start from +0
};

/// Whether c is added to what the steps have made without it.
constexpr bool is_at_the_end(joins j) {
  return j == joins::the_end || j == joins::sums;
}

struct mechanism {
  format a;
  format b;
  int length;  ///< products of an instruction
  grouping order;
  fuzz::joins joins = joins::first_step;
  /// Its length is not used; nor is `c`, which `joins` says.
  accumulator acc;
  /// What operands become first, exactly; their own format, or a wider one, in
  /// which subnormals have places of their own.
  format operand_a;
  format operand_b;
  bool zeros_align = false;       ///< a zero's place counts for the largest
  bool flushes_operands = false;  ///< subnormal operands count as zeros
  bool flushes_c = false;         ///< a subnormal c counts as zero
  bool flushes_results = false;   ///< a subnormal result is +0
  bool negative_zero = false;     ///< terms that are all -0 give -0
  bool saturates = false;         ///< the largest number in place of overflow
  std::uint64_t nan = 0;          ///< the code of every NaN

  friend constexpr bool operator==(const mechanism&,
                                   const mechanism&) = default;
};

/// The mechanism of a path for an instruction of `length` products.
mechanism mechanism_of(const path& p, int length);

/// The products of `s` that are not +0 * +0, by index.
std::vector<int> used_products(const step_case& s);

/// Returns D. `s` has m.length products, of which `used` are used_products().
std::uint64_t evaluate(const mechanism& m, const step_case& s,
                       const std::vector<int>& used);
std::uint64_t evaluate(const mechanism& m, const step_case& s);

/// The least of the largest places of its steps: no floor up to here changes D.
int lowest_place(const mechanism& m, const step_case& s,
                 const std::vector<int>& used);

/// E.g. "32 products in one step", "2 steps: k mod 4 in {0, 1}, then the rest".
std::string describe(const grouping& g, int length);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_PROBE_MECHANISM_HPP_
