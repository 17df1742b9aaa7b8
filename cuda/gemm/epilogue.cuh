// Defines the epilogue's access to C and D. scaling.cuh says where the elements
// of a wgmma fragment are.

#ifndef ZEROULP_CUDA_GEMM_EPILOGUE_CUH_
#define ZEROULP_CUDA_GEMM_EPILOGUE_CUH_

#include "cuda/gemm/params.hpp"
#include "cuda/gemm/tile_scheduler.cuh"
#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/wgmma.cuh"

namespace zeroulp::cuda {

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
  __device__ static void wait_for_d_box() {
    if (threadIdx.x % 32 == 0) ptx::tma_store_wait();
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
  __device__ __forceinline__ static void add_c(const gemm_params& params,
                                               const gemm_tile& t, int first,
                                               float (&acc)[Count]) {
    const int row = first + row_after(), column = t.column + pair();
    const int rows = t.row_end - row, columns = params.n - column;
    const float* const upper = params.c + t.d_matrix * params.c_matrix_stride +
                               row * params.c_stride + column;
    const float* const lower = upper + 8 * params.c_stride;
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const int line = i / 2 % 2 * 8, j = i / 4 * 8 + i % 2;
      if (line >= rows || j >= columns) continue;
      acc[i] = __fadd_rn(acc[i], (line == 0 ? upper : lower)[j]);
    }
  }

