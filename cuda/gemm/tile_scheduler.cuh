// Defines the persistent tile scheduler of a GEMM.

#ifndef ZEROULP_CUDA_GEMM_TILE_SCHEDULER_CUH_
#define ZEROULP_CUDA_GEMM_TILE_SCHEDULER_CUH_

#include <cstdint>

#include "cuda/gemm/params.hpp"

namespace zeroulp::cuda {

/// One output tile: its position, its matrices, and where its rows and K end.
struct gemm_tile {
  int row, column;
  int row_end;
  int k_begin, k_end;
  int a_matrix, b_matrix, d_matrix;
  bool has_invalid_k_range;  ///< the table's K range is invalid: D becomes NaN

  /// Returns the number of K blocks of `by` elements.
  __device__ int blocks(int by) const {
    return (k_end - k_begin + by - 1) / by;
  }
};

/// The persistent tile scheduler: yields the tiles of this thread block in
/// order. Each warp runs its own copy, except where math warps read tiles from
/// a tile_queue.
///
/// Tiles that share operands run close together: a raster group has 8 tiles
/// along M and all tiles along N. Without groups of matrices the scheduler
/// reads no memory, so the compiler can prove its state warp-uniform.
template <class Shape, bool Grouped>
class tile_scheduler {
 public:
  __device__ explicit tile_scheduler(const gemm_params& params)
      : index_(static_cast<int>(blockIdx.x)),
        tiles_n_((params.n + Shape::n - 1) / Shape::n) {
    read(params);
  }

  /// Finds the next tile. Returns false after the last one; do not call it
  /// again then.
  __device__ bool next(const gemm_params& params, gemm_tile& t) {
    if (!(Grouped ? find_by_steps(params) : find_at_once())) return false;
    const int column = Grouped && group_height_ == raster_group
                           ? index_ / raster_group
                           : index_ / group_height_;
    const bool is_masked = Grouped && params.groups == gemm_groups::m_masked;
    const bool by_k = Grouped && params.groups == gemm_groups::k_contiguous;
    t.row = first_row_ +
            (group_first_ + index_ - column * group_height_) * Shape::m;
    t.column = column * Shape::n;
    t.row_end = row_end_;
    t.k_begin = k_begin_, t.k_end = k_end_;
    t.a_matrix = is_masked ? matrix_ : 0;
    t.b_matrix = by_k ? 0 : matrix_;
    t.d_matrix = is_masked || by_k ? matrix_ : 0;
    t.has_invalid_k_range = has_invalid_k_range_;
    index_ += static_cast<int>(gridDim.x);
    return true;
  }

 private:
  /// Finds the raster group that holds the next tile, by a division.
  __device__ bool find_at_once() {
    index_ += group_first_ * tiles_n_;
    if (index_ >= tiles_m_ * tiles_n_) return false;
    group_first_ = index_ / (raster_group * tiles_n_) * raster_group;
    group_height_ = min(raster_group, tiles_m_ - group_first_);
    index_ -= group_first_ * tiles_n_;
    return true;
  }
  /// Finds the same raster group by steps, for groups of matrices: a division
  /// takes a thread 200 clocks. Without groups, the loop would hide from the
  /// compiler that lanes agree.
  __device__ bool find_by_steps(const gemm_params& params) {
    while (index_ >= group_height_ * tiles_n_) {
      index_ -= group_height_ * tiles_n_;
      group_first_ += group_height_;
      if (group_first_ >= tiles_m_) {
        if (++matrix_ >= params.count) return false;
        read(params);
      }
      group_height_ = min(raster_group, tiles_m_ - group_first_);
    }
    return true;
  }

  __device__ void read(const gemm_params& params) {
    first_row_ = 0, row_end_ = params.m;
    k_begin_ = 0, k_end_ = params.k;
    has_invalid_k_range_ = false;
    if (!Grouped) {
    } else if (params.groups == gemm_groups::m_masked) {
      row_end_ = min(max(params.table[matrix_], 0), params.m);
    } else {
      const int begin = params.table[matrix_], end = params.table[matrix_ + 1];
      const bool by_rows = params.groups == gemm_groups::m_contiguous;
      const int most = by_rows ? params.m : params.k;
      const bool is_range = begin >= 0 && begin <= end && end <= most;
      if (by_rows) {
        first_row_ = is_range ? begin : 0;
        row_end_ = is_range ? end : 0;
      } else {
        has_invalid_k_range_ = !is_range ||
                               (begin % Shape::k != 0 && begin != params.k) ||
                               (end % Shape::k != 0 && end != params.k);
        k_begin_ = has_invalid_k_range_ ? 0 : begin;
        k_end_ = has_invalid_k_range_ ? 0 : end;
      }
    }
    tiles_m_ = (row_end_ - first_row_ + Shape::m - 1) / Shape::m;
    group_first_ = 0;
  }

  /// Rows of tiles in a raster group.
  static constexpr int raster_group = 8;
  int index_, tiles_n_;  ///< index_: within the raster group
  int matrix_ = 0, tiles_m_ = 0;
  int group_first_ = 0, group_height_ = 0;  ///< of the raster group
  int first_row_ = 0, row_end_ = 0, k_begin_ = 0, k_end_ = 0;
  bool has_invalid_k_range_ = false;
};

/// Whether a tile is found while earlier tiles are under way. Finding one in a
/// group's table can take 2500 clocks.
///
/// True only for groups with Shape::overlaps_epilogue. Without groups it gains
/// nothing; for ranges of K ptxas generated a slower loop.
template <class Shape, bool Grouped>
constexpr bool schedules_ahead = Grouped&& Shape::overlaps_epilogue;

/// The tile scheduler of the producer warps. If schedules_ahead, it looks one
/// tile ahead.
template <class Shape, bool Grouped>
class lookahead_scheduler {
 public:
  __device__ explicit lookahead_scheduler(const gemm_params& params)
      : params_(params), scheduler_(params) {
    if constexpr (schedules_ahead<Shape, Grouped>) {
      has_next_ = scheduler_.next(params_, next_);
    }
  }
  __device__ bool next(gemm_tile& t) {
    if constexpr (schedules_ahead<Shape, Grouped>) {
      t = next_, has_looked_ = false;
      return has_next_;
    } else {
      return scheduler_.next(params_, t);
    }
  }
  /// Finds the next tile, unless that has been done.
  __device__ void look_ahead() {
    if constexpr (schedules_ahead<Shape, Grouped>) {
      if (has_looked_) return;
      has_next_ = scheduler_.next(params_, next_);
      has_looked_ = true;
    }
  }

 private:
  const gemm_params& params_;
  tile_scheduler<Shape, Grouped> scheduler_;
  gemm_tile next_{};
  bool has_next_ = false, has_looked_ = false;
};

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_TILE_SCHEDULER_CUH_
