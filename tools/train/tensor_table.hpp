// Defines the tensor table of an arm: how each tensor of a step is stored, what
// it is made from, what reads it. The report's Figure 6 and section 3.3, read
// off the arm itself. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_TENSOR_TABLE_HPP_
#define ZEROULP_TOOLS_TRAIN_TENSOR_TABLE_HPP_

#include <string>
#include <vector>

#include "tools/train/arm.hpp"

namespace zeroulp::train {

struct tensor_row {
  std::string tensor;
  std::string format;  ///< as `zeroulp formats` names it
  std::string group;   ///< 1x128, 128x128, tensor; of no scale: -
  std::string scale;   ///< fp32, pow2; of none: -
  std::string made_from;
  std::string used_by;
};

std::vector<tensor_row> tensor_table(const arm& a);

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_TENSOR_TABLE_HPP_
