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
template <int Stages, class Index = int>
struct pipeline_state {
  Index stage = 0;
  unsigned phase = 0;

  __device__ void advance() {
    if (++stage == Stages) stage = 0, phase ^= 1;
  }
  /// The position after `count` stages.
  __device__ static pipeline_state after(Index count) {
    return {count % Stages, static_cast<unsigned>(count / Stages % 2)};
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

/// A pipeline whose barriers are in shared memory: `Stages` full ones and as
/// many empty ones.
template <int Stages>
class pipeline {
 public:
  __device__ pipeline(ptx::barrier* full, ptx::barrier* empty)
      : full_(full), empty_(empty) {}

  /// Called by one thread, before ptx::fence_barrier_init. `producers`:
  /// arrivals that fill a stage. `consumers`: arrivals that release it.
  __device__ void initialize(unsigned producers, unsigned consumers) const {
    for (int i = 0; i < Stages; ++i) {
      initialize_stage(i, producers, consumers);
    }
  }
  template <class Index>
  __device__ void initialize_stage(Index stage, unsigned producers,
                                   unsigned consumers) const {
    ptx::initialize(full_[stage], producers);
    ptx::initialize(empty_[stage], consumers);
  }
  template <class State>
  __device__ ptx::barrier& full(const State& at) const {
    return full_[at.stage];
  }
  template <class State>
  __device__ ptx::barrier& empty(const State& at) const {
    return empty_[at.stage];
  }
  template <class State>
  __device__ void wait_full(const State& at) const {
    ptx::wait(full_[at.stage], at.phase);
  }
  /// Does not wait in the first round: all stages are empty.
  template <class State>
  __device__ void wait_empty(const State& at) const {
    ptx::wait(empty_[at.stage], at.phase ^ 1);
  }
  /// A consumer warp signals that it has read stage `stage`, which may then be
  /// overwritten.
  __device__ void release(int stage) const { arrive_as_warp(empty_[stage]); }

 private:
  ptx::barrier *full_, *empty_;
};

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_PIPELINE_CUH_
