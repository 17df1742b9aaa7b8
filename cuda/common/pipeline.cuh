// Defines the mbarrier pipeline: a ring of shared-memory stages that producers
// fill and consumers release.
//
//   producer   wait_empty(at) -> write the stage -> arrive at full(at)
//   consumer   wait_full(at) -> read the stage -> release(at)

#ifndef ZEROULP_CUDA_COMMON_PIPELINE_CUH_
#define ZEROULP_CUDA_COMMON_PIPELINE_CUH_

#include "cuda/ptx/barrier.cuh"

namespace zeroulp::cuda {

/// A position in a pipeline: a stage and the parity of the phase that fills it.
template <int Stages>
struct pipeline_state {
  int stage = 0;
  unsigned phase = 0;

  __device__ void advance() {
    if (++stage == Stages) stage = 0, phase ^= 1;
  }
  /// The position after `count` stages.
  template <class Count>
  __device__ static pipeline_state after(Count count) {
    return {static_cast<int>(count % Stages),
            static_cast<unsigned>(count / Stages % 2)};
  }
};

/// How many lanes of a warp arrive when it releases a stage. racecheck does not
/// model __syncwarp followed by one lane's arrival, so for it all lanes arrive.
#ifdef ZEROULP_RACECHECK
constexpr int releasing_lanes = 32;
#else
constexpr int releasing_lanes = 1;
#endif

/// A warp signals that it has read what the barrier guards. All lanes must call
/// it; the barrier counts releasing_lanes for each warp.
__device__ inline void arrive_as_warp(ptx::barrier& empty) {
  __syncwarp();
  if (threadIdx.x % 32 < releasing_lanes) ptx::arrive(empty);
}

/// The barriers of a pipeline, in shared memory.
template <int Stages>
struct pipeline {
  using state = pipeline_state<Stages>;
  ptx::barrier full_barriers[Stages], empty_barriers[Stages];

  /// Called by one thread, before ptx::fence_barrier_init. `producers`:
  /// arrivals that fill a stage. `consumers`: arrivals that release it.
  __device__ void initialize(unsigned producers, unsigned consumers) {
    for (int i = 0; i < Stages; ++i) {
      ptx::initialize(full_barriers[i], producers);
      ptx::initialize(empty_barriers[i], consumers);
    }
  }
  __device__ ptx::barrier& full(const state& at) {
    return full_barriers[at.stage];
  }
  __device__ ptx::barrier& empty(const state& at) {
    return empty_barriers[at.stage];
  }
  __device__ void wait_full(const state& at) {
    ptx::wait(full_barriers[at.stage], at.phase);
  }
  /// Does not wait in the first round: all stages are empty.
  __device__ void wait_empty(const state& at) {
    ptx::wait(empty_barriers[at.stage], at.phase ^ 1);
  }
  /// A consumer warp signals that it has read stage `stage`, which may then be
  /// overwritten.
  __device__ void release(int stage) { arrive_as_warp(empty_barriers[stage]); }
};

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_PIPELINE_CUH_
