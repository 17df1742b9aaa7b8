// Defines the paths that the step is checked on, written out from SPEC clauses
// T10 to T16 a second time, so that a wrong row of the core's table shows.

#ifndef ZEROULP_CONFORMANCE_CASES_STEP_PATHS_HPP_
#define ZEROULP_CONFORMANCE_CASES_STEP_PATHS_HPP_

#include <string>
#include <vector>

#include "zeroulp/core/path.hpp"

namespace zeroulp::conformance {

struct named_path {
  std::string name;
  path value;
};

/// A row of T12 to T16: a family of paths.
struct specified_row {
  const char* name;
  operands takes;
  accumulator acc;
  zeroulp::lowering lowering;
};

/// The rows that the table of the core must have, in any order.
std::vector<specified_row> specified_rows();

/// The accumulator of whatif.f`fraction_bits`, as T13 has it.
accumulator specified_fraction(int fraction_bits);

/// Every row with every operand pair that it takes. Instructions that do the
/// same are one path, under the first name.
std::vector<named_path> specified_paths();

/// Accumulators that are no row: F from 8 to 34, other lengths, outputs and
/// roundings, and combinations of what-ifs.
std::vector<named_path> what_if_paths();

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CASES_STEP_PATHS_HPP_
