// Defines how partial sums join the FP32 sum, and how that becomes D.
//
// The fragment of a thread: result 4 j + 2 h + e is that of its row h and
// column 8 j + pair + e.

#ifndef ZEROULP_CUDA_GEMM_PARTS_CUH_
#define ZEROULP_CUDA_GEMM_PARTS_CUH_

#include "cuda/gemm_job.cuh"
#include "cuda/ptx.cuh"
#include "zeroulp/core/convention.hpp"

namespace zeroulp::cuda {

namespace detail {

/// acc with p joined, as the core's promote() does it; `both`: fl(sa sb).
template <promotion Update>
__device__ float promoted(float acc, float p, float sa, float sb, float both) {
  if constexpr (Update == promotion::product_of_scales) {
    return __fmaf_rn(p, both, acc);
  } else {
    return __fmaf_rn(__fmul_rn(p, sa), sb, acc);
  }
}

}  // namespace detail

// A scaling has the scales of a thread for a sub-tile: `find` reads them from a
// stage, while the tensor core works; `promote` is all that is left to do once
// p is there.

/// A scale for each block of 128 columns.
template <promotion Update, int Width>
struct block_scaling {
  static constexpr int b_rows = 128;
  static constexpr int each = Width < 128 ? Width : 128;
  static constexpr int blocks = Width / each;
  static_assert(128 % each == 0 && Width % each == 0);
  float sa[2];
  float sb[blocks];
  float both[blocks][2];

  /// `at`: where in the tile's columns the sub-tile begins.
  __device__ __forceinline__ void find(const float* a, const float* b, int at,
                                       int /*pair*/) {
    sa[0] = a[0], sa[1] = a[8];
#pragma unroll
    for (int i = 0; i < blocks; ++i) {
      sb[i] = b[(at + i * each) / 128];
      both[i][0] = __fmul_rn(sa[0], sb[i]);
      both[i][1] = __fmul_rn(sa[1], sb[i]);
    }
  }

  __device__ __forceinline__ void promote(float (&acc)[Width / 2],
                                          const float (&p)[Width / 2]) const {
#pragma unroll
    for (int i = 0; i < Width / 2; ++i) {
      const int block = 2 * i / each, h = i / 2 % 2;
      acc[i] = detail::promoted<Update>(acc[i], p[i], sa[h], sb[block],
                                        both[block][h]);
    }
  }
};

/// A scale for each column.
template <promotion Update, int Width>
struct column_scaling {
  static constexpr int b_rows = 1;
  static constexpr bool by_product = Update == promotion::product_of_scales;
  float sa[2];
  float sb[Width / 4];
  float both[by_product ? Width / 2 : 1];

  __device__ __forceinline__ void find(const float* a, const float* b, int at,
                                       int pair) {
    sa[0] = a[0], sa[1] = a[8];
#pragma unroll
    for (int j = 0; j < Width / 8; ++j) {
      const auto two = *reinterpret_cast<const float2*>(b + at + pair + 8 * j);
      sb[2 * j] = two.x, sb[2 * j + 1] = two.y;
      if constexpr (by_product) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          float& product = both[4 * j + r];
          product = __fmul_rn(sa[r / 2], sb[2 * j + r % 2]);
          // Here and not when it is needed.
          asm volatile("" : "+f"(product));
        }
      }
    }
  }

  __device__ __forceinline__ void promote(float (&acc)[Width / 2],
                                          const float (&p)[Width / 2]) const {
#pragma unroll
    for (int i = 0; i < Width / 2; ++i) {
      acc[i] = detail::promoted<Update>(acc[i], p[i], sa[i / 2 % 2],
                                        sb[i / 4 * 2 + i % 2],
                                        both[by_product ? i : 0]);
    }
  }
};

namespace detail {

__device__ inline std::uint32_t two_bf16(float first, float second) {
  std::uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
}

}  // namespace detail

/// A scale for the whole of A and of B, or none: acc = fl(acc + p) after every
/// job.interval elements of K, and the scales at the end.
template <int Width>
struct matrix_scaling {
  static constexpr int b_rows = 0;  ///< no scale is copied
};

/// C and D pass through shared memory, by the copy engine, where their rows
/// allow it; else the threads reach them by themselves.
struct gemm_output {
  /// Waits until what this warp stored before has left shared memory.
  __device__ static void prepare() {
    if (threadIdx.x % 32 == 0) ptx::wait_for_stores();
    __syncwarp();
  }

