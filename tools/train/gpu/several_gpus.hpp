// Defines a run whose shards are spread over GPUs. Only where there is CUDA.
// Internal.

#ifndef ZEROULP_TOOLS_TRAIN_GPU_SEVERAL_GPUS_HPP_
#define ZEROULP_TOOLS_TRAIN_GPU_SEVERAL_GPUS_HPP_

#include <memory>

#include "tools/train/run.hpp"

namespace zeroulp::train {

/// On GPUs 0 to count - 1; `count` divides the shards. GPU 0 has the state. In
/// a step the others copy its weights, and all make the passes of their shards
/// at once; then GPU 0 adds the gradients, which it reads where they are, in
/// the order of N16, and makes the update. So the bits are those of one GPU.
std::unique_ptr<any_run> run_on_several(int count, run_settings settings,
                                        training_data data);

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_GPU_SEVERAL_GPUS_HPP_
