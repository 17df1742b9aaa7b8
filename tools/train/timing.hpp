// Defines a run on the CPU that tells what its matrix products took. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_TIMING_HPP_
#define ZEROULP_TOOLS_TRAIN_TIMING_HPP_

#include <memory>

#include "tools/train/run.hpp"

namespace zeroulp::train {

/// Of the products with FP8 operands and of the others, attention apart.
struct product_times {
  double seconds = 0;
  double multiply_adds = 0;
};
struct step_times {
  product_times fp8;
  product_times other;
  double attention_seconds = 0;
};

/// One at a time; it adds to `times`.
std::unique_ptr<any_run> make_timed_run(run_settings settings,
                                        training_data data, step_times& times);

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_TIMING_HPP_
