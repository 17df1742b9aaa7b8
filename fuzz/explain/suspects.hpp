// Defines suspects: the ways in which an implementation may have come to its
// result, each as a function that gives that result.

#ifndef ZEROULP_FUZZ_EXPLAIN_SUSPECTS_HPP_
#define ZEROULP_FUZZ_EXPLAIN_SUSPECTS_HPP_

#include <functional>
#include <string>
#include <vector>

#include "fuzz/cases/problem.hpp"

namespace zeroulp::fuzz {

enum class suspicion : std::uint8_t {
  definition,    ///< another convention, recipe or path
  displacement,  ///< the right numbers in the wrong place, or of another place
  fault,         ///< a deliberate fault of conformance/mutants
};

struct suspect {
  suspicion of = suspicion::fault;
  std::string name;
  std::string what;  ///< completes "the result is ..."
  /// Returns its outputs for a problem.
  std::function<outputs(const problem&)> answer;
  bool of_this_data = false;  ///< its answer is the same for any problem
};

/// Conventions, recipes, paths by the compiled library, where it has them.
std::vector<suspect> definitions(const problem& p);

std::vector<suspect> faults(const problem& p);

/// Operands read from a neighbour's place, a tail that is left out, a scale
/// that is not applied: of quantizers and GEMMs, by the compiled library.
std::vector<suspect> misreadings(const problem& p);

/// The claimed outputs in another order, as the given ones are: rows, columns
/// or pairs of them that are exchanged, a matrix that is transposed. Looks at
/// all elements.
std::vector<suspect> displacements(const outputs& claimed,
                                   const outputs& given);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_EXPLAIN_SUSPECTS_HPP_
