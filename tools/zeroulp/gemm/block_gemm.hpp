// Defines gemm by the recipes with block scales: MXFP8, MXFP6, MXFP4, NVFP4.

#ifndef ZEROULP_TOOLS_ZEROULP_GEMM_BLOCK_GEMM_HPP_
#define ZEROULP_TOOLS_ZEROULP_GEMM_BLOCK_GEMM_HPP_

#include <string>

namespace zeroulp::program {

struct block_gemm_request {
  std::string a;  ///< a directory with codes and scales, or a matrix (.npy)
  std::string b;
  std::string recipe;
  std::string convention;  ///< how matrices are quantized; empty: the recipe's
  std::string second;
  std::string dtype;
  std::string c;
  std::string output;
  std::string out;
  bool as_json = false;
};

/// Returns true iff `text` names a recipe with block scales.
bool is_block_recipe(const std::string& text);

void run_block_gemm(const block_gemm_request& q);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_GEMM_BLOCK_GEMM_HPP_
