// Defines the paths that the step is checked on, written out from SPEC clauses
// T10 to T20 a second time, so that a wrong row of the core's table shows.

#ifndef ZEROULP_CONFORMANCE_CASES_STEP_PATHS_HPP_
#define ZEROULP_CONFORMANCE_CASES_STEP_PATHS_HPP_

#include <string>
#include <vector>

#include "zeroulp/core/block_scaled.hpp"

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

struct named_block_scaled {
  std::string name;
  block_scaled_path value;
};

/// T20's rows, those of the first GPU before those of the second.
std::vector<named_block_scaled> specified_block_scaled_paths();

/// Accumulators that are no row: F from 8 to 34, other lengths, outputs and
/// roundings, and combinations of what-ifs.
std::vector<named_path> what_if_paths();

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CASES_STEP_PATHS_HPP_
