// Defines the parts of the loss study: what is computed at a checkpoint, each
// by itself, and what is made of all of them. Internal.

#ifndef ZEROULP_TOOLS_STUDY_LOSS_PARTS_HPP_
#define ZEROULP_TOOLS_STUDY_LOSS_PARTS_HPP_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/study/loss/study.hpp"
#include "tools/train/run.hpp"

namespace zeroulp::loss {

/// A part is `count` numbers, a function of the state at its checkpoint.
struct part {
  std::string name;
  std::size_t count;
  double passes;  ///< over the model: what it costs
  std::function<std::vector<double>(const train::any_run&)> run;
};

/// The numbers of parts by name.
using part_numbers = std::map<std::string, std::vector<double>>;

/// The model; and with the tokens of the same state. Throws input_error.
train::model_shape shape_of(const loss_options& o);
train::model_shape state_shape_of(const loss_options& o);

/// Run n (from 0) of BF16 at its start. Throws input_error.
std::unique_ptr<train::any_run> start(const loss_options& o, int n);

/// The parts of checkpoint c (from 0) of run n.
std::vector<part> parts_of(const loss_options& o, int n, int c);

loss_result assemble(const loss_options& o, const part_numbers& numbers);

}  // namespace zeroulp::loss

#endif  // ZEROULP_TOOLS_STUDY_LOSS_PARTS_HPP_
