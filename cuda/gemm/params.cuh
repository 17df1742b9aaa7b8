// Defines the parameters of a GEMM kernel (operands as tensor maps, scales, D)
// and the persistent tile scheduler.

#ifndef ZEROULP_CUDA_GEMM_PARAMS_CUH_
#define ZEROULP_CUDA_GEMM_PARAMS_CUH_

#include <cuda.h>

#include <cstdint>

#include "zeroulp/cuda_gemm.hpp"

namespace zeroulp::cuda {

/// FP32 scales of an operand. The scale of row (or block of rows) i and K group
/// g is at data[i * stride + g * k_stride]. `matrix_stride`: elements from one
/// matrix to the next.
struct gemm_scales {
  const float* data;
  std::int64_t stride, k_stride, matrix_stride;
};

struct gemm_job {
  CUtensorMap a_map, b_map;  ///< TMA boxes of codes: K, rows, matrices
  /// TMA boxes of scales, if a_scale_boxes or b_scale_boxes: rows of all
  /// matrices, groups of K.
  CUtensorMap a_scale_map, b_scale_map;
  CUtensorMap d_map;       ///< TMA boxes of D: 16 rows of 128 bytes
  CUtensorMap d_tall_map;  ///< 64 rows of 128 bytes, if Shape::sends
  CUtensorMap c_map;       ///< TMA boxes of C: 32 columns, a tile's rows
  gemm_scales a_scales, b_scales;
  const char* b;  ///< codes
  std::int64_t b_stride;
  void* d;  ///< BF16 or, if is_fp32, FP32
  std::int64_t d_stride, d_matrix_stride;
  const float* c;  ///< added to D, if any
  std::int64_t c_stride, c_matrix_stride;
  const std::int32_t* table;  ///< the groups' table, in device memory
  std::int32_t m, n, k;       ///< m: rows of one A, or of all groups of rows
  std::int32_t count;         ///< number of groups
  std::int32_t interval;      ///< elements of K between promotions; 0: none
  gemm_groups groups;
  bool b_once;           ///< no groups and m <= 64: B is read once
  unsigned a_box_bytes;  ///< bytes of a box of A; fewer than a full tile's if A
                         ///< has fewer rows
  bool a_scale_boxes, b_scale_boxes;
  bool is_fp32;
  bool by_boxes;    ///< d_map is there
  bool d_words;     ///< D is aligned for stores of two BF16 or four FP32
  bool c_by_boxes;  ///< c_map is there
};

/// One output tile: its position, its matrices, and where its rows and K end.
struct gemm_tile {
  int row, column;
  int row_end;
  int k_begin, k_end;
  int a_matrix, b_matrix, d_matrix;
  bool is_spoiled;  ///< the table's K range is invalid: D becomes NaN

  /// Returns the number of K blocks of `by` elements.
  __device__ int blocks(int by) const {
    return (k_end - k_begin + by - 1) / by;
  }
};

/// The persistent tile scheduler: yields the tiles of this thread block in
/// order. Each warp runs its own copy, except where consumers read tiles from a
/// tile_board.
///
/// Tiles that share operands run close together: a matrix is rasterized in
/// patches of 8 tiles along M. Without groups the scheduler reads no memory, so
/// the compiler can prove its state warp-uniform.
template <class Shape, bool Grouped>
class gemm_schedule {
 public:
  __device__ explicit gemm_schedule(const gemm_job& job)
      : index_(static_cast<int>(blockIdx.x)),
        across_((job.n + Shape::n - 1) / Shape::n) {
    read(job);
  }

  /// Finds the next tile. Returns false after the last one; do not call it
  /// again then.
  __device__ bool next(const gemm_job& job, gemm_tile& t) {
    if (!(Grouped ? find_by_steps(job) : find_at_once())) return false;
    const int column =
        Grouped && height_ == patch ? index_ / patch : index_ / height_;
    const bool by_matrix = Grouped && job.groups == gemm_groups::first_rows;
    const bool by_k = Grouped && job.groups == gemm_groups::k_ranges;
    t.row = first_row_ + (first_ + index_ - column * height_) * Shape::m;
    t.column = column * Shape::n;
    t.row_end = row_end_;
    t.k_begin = k_begin_, t.k_end = k_end_;
    t.a_matrix = by_matrix ? matrix_ : 0;
    t.b_matrix = by_k ? 0 : matrix_;
    t.d_matrix = by_matrix || by_k ? matrix_ : 0;
    t.is_spoiled = is_spoiled_;
    index_ += static_cast<int>(gridDim.x);
    return true;
  }

