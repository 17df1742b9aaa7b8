// Defines the recipe of a GEMM as a library computed it, by a record of what it
// did with this shape: `zeroulp identify cublaslt --record` makes them.

#ifndef ZEROULP_TOOLS_ZEROULP_GEMM_LIKE_HPP_
#define ZEROULP_TOOLS_ZEROULP_GEMM_LIKE_HPP_

#include <string>
#include <vector>

#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

/// A GEMM, in the words of a record's rows.
struct like_problem {
  std::ptrdiff_t m, n, k;
  format a, b;
  format output;
  std::string scaling;  ///< "tensor.precise", "1x128_128x128", ...
};

struct like_answer {
  std::string recipe;  ///< a name
  int splits;
  std::string source;  ///< library, device, algorithm
};

/// `like` is LIBRARY-VERSION:GPU, of a record that this program carries
/// (cublaslt-13.1:h100), or a record's file. Throws input_error: no such
/// record, no such row, or one whose bits no recipe gives.
like_answer find_like(const std::string& like, const like_problem& p);

/// The texts of the records that this program carries. Made by CMake.
const std::vector<const char*>& carried_records();

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_GEMM_LIKE_HPP_
