// Defines the scaling of partial sums into the FP32 accumulators, and the
// epilogue's access to C and D.
//
// A thread's wgmma fragment: element 4 j + 2 h + e is in the thread's row h (0
// or 1) and column 8 j + pair + e.

#ifndef ZEROULP_CUDA_GEMM_EPILOGUE_CUH_
#define ZEROULP_CUDA_GEMM_EPILOGUE_CUH_

#include "cuda/gemm/params.cuh"
#include "cuda/ptx/ptx.cuh"
#include "zeroulp/core/convention.hpp"

namespace zeroulp::cuda {

namespace detail {

/// Returns acc with p added, as the core's promote() does it. `both`: fl(sa
/// sb).
template <promotion Update>
__device__ float promoted(float acc, float p, float sa, float sb, float both) {
  if constexpr (Update == promotion::product_of_scales) {
    return __fmaf_rn(p, both, acc);
  } else {
    return __fmaf_rn(__fmul_rn(p, sa), sb, acc);
  }
}

}  // namespace detail

// A scaling holds a thread's scales for 64 rows of a tile. While the tensor
// core works, `find_columns` and `find_rows` locate them in a stage. `promote`
// remains to be done once p has arrived.
//
// `b_rows`: rows of B that share a scale. `b_scales`: scales of B in a tile.
// `reads_late`: promote reads the stage.

/// One scale for each 128 columns. `Scales`: 1 if a tile lies within one block
/// of columns, 2 if it may straddle two.
template <promotion Update, int Scales = 1>
struct block_scaling {
  static constexpr int b_rows = 128, b_scales = Scales;
  static constexpr bool reads_late = false;
  float sa[2];
  float sb[Scales];
  int in_first;  ///< columns from the tile's first to its block's end

  __device__ __forceinline__ void find_rows(const float* a) {
    sa[0] = a[0], sa[1] = a[8];
  }
  __device__ __forceinline__ void find_columns(const float* b, int column) {
#pragma unroll
    for (int i = 0; i < Scales; ++i) sb[i] = b[i];
    in_first = b_rows - column % b_rows;
  }

  template <int Count>
  __device__ __forceinline__ void promote(float (&acc)[Count],
                                          const float (&p)[Count]) const {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const float a = sa[i / 2 % 2];
      const float b =
          Scales == 1 || i / 4 * 8 < in_first ? sb[0] : sb[Scales - 1];
      acc[i] = detail::promoted<Update>(acc[i], p[i], a, b, __fmul_rn(a, b));
    }
  }
};

/// One scale for each column. Registers are scarce, so only the first `Early`
/// pairs of columns stay in registers for all rows of a stage. They are read
/// while the tensor core works, the others when they are needed.
template <promotion Update, int Width, int Early = 0>
struct column_scaling {
  static constexpr int b_rows = 1, b_scales = Width;
  static constexpr bool reads_late = true;
  float sa[2];
  const float* sb;
  float2 early[Width / 8];  ///< only the first Early are used

  __device__ __forceinline__ void find_rows(const float* a) {
    sa[0] = a[0], sa[1] = a[8];
  }
  __device__ __forceinline__ void find_columns(const float* b, int /*column*/) {
    sb = b + threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < Early; ++j) early[j] = pair(j);
  }

  __device__ __forceinline__ void promote(float (&acc)[Width / 2],
                                          const float (&p)[Width / 2]) const {
#pragma unroll
    for (int j = 0; j < Width / 8; ++j) {
      const float2 two = j < Early ? early[j] : pair(j);
#pragma unroll
      for (int i = 4 * j; i < 4 * j + 4; ++i) {
        const float a = sa[i / 2 % 2], b = i % 2 == 0 ? two.x : two.y;
        acc[i] = detail::promoted<Update>(acc[i], p[i], a, b, __fmul_rn(a, b));
      }
    }
  }

 private:
  __device__ __forceinline__ float2 pair(int j) const {
    return *reinterpret_cast<const float2*>(sb + 8 * j);
  }
};

namespace detail {

__device__ inline std::uint32_t two_bf16(float first, float second) {
  std::uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
}

}  // namespace detail

/// One scale for the whole of A and of B, or none: acc = fl(acc + p) after
/// every job.interval elements of K. The scales are applied at the end.
struct matrix_scaling {
  static constexpr int b_rows = 0;  ///< no scale is copied
};

/// Loads C and stores D. Both pass through shared memory by TMA if their rows
/// allow it; otherwise threads access global memory.
///
/// `line` and `first`: the first of a warp's 16 rows, within the tile and
/// within D.
struct gemm_output {
  /// This thread's row, counted from the warp's first. `pair`: its columns,
  /// counted from the first of each 8.
  __device__ static int row_after() {
    return static_cast<int>(threadIdx.x % 32 / 4);
  }
  __device__ static int pair() { return static_cast<int>(threadIdx.x % 4) * 2; }

