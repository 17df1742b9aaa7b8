// Defines what the fused attention kernels share: tiles of 64 rows and 64
// columns in shared memory, their products, exp, and stores of results.
//
// Operands lie in boxes as TMA leaves them: 64 rows of 64 elements, in the
// 128-byte swizzle. The same box is K-major where its rows are multiplied (S,
// dP), and MN-major where they are summed (O, dQ, dK, dV). A block has 128 rows
// of a head and sequence; each of its two math warp groups has 64. In a warp
// group's results and register operands thread t has elements 2 q and 2 q + 1
// of each eight columns, q = t mod 4, in rows r and r + 8, r = 16 (t / 32 mod
// 4) + t / 4 mod 8.
//
// Every sum takes its steps of K in order, and no step beyond its range (N6,
// N7), so that its bits depend on no tile.

#ifndef ZEROULP_CUDA_MODEL_ATTENTION_TILE_CUH_
#define ZEROULP_CUDA_MODEL_ATTENTION_TILE_CUH_

#include <cuda.h>
#include <cuda_runtime.h>

#include "cuda/common/arithmetic.cuh"
#include "cuda/common/pipeline.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp.cuh"
#include "cuda/ptx/wgmma.cuh"

namespace zeroulp::cuda {

inline constexpr int attention_threads = 384;  ///< 8 math warps, 4 to load
inline constexpr int attention_rows = 128;     ///< of a block
inline constexpr int attention_box = 64;       ///< rows and columns of a box
/// m, r and D of 64 queries of a head, 64 FP32 words each.
inline constexpr int attention_row_words = 3 * attention_box;

/// A matrix of BF16 results, heads beside each other.
struct attention_output {
  std::uint16_t* data;
  std::ptrdiff_t stride;
  bool wide;  ///< rows of a head start on multiples of 8 bytes
};

namespace detail {

using ptx::operand_major;
using ptx::shared_address;

constexpr int attention_math_warps = 8;
constexpr unsigned attention_box_bytes = attention_box * attention_box * 2;
constexpr int attention_math_registers = 240;
constexpr int attention_load_registers = 24;

/// The rows, head and sequence of this block. All blocks of a head and sequence
/// are neighbours: they read the same keys. Those with most to do come first.
struct attention_place {
  int first;  ///< row
  int head, sequence;

  __device__ attention_place(int blocks, int heads, bool last_first) {
    const auto at = static_cast<int>(blockIdx.x);
    const int matrix = at / blocks;
    const int block = at - matrix * blocks;
    first = (last_first ? blocks - 1 - block : block) * attention_rows;
    sequence = matrix / heads;
    head = matrix - sequence * heads;
  }
};

/// The first of this thread's two rows of 64; the other is 8 below.
__device__ inline int row_of_lane() {
  return static_cast<int>(threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4);
}
/// The first of this thread's two columns of eight.
__device__ inline int column_of_lane() {
  return static_cast<int>(threadIdx.x % 4) * 2;
}

/// Begins to load rows [row, row + 64 RowBoxes) of a head: boxes of the same
/// columns lie one after the other.
template <int RowBoxes, int Width>
__device__ void load_rows(char* to, const CUtensorMap& map, ptx::barrier& full,
                          int row, const attention_place& at) {
#pragma unroll
  for (int c = 0; c < Width / attention_box; ++c) {
#pragma unroll
    for (int r = 0; r < RowBoxes; ++r) {
      ptx::tma_load_of_batch(
          to + static_cast<unsigned>(c * RowBoxes + r) * attention_box_bytes,
          map, full, c * attention_box, row + r * attention_box, at.head,
          at.sequence);
    }
  }
}

/// s = A B^T over `Width` columns: 64 rows of A, N of B. RowBoxes: those of
/// each operand's tile, as load_rows left it.
template <int Width, int N, int ARowBoxes, int BRowBoxes>
__device__ void multiply_rows(float (&s)[N / 2], shared_address a,
                              shared_address b) {
#pragma unroll
  for (int k = 0; k < Width; k += 16) {
    const auto box =
        static_cast<unsigned>(k / attention_box) * attention_box_bytes;
    const auto in_box = static_cast<unsigned>(2 * (k % attention_box));
    ptx::wgmma_bf16<N, operand_major::k, operand_major::k>::run(
        s, ptx::descriptor(a + box * ARowBoxes + in_box),
        ptx::descriptor(b + box * BRowBoxes + in_box), k > 0 ? 1 : 0);
  }
}

/// d += A B: A has 64 rows and 16 Steps columns, B as many rows of N columns.
/// Boxes of the same 64 rows of B lie one after the other.
template <int N, int Steps, int Count>
__device__ void multiply_columns(float (&d)[Count],
                                 const std::uint32_t (&a)[Steps][4],
                                 shared_address b) {
  static_assert(Count == N / 2);
#pragma unroll
  for (int i = 0; i < Steps; ++i) {
    const unsigned box = static_cast<unsigned>(i / 4 * (N / attention_box)) *
                         attention_box_bytes;
    const auto in_box = static_cast<unsigned>(i % 4 * 2048);
    ptx::wgmma_bf16_of_registers<N, operand_major::mn>::run(
        d, a[i], ptx::mn_major_descriptor(b + box + in_box));
  }
}

/// A register operand of wgmma from results of the same shape: value(i, column,
/// h) is element i of this thread, in column `column` and row r + 8 h.
template <int Steps, class Value>
__device__ void pack_operand(std::uint32_t (&a)[Steps][4], Value value) {
  const int first = column_of_lane();
#pragma unroll
  for (int step = 0; step < Steps; ++step) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int h = j % 2;
      const int i = 8 * step + 4 * (j / 2) + 2 * h;
      const int column = 16 * step + 8 * (j / 2) + first;
      a[step][j] =
          ptx::cvt_bf16x2(value(i, column, h), value(i + 1, column + 1, h));
    }
  }
}
/// The BF16 number of element i of what pack_operand made.
template <int Steps>
__device__ float number_of_operand(const std::uint32_t (&a)[Steps][4], int i) {
  const std::uint32_t two = a[i / 8][i / 4 % 2 * 2 + i / 2 % 2];
  return __uint_as_float(i % 2 == 0 ? two << 16 : two & 0xffff0000);
}
/// Clears the elements of which kept(column, h) is false, to +0.
template <int Steps, class Kept>
__device__ void mask_operand(std::uint32_t (&a)[Steps][4], Kept kept) {
  const int first = column_of_lane();
#pragma unroll
  for (int step = 0; step < Steps; ++step) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int column = 16 * step + 8 * (j / 2) + first;
      a[step][j] &= (kept(column, j % 2) ? 0x0000ffffu : 0) |
                    (kept(column + 1, j % 2) ? 0xffff0000u : 0);
    }
  }
}

