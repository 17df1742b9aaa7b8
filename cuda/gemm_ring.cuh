// Defines the shape of a GEMM's tiles, the ring of stages in shared memory
// through which its operands pass, and the two warps that fill it.

#ifndef ZEROULP_CUDA_GEMM_RING_CUH_
#define ZEROULP_CUDA_GEMM_RING_CUH_

#include "cuda/gemm_job.cuh"
#include "cuda/ptx.cuh"

namespace zeroulp::cuda {

/// The shape of a tile and of the machinery around it.
template <int Groups, int SubTiles, int Width, int Cluster, int Depth = 1>
struct gemm_shape {
  static constexpr int groups = Groups;  ///< warp groups that multiply
  static constexpr int threads = 128 * (Groups + 1);
  static constexpr int sub_tiles = SubTiles;
  static constexpr int width = Width;  ///< columns of a sub-tile
  static constexpr int m = 64 * Groups;
  static constexpr int n = SubTiles * Width;
  static constexpr int k = 128;
  static constexpr int cluster = Cluster;  ///< blocks, one below the other
  /// Partial sums that a warp group has in flight: small tiles wait for
  /// latencies, not for the tensor core.
  static constexpr int depth = Depth;
  static_assert(Depth == 1 || SubTiles == 1);

  /// Places in shared memory, from a multiple of 1024: D in BF16 on its way
  /// out, then a ring of stages.
  static constexpr int out_bytes = n % 64 == 0 ? m * n * 2 : 0;
  static constexpr int a_bytes = m * k;
  static constexpr int b_bytes = n * k;
  static constexpr int scale_bytes = (m + n) * 4;
  static constexpr int stage_bytes = a_bytes + b_bytes + scale_bytes;
  static constexpr int ring_bytes = (227 - 1) * 1024 - 256 - out_bytes;
  static constexpr int stages =
      ring_bytes / stage_bytes > 16 ? 16 : ring_bytes / stage_bytes;
  static constexpr int shared_bytes =
      1024 + out_bytes + stages * stage_bytes + 256;

  /// Boxes of C, m rows of 128 bytes, pass through the ring, too, after the
  /// operands: two in a stage.
  static constexpr bool takes_c = a_bytes == b_bytes;
  static constexpr int c_columns = 64;  ///< in a stage
};

namespace detail {

template <class Shape>
struct gemm_shared {
  static constexpr int stages = Shape::stages;
  char* outs;  ///< a multiple of 1024
  char* ring;

  __device__ explicit gemm_shared(char* raw) {
    const auto at = ptx::address_of(raw);
    outs = raw + ((at + 1023) / 1024 * 1024 - at);
    ring = outs + Shape::out_bytes;
  }
  /// Of one warp: panels of 16 rows of 128 bytes, swizzled.
  __device__ char* out(int warp) const {
    return outs + warp * (Shape::out_bytes / (4 * Shape::groups));
  }
  __device__ char* a(int stage) const { return ring + stage * Shape::a_bytes; }
  __device__ char* b(int stage) const {
    return ring + stages * Shape::a_bytes + stage * Shape::b_bytes;
  }
  __device__ float* a_scales(int stage) const {
    return reinterpret_cast<float*>(ring +
                                    stages * (Shape::a_bytes + Shape::b_bytes) +
                                    stage * Shape::scale_bytes);
  }
  __device__ float* b_scales(int stage) const {
    return a_scales(stage) + Shape::m;
  }
  __device__ ptx::barrier* full() const {
    return reinterpret_cast<ptx::barrier*>(ring + stages * Shape::stage_bytes);
  }
  __device__ ptx::barrier* free() const { return full() + stages; }
};

/// A stage of the ring and the parity of its use.
template <int Stages>
struct ring_place {
  int stage = 0;
  unsigned parity = 0;

