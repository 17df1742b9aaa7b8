// Defines the question of `zeroulp study --real DIR`: what accumulation costs
// beside quantization on the operands of real products.

#ifndef ZEROULP_TOOLS_ZEROULP_STUDY_REAL_HPP_
#define ZEROULP_TOOLS_ZEROULP_STUDY_REAL_HPP_

#include <string>

#include "tools/study/error/questions.hpp"

namespace zeroulp::program {

/// A row for each product that DIR/products.json names, in order:
///
///   [{"name": "layer0.up wgrad", "a": "dyt.npy", "b": "xt.npy"}, ...]
///
/// D = A B^T; files are matrices of BF16 numbers as uint16, rows of K elements,
/// in DIR. capture_linears.py writes such a folder. Throws input_error.
study::question question_of_products(const std::string& folder);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_STUDY_REAL_HPP_