  /// Waits until this warp's earlier TMA stores have read shared memory.
  __device__ static void wait_for_panel() {
    if (threadIdx.x % 32 == 0) ptx::wait_for_stores();
    __syncwarp();
  }

  /// Adds columns [begin, begin + 32) of C from a stage, in rows of 128 bytes.
  template <int Count>
  __device__ __forceinline__ static void add_stage(const char* c, int line,
                                                   int begin,
                                                   float (&acc)[Count]) {
#pragma unroll
    for (int i = 0; i < Count; i += 2) {
      const int column = i / 4 * 8;  // plus pair()
      if (column < begin || column >= begin + 32) continue;
      const int row = line + row_after() + i / 2 % 2 * 8;
      const int chunk = (column % 32 / 4 + pair() / 4) ^ row % 8;
      const auto two = *reinterpret_cast<const float2*>(
          c + row * 128 + chunk * 16 + pair() % 4 * 4);
      acc[i] = __fadd_rn(acc[i], two.x);
      acc[i + 1] = __fadd_rn(acc[i + 1], two.y);
    }
  }

  template <int Count>
  __device__ __forceinline__ static void add_c(const gemm_job& job,
                                               const gemm_tile& t, int first,
                                               float (&acc)[Count]) {
    const int row = first + row_after(), column = t.column + pair();
    const int rows = t.row_end - row, columns = job.n - column;
    const float* const upper =
        job.c + t.d_matrix * job.c_matrix_stride + row * job.c_stride + column;
    const float* const lower = upper + 8 * job.c_stride;
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const int line = i / 2 % 2 * 8, j = i / 4 * 8 + i % 2;
      if (line >= rows || j >= columns) continue;
      acc[i] = __fadd_rn(acc[i], (line == 0 ? upper : lower)[j]);
    }
  }

  /// Stores this warp's 16 rows of unit `Unit` (64 rows of its warp group).
  /// `panel(i)`: this warp's panel i. D goes to panels with Shape::flows or if
  /// TMA can store it, with two exceptions: 16 rows in which a group ends, and
  /// FP32 beyond the first 64 rows.
  template <bool Grouped, class Shape, int Unit, int Count, class Panel>
  __device__ __forceinline__ static void store(const gemm_job& job,
                                               const gemm_tile& t, int first,
                                               const float (&acc)[Count],
                                               Panel panel) {
    const bool is_whole = t.row_end == job.m || first + 16 <= t.row_end;
    const bool is_fp32 = !Shape::flows && job.is_fp32;
    if constexpr (Shape::flows && !Grouped) {
      return write_panels<Unit>(acc, panel);
    } else if constexpr (Count % 32 == 0) {
      if ((Shape::flows || job.by_boxes) && is_whole) {
        if constexpr (!Shape::sends) {
          return store_panels(job, t, first, acc, panel(0));
        } else {
          if (!is_fp32) return write_panels<Unit>(acc, panel);
          if constexpr (Unit == 0) return write_fp32_panels(acc, panel);
        }
      }
    }
    const int row = first + row_after(), column = t.column + pair();
    const std::int64_t place =
        t.d_matrix * job.d_matrix_stride + row * job.d_stride + column;
    if (job.d_words && first + 16 <= t.row_end &&
        t.column + 2 * Count <= job.n) {
      if constexpr (Count % 8 == 0) {
        if (is_fp32) return store_fours(job, place, acc);
      }
      // Do not put the sums themselves into a float2: it would bind them to a
      // register pair, in which they share a bank with their products. K is
      // never negative, so `apart` returns x.
      const auto apart = [&](float x) { return job.k < 0 ? 0 : x; };
#pragma unroll
      for (int i = 0; i < Count; i += 2) {
        const std::int64_t to =
            place + i / 2 % 2 * 8 * job.d_stride + i / 4 * 8;
        if (Count % 8 != 0 && is_fp32) {
          *reinterpret_cast<float2*>(static_cast<float*>(job.d) + to) = {
              apart(acc[i]), apart(acc[i + 1])};
        } else {
          *reinterpret_cast<std::uint32_t*>(static_cast<std::uint16_t*>(job.d) +
                                            to) =
              detail::two_bf16(acc[i], acc[i + 1]);
        }
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const int line = i / 2 % 2 * 8, j = i / 4 * 8 + i % 2;
      if (row + line >= t.row_end || column + j >= job.n) continue;
      const std::int64_t to = place + line * job.d_stride + j;
      if (is_fp32) {
        static_cast<float*>(job.d)[to] = acc[i];
      } else {
        static_cast<std::uint16_t*>(job.d)[to] =
            static_cast<std::uint16_t>(detail::two_bf16(acc[i], 0));
      }
    }
  }

 private:
  /// Arranges FP32 for stores of 16 bytes, 64 contiguous bytes of a row.
  /// Neighbouring lanes exchange values of two vec8s (8 columns each). The
  /// even lane gets four columns of the first vec8, the odd lane four of the
  /// second, in both rows. Calls store(index of the vec8 pair, upper row,
  /// lower row).
  template <int Count, class Store>
  __device__ __forceinline__ static void by_fours(const float (&acc)[Count],
                                                  Store store) {
    static_assert(Count % 8 == 0);
    const bool is_odd = threadIdx.x % 2 != 0;
    // Select by a condition, not by byte or bit operations. Then ptxas binds no
    // sum to a register of the stored vector. There it would share a bank with
    // its products, and each FMA would wait for an operand.
    const auto one_of = [&](float even, float odd) {
      return is_odd ? odd : even;
    };
#pragma unroll
    for (int i = 0; i < Count; i += 8) {
      float own[4], other[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        own[e] = one_of(acc[i + e], acc[i + 4 + e]);
        other[e] =
            __shfl_xor_sync(0xffffffff, one_of(acc[i + 4 + e], acc[i + e]), 1);
      }
      const auto four = [&](int e) {
        return make_float4(
            one_of(own[e], other[e]), one_of(own[e + 1], other[e + 1]),
            one_of(other[e], own[e]), one_of(other[e + 1], own[e + 1]));
      };
      store(i / 8, four(0), four(2));
    }
  }
  /// Stores to D, from this lane's first element `place` on.
  template <int Count>
  __device__ __forceinline__ static void store_fours(
      const gemm_job& job, std::int64_t place, const float (&acc)[Count]) {
    float* const upper =
        static_cast<float*>(job.d) + place + (threadIdx.x % 2 != 0 ? 8 - 2 : 0);
    float* const lower = upper + 8 * job.d_stride;
    by_fours(acc, [&](int vec8s, float4 of_upper, float4 of_lower) {
      *reinterpret_cast<float4*>(upper + 16 * vec8s) = of_upper;
      *reinterpret_cast<float4*>(lower + 16 * vec8s) = of_lower;
    });
  }
  /// Writes FP32 panels of 32 columns, in the 128-byte swizzle.
  template <int Count, class Panel>
  __device__ __forceinline__ static void write_fp32_panels(
      const float (&acc)[Count], Panel panel) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int row = row_after(), piece = lane % 2 * 2 + lane % 4 / 2;
    by_fours(acc, [&](int vec8s, float4 of_upper, float4 of_lower) {
      char* const to =
          panel(vec8s / 2) + row * 128 + ((vec8s % 2 * 4 + piece) ^ row) * 16;
      *reinterpret_cast<float4*>(to) = of_upper;
      *reinterpret_cast<float4*>(to + 8 * 128) = of_lower;
    });
  }

  /// Writes 16 rows of 64 columns to a panel in the 128-byte swizzle. `acc`:
  /// the fragment of these columns.
  __device__ __forceinline__ static void write_panel(const float* acc,
                                                     char* panel) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int place = lane % 16, after = lane / 16;
    const auto to = ptx::address_of(panel) + place * 128;
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      const float* const x = acc + 4 * j;
      const std::uint32_t word[4] = {
          detail::two_bf16(x[0], x[1]), detail::two_bf16(x[2], x[3]),
          detail::two_bf16(x[4], x[5]), detail::two_bf16(x[6], x[7])};
      ptx::store_matrices(to + ((j + after) ^ place % 8) * 16, word);
    }
  }

  /// Writes all panels of a unit without a branch. At a branch the assembler
  /// would wait for the wgmma in flight (ptxas note C7517).
  template <int Unit, int Count, class Panel>
  __device__ __forceinline__ static void write_panels(const float (&acc)[Count],
                                                      Panel panel) {
    constexpr int count = Count / 32;  // panels of a unit
#pragma unroll
    for (int i = 0; i < count; ++i) {
      write_panel(acc + 32 * i, panel(Unit * count + i));
    }
  }

  /// Stores D from row `first` on through the warp's only panel.
  template <int Count>
  __device__ __forceinline__ static void store_panels(const gemm_job& job,
                                                      const gemm_tile& t,
                                                      int first,
                                                      const float (&acc)[Count],
                                                      char* panel) {
#pragma unroll
    for (int i = 0; i < Count / 32; ++i) {
      wait_for_panel();
      write_panel(acc + 32 * i, panel);
      ptx::fence_shared();
      __syncwarp();
      if (threadIdx.x % 32 != 0) continue;
      ptx::store_box(job.d_map, panel, t.column + 64 * i, first, t.d_matrix);
      ptx::commit_stores();
    }
  }
};

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_EPILOGUE_CUH_