/// exp (E2) of numbers that are not above 0, and of NaN.
__device__ inline float exp_of_difference(float x) {
  using A = device_fp32;
  const auto e = zeroulp::detail::reduce<A>(ptx::max_nan(x, -104.0f));
  const float line = A::add(1.0f, e.high);
  const float rest =
      A::add(A::subtract(e.high, A::subtract(line, 1.0f)), e.low);
  const float p = A::add(line, A::fma(e.bend, A::multiply(e.r, e.r), rest));
  const float by = __uint_as_float((191u << 23) + (e.n << 23));
  return A::multiply(A::multiply(p, by), __uint_as_float(0x1f800000));
}

/// Stores 64 rows from `token` on, at most `rows`, from column `column` on:
/// value(x, h) of each sum x, h as in pack_operand.
template <int Count, class Value>
__device__ void store_rows(const attention_output& out, std::ptrdiff_t token,
                           int rows, std::ptrdiff_t column,
                           const float (&d)[Count], Value value) {
  const int row = row_of_lane();
  const auto q = static_cast<int>(threadIdx.x % 4);
  const bool odd = q % 2 == 1;
#pragma unroll
  for (int i = 0; i < Count; i += 8) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int at = i + 2 * h;
      const std::uint32_t first =
          ptx::cvt_bf16x2(value(d[at], h), value(d[at + 1], h));
      const std::uint32_t second =
          ptx::cvt_bf16x2(value(d[at + 4], h), value(d[at + 5], h));
      // Even lanes get four of the first eight columns, odd ones of the rest.
      const std::uint32_t other =
          __shfl_xor_sync(0xffffffff, odd ? first : second, 1);
      const uint2 four =
          odd ? make_uint2(other, second) : make_uint2(first, other);
      if (row + 8 * h >= rows) continue;
      std::uint16_t* const to = out.data + (token + row + 8 * h) * out.stride +
                                column + 2 * i + (odd ? 8 : 0) + q / 2 * 4;
      if (out.wide) {
        *reinterpret_cast<uint2*>(to) = four;
      } else {
        to[0] = static_cast<std::uint16_t>(four.x);
        to[1] = static_cast<std::uint16_t>(four.x >> 16);
        to[2] = static_cast<std::uint16_t>(four.y);
        to[3] = static_cast<std::uint16_t>(four.y >> 16);
      }
    }
  }
}

/// The start of a block's shared memory, a multiple of 1024.
__device__ inline char* aligned_shared(char* raw) {
  return raw + (1024 - ptx::address_of(raw) % 1024) % 1024;
}

/// Splits a block: one thread of it loads, two warp groups multiply.
template <class Load, class Multiply>
__device__ void run_attention_roles(Load load, Multiply multiply) {
  const int warp = static_cast<int>(
      ptx::make_warp_uniform(static_cast<unsigned>(threadIdx.x) / 32));
  if (warp >= attention_math_warps) {
    ptx::warpgroup_reg_dealloc<attention_load_registers>();
    if (warp == attention_math_warps && ptx::elect_one()) load();
  } else {
    ptx::warpgroup_reg_alloc<attention_math_registers>();
    multiply(warp / 4);
  }
}

}  // namespace detail
}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_MODEL_ATTENTION_TILE_CUH_
