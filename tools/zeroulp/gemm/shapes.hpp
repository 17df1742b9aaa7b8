// Defines shapes of GEMMs in a file: a line each, M N K, or MxNxK; what follows
// a # is a comment.

#ifndef ZEROULP_TOOLS_ZEROULP_GEMM_SHAPES_HPP_
#define ZEROULP_TOOLS_ZEROULP_GEMM_SHAPES_HPP_

#include <cstddef>
#include <string>
#include <vector>

namespace zeroulp::program {

struct product_shape {
  std::ptrdiff_t m, n, k;
};

/// Throws input_error that names the file and the line.
std::vector<product_shape> read_shapes(const std::string& file);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_GEMM_SHAPES_HPP_
