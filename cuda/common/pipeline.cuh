// Defines the mbarrier pipeline: a ring of shared-memory stages that producers
// fill and consumers release.
//
//   producer   wait_empty -> write the stage -> arrive at its full barrier
//   consumer   wait_full -> read the stage -> arrive_as_warp at its empty
//   barrier

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

// A pipeline has as many full barriers as stages, and as many empty ones, in
// shared memory. They are given as pointers. A class with both arrays as
// members made Wgrad 1 % slower; one with both pointers made ptxas order
// operands of the grouped GEMM kernels otherwise.

/// Called by one thread, before ptx::fence_barrier_init. `producers`: arrivals
/// that fill a stage. `consumers`: arrivals that release it.
__device__ inline void initialize_stage(ptx::barrier& full, unsigned producers,
                                        ptx::barrier& empty,
                                        unsigned consumers) {
  ptx::initialize(full, producers);
  ptx::initialize(empty, consumers);
}
template <class State>
__device__ void wait_full(ptx::barrier* full, const State& at) {
  ptx::wait(full[at.stage], at.phase);
}
/// Does not wait in the first round: all stages are empty.
template <class State>
__device__ void wait_empty(ptx::barrier* empty, const State& at) {
  ptx::wait(empty[at.stage], at.phase ^ 1);
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_PIPELINE_CUH_