 private:
  /// Finds the patch that holds the next tile, by a division.
  __device__ bool find_at_once() {
    index_ += first_ * across_;
    if (index_ >= high_ * across_) return false;
    first_ = index_ / (patch * across_) * patch;
    height_ = min(patch, high_ - first_);
    index_ -= first_ * across_;
    return true;
  }
  /// Finds the same patch by steps, for groups: a division takes a thread 200
  /// clocks. Without groups, the loop would hide from the compiler that lanes
  /// agree.
  __device__ bool find_by_steps(const gemm_job& job) {
    while (index_ >= height_ * across_) {
      index_ -= height_ * across_;
      first_ += height_;
      if (first_ >= high_) {
        if (++matrix_ >= job.count) return false;
        read(job);
      }
      height_ = min(patch, high_ - first_);
    }
    return true;
  }

  __device__ void read(const gemm_job& job) {
    first_row_ = 0, row_end_ = job.m;
    k_begin_ = 0, k_end_ = job.k;
    is_spoiled_ = false;
    if (!Grouped) {
    } else if (job.groups == gemm_groups::first_rows) {
      row_end_ = min(max(job.table[matrix_], 0), job.m);
    } else {
      const int begin = job.table[matrix_], end = job.table[matrix_ + 1];
      const bool by_rows = job.groups == gemm_groups::rows;
      const int most = by_rows ? job.m : job.k;
      const bool is_range = begin >= 0 && begin <= end && end <= most;
      if (by_rows) {
        first_row_ = is_range ? begin : 0;
        row_end_ = is_range ? end : 0;
      } else {
        is_spoiled_ = !is_range || (begin % Shape::k != 0 && begin != job.k) ||
                      (end % Shape::k != 0 && end != job.k);
        k_begin_ = is_spoiled_ ? 0 : begin;
        k_end_ = is_spoiled_ ? 0 : end;
      }
    }
    high_ = (row_end_ - first_row_ + Shape::m - 1) / Shape::m;
    first_ = 0;
  }

  static constexpr int patch = 8;  ///< rows of tiles in a patch
  int index_, across_;             ///< index_: within the patch
  int matrix_ = 0, high_ = 0;
  int first_ = 0, height_ = 0;  ///< of the patch
  int first_row_ = 0, row_end_ = 0, k_begin_ = 0, k_end_ = 0;
  bool is_spoiled_ = false;
};

/// Whether a tile is found while earlier tiles are under way. Finding one in a
/// group's table can take 2500 clocks.
///
/// True only for groups with overlapped epilogue (Shape::flows). Without groups
/// it gains nothing; for ranges of K ptxas generated a slower loop.
template <class Shape, bool Grouped>
constexpr bool finds_ahead = Grouped&& Shape::flows;

/// The tile scheduler of the producer warps: looks one tile ahead if
/// finds_ahead.
template <class Shape, bool Grouped>
class gemm_walk {
 public:
  __device__ explicit gemm_walk(const gemm_job& job)
      : job_(job), schedule_(job) {
    if constexpr (finds_ahead<Shape, Grouped>) {
      has_coming_ = schedule_.next(job_, coming_);
    }
  }
  __device__ bool next(gemm_tile& t) {
    if constexpr (finds_ahead<Shape, Grouped>) {
      t = coming_, has_looked_ = false;
      return has_coming_;
    } else {
      return schedule_.next(job_, t);
    }
  }
  /// Finds the next tile, unless that has been done.
  __device__ void look_ahead() {
    if constexpr (finds_ahead<Shape, Grouped>) {
      if (has_looked_) return;
      has_coming_ = schedule_.next(job_, coming_);
      has_looked_ = true;
    }
  }

 private:
  const gemm_job& job_;
  gemm_schedule<Shape, Grouped> schedule_;
  gemm_tile coming_{};
  bool has_coming_ = false, has_looked_ = false;
};

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_PARAMS_CUH_
