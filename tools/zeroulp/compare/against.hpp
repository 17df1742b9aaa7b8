// Defines `compare --against`: a kernel's result, its inputs and the convention
// or recipe that it claims.

#ifndef ZEROULP_TOOLS_ZEROULP_COMPARE_AGAINST_HPP_
#define ZEROULP_TOOLS_ZEROULP_COMPARE_AGAINST_HPP_

#include <string>
#include <vector>

#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

struct against_request {
  std::string result;  ///< codes or D, .npy; or a tensor directory
  std::string claim;   ///< a convention or a recipe
  // Of a quantizer.
  std::string input;
  std::string scales;
  std::string format;
  std::string group;
  std::string scale;
  std::string dtype;  ///< bf16: the input or D
  // Of a GEMM: tensor directories, and C.
  std::string a;
  std::string b;
  std::string c;
  std::vector<std::string> ignored;
  bool as_json = false;
};

/// Prints how the result differs and what may have made it so; status 1 if it
/// does.
void run_against(const against_request& q, outcome& out);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_COMPARE_AGAINST_HPP_
