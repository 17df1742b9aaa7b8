// Defines what `zeroulp measure --a X.npy --b W.npy` measures: a user's
// matrices in E4M3, by the scales that each promotion interval allows.

#ifndef ZEROULP_TOOLS_ZEROULP_MEASURE_MATRICES_HPP_
#define ZEROULP_TOOLS_ZEROULP_MEASURE_MATRICES_HPP_

#include <string>
#include <vector>

#include "tools/study/error/study.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

/// What one scale covers.
enum class matrix_scales : std::uint8_t {
  /// 1x128 of A and 128x128 of B, where partial sums are promoted within 128
  /// of K; a scale that changes along K cannot be applied later, so that
  /// longer intervals have a scale for each row.
  groups,
  rows,    ///< a row of A, a row of B
  tensor,  ///< all
  none,    ///< no scales: the matrices are encoded as they are
};

struct matrices_request {
  std::string a, b;
  std::string dtype;
  matrix_scales scales = matrix_scales::groups;
};

struct measured_matrices {
  std::vector<study_cell> cells;  ///< one an interval, in their order
  std::ptrdiff_t k;
  std::string text;  ///< what was measured, and how it was quantized
  json as_json;      ///< the same
};

/// Reads "groups", "rows", "tensor" or "none". Throws input_error.
matrix_scales parse_matrix_scales(const std::string& text);

/// Throws input_error, before the work.
measured_matrices measure_matrices(const matrices_request& q,
                                   const std::vector<int>& intervals,
                                   const study_progress& progress);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_MEASURE_MATRICES_HPP_