  /// Adds columns [at, at + Count * 2) of C, in a stage: `a` and `b`, rows of
  /// 128 bytes, are halves of 64 columns. `line`: this thread's row of the
  /// tile.
  template <int Count>
  __device__ __forceinline__ static void add_stage(const char* a, const char* b,
                                                   int line, int first,
                                                   float (&acc)[Count]) {
    const int quad = static_cast<int>(threadIdx.x % 4);
#pragma unroll
    for (int i = 0; i < Count; i += 2) {
      const int column = i / 4 * 8;  // of the sub-tile, and 2 quad
      if (column < first || column >= first + 64) continue;
      const int row = line + i / 2 % 2 * 8;
      const char* const half = column - first < 32 ? a : b;
      const int chunk = (column % 32 / 4 + quad / 2) ^ row % 8;
      const auto two = *reinterpret_cast<const float2*>(
          half + row * 128 + chunk * 16 + quad % 2 * 8);
      acc[i] = __fadd_rn(acc[i], two.x);
      acc[i + 1] = __fadd_rn(acc[i + 1], two.y);
    }
  }

  template <int Count>
  __device__ __forceinline__ static void add_c(const gemm_job& job,
                                               const gemm_tile& t, int row,
                                               int at, float (&acc)[Count]) {
    const float* const c = job.c + t.d_matrix * job.c_matrix_stride;
    const int pair = static_cast<int>(threadIdx.x % 4) * 2;
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const int j = t.column + at + i / 4 * 8 + pair + i % 2;
      const int line = row + i / 2 % 2 * 8;
      if (line >= t.row_end || j >= job.n) continue;
      acc[i] = __fadd_rn(acc[i], c[line * job.c_stride + j]);
    }
  }

  /// `row`: this thread's; `at`: where in the tile's columns the sub-tile
  /// begins; `out`: this warp's shared memory.
  template <int Count>
  __device__ __forceinline__ static void store(const gemm_job& job,
                                               const gemm_tile& t, int row,
                                               int at,
                                               const float (&acc)[Count],
                                               char* out) {
    const int first = row - static_cast<int>(threadIdx.x % 32 / 4);
    const bool is_whole = t.row_end == job.m || first + 16 <= t.row_end;
    if constexpr (Count % 32 == 0) {
      if (job.by_boxes && is_whole) {
        return store_boxes(job, t, first, at, acc, out + at * 32);
      }
    }
    const int pair = static_cast<int>(threadIdx.x % 4) * 2;
    const int column = t.column + at + pair;
    const std::int64_t place =
        t.d_matrix * job.d_matrix_stride + row * job.d_stride + column;
    if (job.d_pairs && first + 16 <= t.row_end &&
        t.column + at + 2 * Count <= job.n) {
      float* const d = static_cast<float*>(job.d) + place;
#pragma unroll
      for (int i = 0; i < Count; i += 2) {
        *reinterpret_cast<float2*>(d + i / 2 % 2 * 8 * job.d_stride +
                                   i / 4 * 8) = {acc[i], acc[i + 1]};
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const int line = i / 2 % 2 * 8, j = i / 4 * 8 + i % 2;
      if (row + line >= t.row_end || column + j >= job.n) continue;
      const std::int64_t to = place + line * job.d_stride + j;
      if (job.is_fp32) {
        static_cast<float*>(job.d)[to] = acc[i];
      } else {
        static_cast<std::uint16_t*>(job.d)[to] =
            static_cast<std::uint16_t>(detail::two_bf16(acc[i], 0));
      }
    }
  }

 private:
  /// By panels of 16 rows of 64 columns, swizzled as the copy engine has it,
  /// from row `first` of D on.
  template <int Count>
  __device__ __forceinline__ static void store_boxes(const gemm_job& job,
                                                     const gemm_tile& t,
                                                     int first, int at,
                                                     const float (&acc)[Count],
                                                     char* out) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int place = lane % 16, after = lane / 16;
    const auto to = ptx::address_of(out) + place * 128;
#pragma unroll
    for (int j = 0; j < Count / 4; j += 2) {
      const float* const x = acc + 4 * j;
      const std::uint32_t word[4] = {
          detail::two_bf16(x[0], x[1]), detail::two_bf16(x[2], x[3]),
          detail::two_bf16(x[4], x[5]), detail::two_bf16(x[6], x[7])};
      const int chunk = (j % 8 + after) ^ place % 8;
      ptx::store_matrices(to + j / 8 * 2048 + chunk * 16, word);
    }
    ptx::fence_shared();
    __syncwarp();
    if (lane != 0) return;
#pragma unroll
    for (int panel = 0; panel * 32 < Count; ++panel) {
      ptx::store_box(job.d_map, out + panel * 2048, t.column + at + 64 * panel,
                     first, t.d_matrix);
    }
    ptx::commit_stores();
  }
};

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_PARTS_CUH_
