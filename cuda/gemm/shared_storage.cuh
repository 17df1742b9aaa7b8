// Defines the shared memory of a GEMM block: smem_d, the pipeline of operand
// stages, and the words that warps exchange.

#ifndef ZEROULP_CUDA_GEMM_SHARED_STORAGE_CUH_
#define ZEROULP_CUDA_GEMM_SHARED_STORAGE_CUH_

#include "cuda/common/pipeline.cuh"
#include "cuda/gemm/tile_config.cuh"
#include "cuda/gemm/tile_scheduler.cuh"
#include "cuda/ptx/barrier.cuh"

namespace zeroulp::cuda::detail {

/// The last stage that each load thread has issued. The store thread reads it
/// for timing only; it guards no data.
template <int Threads>
class issued_stages {
 public:
  static constexpr int bytes = Threads * static_cast<int>(sizeof(int));
  __device__ explicit issued_stages(void* words)
      : last_(static_cast<volatile int*>(words)) {}
  __device__ void clear() const {
    for (int i = 0; i < Threads; ++i) last_[i] = -1;
  }
  /// Called by the load thread whose turn the stage is.
  __device__ void set(int stage) const {
    write(last_ + stage % Threads, stage);
  }
  __device__ void wait(int stage) const {
    while (read(last_ + stage % Threads) < stage) {
    }
  }

 private:
  // Words are read while they may be written. racecheck accepts that only from
  // atomics.
#ifdef ZEROULP_RACECHECK
  __device__ static void write(volatile int* to, int stage) {
    atomicExch(const_cast<int*>(to), stage);
  }
  __device__ static int read(volatile int* from) {
    return atomicOr(const_cast<int*>(from), 0);
  }
#else
  __device__ static void write(volatile int* to, int stage) { *to = stage; }
  __device__ static int read(const volatile int* from) { return *from; }
#endif
  volatile int* last_;  ///< one word for each load thread
};

/// The tile queue: the store thread runs the tile scheduler and publishes tiles
/// to the math warps. Used if schedules_ahead; otherwise wgmma would idle while
/// math warps search.
class tile_queue {
 public:
  static constexpr int slots = 3;
  struct slot {
    gemm_tile tile;
    int is_there;  ///< 0: there are no more tiles
  };
  static constexpr int bytes =
      slots * static_cast<int>(sizeof(ptx::barrier) + sizeof(slot));
  __device__ explicit tile_queue(ptx::barrier* full) : full_(full) {}
  __device__ void initialize() const {
    for (int i = 0; i < slots; ++i) ptx::initialize(full_[i], 1);
  }
  /// Writes tile `index`. All math warps must have read tile `index` - `slots`.
  __device__ void write(int index, const gemm_tile& t, bool is_there) const {
    at(index) = {t, is_there};
    ptx::arrive(full_[index % slots]);
  }
  __device__ bool read(int index, gemm_tile& t) const {
    ptx::wait(full_[index % slots], index / slots % 2);
    t = at(index).tile;
    return at(index).is_there;
  }

 private:
  __device__ slot& at(int index) const {
    return reinterpret_cast<slot*>(full_ + slots)[index % slots];
  }
  ptx::barrier* full_;  ///< one for each slot; the slots follow
};

template <class Shape>
struct gemm_shared_storage {
  static constexpr int stages = Shape::stages;
  using issued_stages = detail::issued_stages<Shape::load_threads>;
  /// Offsets in words of 8 bytes: first the pipeline's barriers. With
  /// Shape::has_store_thread, the two barriers of smem_d, issued_stages and
  /// tile_queue follow.
  static constexpr int d_barriers = 2 * stages;
  static constexpr int issued_at = d_barriers + 2;
  static constexpr int queue_at = issued_at + (issued_stages::bytes + 7) / 8;
  static_assert((Shape::has_store_thread
                     ? 8 * queue_at + tile_queue::bytes
                     : 8 * d_barriers) <= Shape::sync_bytes);
  static constexpr int math_warps = 4 * Shape::math_warpgroups;
  char* smem_d;  ///< starts on a multiple of 1024
  char* stages_begin;

  __device__ explicit gemm_shared_storage(char* raw) {
    const auto at = ptx::address_of(raw);
    smem_d = raw + ((at + 1023) / 1024 * 1024 - at);
    stages_begin = smem_d + Shape::smem_d_bytes;
  }
  /// Bytes from one box of a warp to its next.
  static constexpr int d_box_step = math_warps * Shape::d_box_bytes;
  /// One warp's box of smem_d, in the 128-byte swizzle. Boxes of a warp group
  /// with the same index form one TMA box of D.
  __device__ char* d_box(int warp, int index = 0) const {
    return smem_d + index * d_box_step + warp * Shape::d_box_bytes;
  }
  __device__ char* a(int stage) const {
    return stages_begin + stage * Shape::a_bytes;
  }
  __device__ char* b(int stage) const {
    return stages_begin + stages * Shape::a_bytes + stage * Shape::b_bytes;
  }
  __device__ float* a_scales(int stage) const {
    return reinterpret_cast<float*>(stages_begin +
                                    stages * (Shape::a_bytes + Shape::b_bytes) +
                                    stage * Shape::scale_bytes);
  }
  __device__ float* b_scales(int stage) const {
    return a_scales(stage) + Shape::m;
  }
  __device__ ptx::barrier* full() const { return words(); }
  __device__ ptx::barrier* empty() const { return full() + stages; }
  /// Full and empty barriers of smem_d, with Shape::has_store_thread.
  __device__ ptx::barrier& d_full() const { return words()[d_barriers]; }
  __device__ ptx::barrier& d_empty() const { return words()[d_barriers + 1]; }
  __device__ issued_stages issued() const {
    return issued_stages(words() + issued_at);
  }
  __device__ tile_queue queue() const { return tile_queue(words() + queue_at); }

 private:
  __device__ ptx::barrier* words() const {
    return reinterpret_cast<ptx::barrier*>(stages_begin +
                                           stages * Shape::stage_bytes);
  }
};

}  // namespace zeroulp::cuda::detail

#endif  // ZEROULP_CUDA_GEMM_SHARED_STORAGE_CUH_