  /// Stores this warp's 16 rows of unit `Unit` (64 rows of its warp group).
  /// `d_box(i)`: this warp's box i of smem_d. D goes there with
  /// Shape::overlaps_epilogue or if TMA can store it, with two exceptions: 16
  /// rows in which a group ends, and FP32 beyond the first 64 rows.
  template <bool Grouped, class Shape, int Unit, int Count, class Panel>
  __device__ __forceinline__ static void store(const gemm_params& params,
                                               const gemm_tile& t, int first,
                                               const float (&acc)[Count],
                                               Panel d_box) {
    const bool are_all_inside =
        t.row_end == params.m || first + 16 <= t.row_end;
    const bool is_fp32 = !Shape::overlaps_epilogue && params.is_fp32;
    if constexpr (Shape::overlaps_epilogue && !Grouped) {
      return write_d_boxes<Unit>(acc, d_box);
    } else if constexpr (Count % 32 == 0) {
      if ((Shape::overlaps_epilogue || params.stores_by_tma) &&
          are_all_inside) {
        if constexpr (!Shape::has_store_thread) {
          return store_d_boxes(params, t, first, acc, d_box(0));
        } else {
          if (!is_fp32) return write_d_boxes<Unit>(acc, d_box);
          if constexpr (Unit == 0) return write_fp32_d_boxes(acc, d_box);
        }
      }
    }
    const int row = first + row_after(), column = t.column + pair();
    const std::int64_t place =
        t.d_matrix * params.d_matrix_stride + row * params.d_stride + column;
    if (params.d_is_vectorized && first + 16 <= t.row_end &&
        t.column + 2 * Count <= params.n) {
      if constexpr (Count % 8 == 0) {
        if (is_fp32) return store_fp32_fours(params, place, acc);
      }
      // Do not put the sums themselves into a float2: it would bind them to a
      // register pair, in which they share a bank with their products. K is
      // never negative, so `apart` returns x.
      const auto apart = [&](float x) { return params.k < 0 ? 0 : x; };
#pragma unroll
      for (int i = 0; i < Count; i += 2) {
        const std::int64_t to =
            place + i / 2 % 2 * 8 * params.d_stride + i / 4 * 8;
        if (Count % 8 != 0 && is_fp32) {
          *reinterpret_cast<float2*>(static_cast<float*>(params.d) + to) = {
              apart(acc[i]), apart(acc[i + 1])};
        } else {
          *reinterpret_cast<std::uint32_t*>(
              static_cast<std::uint16_t*>(params.d) + to) =
              ptx::cvt_bf16x2(acc[i], acc[i + 1]);
        }
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const int line = i / 2 % 2 * 8, j = i / 4 * 8 + i % 2;
      if (row + line >= t.row_end || column + j >= params.n) continue;
      const std::int64_t to = place + line * params.d_stride + j;
      if (is_fp32) {
        static_cast<float*>(params.d)[to] = acc[i];
      } else {
        static_cast<std::uint16_t*>(params.d)[to] =
            static_cast<std::uint16_t>(ptx::cvt_bf16x2(acc[i], 0));
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
  __device__ __forceinline__ static void store_fp32_fours(
      const gemm_params& params, std::int64_t place,
      const float (&acc)[Count]) {
    float* const upper = static_cast<float*>(params.d) + place +
                         (threadIdx.x % 2 != 0 ? 8 - 2 : 0);
    float* const lower = upper + 8 * params.d_stride;
    by_fours(acc, [&](int vec8s, float4 of_upper, float4 of_lower) {
      *reinterpret_cast<float4*>(upper + 16 * vec8s) = of_upper;
      *reinterpret_cast<float4*>(lower + 16 * vec8s) = of_lower;
    });
  }
  /// Writes boxes of 32 FP32 columns to smem_d, in the 128-byte swizzle.
  template <int Count, class Panel>
  __device__ __forceinline__ static void write_fp32_d_boxes(
      const float (&acc)[Count], Panel d_box) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int row = row_after(), piece = lane % 2 * 2 + lane % 4 / 2;
    by_fours(acc, [&](int vec8s, float4 of_upper, float4 of_lower) {
      char* const to =
          d_box(vec8s / 2) + row * 128 + ((vec8s % 2 * 4 + piece) ^ row) * 16;
      *reinterpret_cast<float4*>(to) = of_upper;
      *reinterpret_cast<float4*>(to + 8 * 128) = of_lower;
    });
  }

  /// Writes 16 rows of 64 columns to a box in the 128-byte swizzle. `acc`:
  /// the fragment of these columns.
  __device__ __forceinline__ static void write_d_box(const float* acc,
                                                     char* d_box) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int place = lane % 16, after = lane / 16;
    const auto to = ptx::address_of(d_box) + place * 128;
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      const float* const x = acc + 4 * j;
      const std::uint32_t word[4] = {
          ptx::cvt_bf16x2(x[0], x[1]), ptx::cvt_bf16x2(x[2], x[3]),
          ptx::cvt_bf16x2(x[4], x[5]), ptx::cvt_bf16x2(x[6], x[7])};
      ptx::stmatrix_x4(to + ((j + after) ^ place % 8) * 16, word);
    }
  }

  /// Writes all boxes of a unit without a branch. At a branch the assembler
  /// would wait for the wgmma in flight (ptxas note C7517).
  template <int Unit, int Count, class Panel>
  __device__ __forceinline__ static void write_d_boxes(
      const float (&acc)[Count], Panel d_box) {
    constexpr int count = Count / 32;  // boxes of a unit
#pragma unroll
    for (int i = 0; i < count; ++i) {
      write_d_box(acc + 32 * i, d_box(Unit * count + i));
    }
  }

  /// Stores D from row `first` on through the warp's only box.
  template <int Count>
  __device__ __forceinline__ static void store_d_boxes(
      const gemm_params& params, const gemm_tile& t, int first,
      const float (&acc)[Count], char* d_box) {
#pragma unroll
    for (int i = 0; i < Count / 32; ++i) {
      wait_for_d_box();
      write_d_box(acc + 32 * i, d_box);
      ptx::fence_proxy_async();
      __syncwarp();
      if (threadIdx.x % 32 != 0) continue;
      ptx::tma_store(params.d_map, d_box, t.column + 64 * i, first, t.d_matrix);
      ptx::tma_store_commit();
    }
  }
};

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_EPILOGUE_CUH_