  __device__ void advance() {
    if (++stage == Stages) stage = 0, parity ^= 1;
  }
};

/// Brings the operands of every tile of this block. The blocks of a cluster
/// share B: each brings a part of it to all.
template <class Shape, bool Grouped>
__device__ void copy_operands(const gemm_job& job,
                              const gemm_shared<Shape>& shared) {
  constexpr int rows = Shape::n / Shape::cluster;
  const int part =
      Shape::cluster > 1 ? static_cast<int>(ptx::rank_in_cluster()) * rows : 0;
  ring_place<Shape::stages> at;
  gemm_schedule<Shape, Grouped> schedule(job);
  gemm_tile t{};
  while (schedule.next(job, t)) {
    for (int k = t.k_begin; k < t.k_end; k += Shape::k, at.advance()) {
      ptx::wait(shared.free()[at.stage], at.parity ^ 1);
      auto& full = shared.full()[at.stage];
      ptx::arrive_expecting(full, job.a_box_bytes + Shape::b_bytes);
      ptx::copy_box(shared.a(at.stage), job.a_map, full, k, t.row, t.a_matrix);
      char* const b = shared.b(at.stage) + part * Shape::k;
      const int row = t.column + part;
      if constexpr (Shape::cluster > 1) {
        constexpr std::uint16_t all = (1 << Shape::cluster) - 1;
        ptx::copy_box_to(all, b, job.b_map, full, k, row, t.b_matrix);
      } else {
        ptx::copy_box(b, job.b_map, full, k, row, t.b_matrix);
      }
    }
    if constexpr (Shape::takes_c) {
      if (!job.c_by_boxes) continue;
      for (int j = 0; j < Shape::n; j += Shape::c_columns, at.advance()) {
        ptx::wait(shared.free()[at.stage], at.parity ^ 1);
        auto& full = shared.full()[at.stage];
        ptx::arrive_expecting(full, Shape::a_bytes + Shape::b_bytes);
        const int column = t.column + j;
        ptx::copy_box(shared.a(at.stage), job.c_map, full, column, t.row,
                      t.d_matrix);
        ptx::copy_box(shared.b(at.stage), job.c_map, full, column + 32, t.row,
                      t.d_matrix);
      }
    }
  }
}

/// Brings their scales, by one warp; zeros for rows that are not the tile's.
template <class Shape, class Scaling, bool Grouped>
__device__ void copy_scales(const gemm_job& job,
                            const gemm_shared<Shape>& shared) {
  constexpr int b_rows = Scaling::b_rows;
  const int lane = static_cast<int>(threadIdx.x % 32);
  ring_place<Shape::stages> at;
  gemm_schedule<Shape, Grouped> schedule(job);
  gemm_tile t{};
  const auto start = [&](const gemm_scales& from, int matrix, int first) {
    return from.data + matrix * from.matrix_stride +
           (first + lane) * from.stride + t.k_begin / Shape::k * from.k_stride;
  };
  const auto copy = [&](const float* from, std::int64_t stride, int count,
                        int inside, float* to) {
    for (int i = lane; i < count; i += 32, from += 32 * stride) {
      ptx::copy_word(to + i, from, i < inside);
    }
  };
  const auto pass = [&] {  // a stage without scales
    ptx::wait(shared.free()[at.stage], at.parity ^ 1);
    ptx::arrive(shared.full()[at.stage]);
    at.advance();
  };
  while (schedule.next(job, t)) {
    if constexpr (b_rows == 0) {
      for (int k = t.k_begin; k < t.k_end; k += Shape::k) pass();
    } else {
      const int column = t.column / b_rows;
      const int columns = (job.n + b_rows - 1) / b_rows - column;
      const float* a = start(job.a_scales, t.a_matrix, t.row);
      const float* b = start(job.b_scales, t.b_matrix, column);
      for (int k = t.k_begin; k < t.k_end; k += Shape::k, at.advance()) {
        ptx::wait(shared.free()[at.stage], at.parity ^ 1);
        copy(a, job.a_scales.stride, Shape::m, t.row_end - t.row,
             shared.a_scales(at.stage));
        copy(b, job.b_scales.stride, (Shape::n - 1) / b_rows + 1, columns,
             shared.b_scales(at.stage));
        ptx::arrive_after_copies(shared.full()[at.stage]);
        a += job.a_scales.k_stride, b += job.b_scales.k_stride;
      }
    }
    if constexpr (Shape::takes_c) {
      if (!job.c_by_boxes) continue;
      for (int j = 0; j < Shape::n; j += Shape::c_columns) pass();
    }
  }
}

/// The stage may be written again: by a warp that has read all it needs.
template <class Shape>
__device__ void free_stage(ptx::barrier& free) {
  __syncwarp();
  const unsigned lane = threadIdx.x % 32;
  if constexpr (Shape::cluster > 1) {
    if (lane < Shape::cluster) ptx::arrive_at(free, lane);
  } else if (lane == 0) {
    ptx::arrive(free);
  }
}

}  // namespace detail
}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_RING_CUH_
