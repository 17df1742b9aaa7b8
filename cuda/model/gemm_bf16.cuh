// Defines the kernel of cuda::gemm_bf16: D = A B^T of BF16 operands by mma.sync
// m16n8k16, whose sums are those of wgmma (SPEC T12).
//
//   128 x 128 outputs a block, eight warps of 64 x 32
//   cp.async -> four stages of 64 elements of K -> ldmatrix -> mma -> D
//
// An operand lies in a stage as it lies in memory: 128 rows of 64 elements of
// K, or 64 rows of 128 elements along M (N), which ldmatrix transposes.

#ifndef ZEROULP_CUDA_MODEL_GEMM_BF16_CUH_
#define ZEROULP_CUDA_MODEL_GEMM_BF16_CUH_

#include <cuda_runtime.h>

#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/barrier.cuh"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::cuda {

inline constexpr int bf16_tile = 128;  ///< rows and columns of a block
inline constexpr int bf16_chunk = 64;  ///< elements of K of a stage
inline constexpr int bf16_stages = 4;
inline constexpr int bf16_threads = 256;
inline constexpr int bf16_operand_bytes = bf16_tile * bf16_chunk * 2;
inline constexpr int bf16_shared_bytes = bf16_stages * 2 * bf16_operand_bytes;

/// An operand with its batch: along_k: elements of K are adjacent.
struct bf16_source {
  const std::uint16_t* data;
  std::ptrdiff_t rows;
  std::ptrdiff_t stride;  ///< of the other direction
  batch_strides batch;
};

struct bf16_params {
  bf16_source a, b;
  std::ptrdiff_t k;
  std::ptrdiff_t k_of_split;  ///< a multiple of the chunk
  gemm_span span;
  bool narrow;  ///< D is BF16
  float factor;
  void* d;
  std::ptrdiff_t d_stride;
  batch_strides d_batch;
  std::uint32_t* row_sums;
  batch_strides row_sums_batch;
  unsigned tiles_n;
  unsigned inner;
};

namespace detail {

/// Copies 16 bytes, of which `bytes` are read; the rest is zeros.
__device__ inline void copy_some(std::uint32_t to, const void* from,
                                 int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
               "l"(__cvta_generic_to_global(from)), "r"(bytes)
               : "memory");
}
__device__ inline void end_of_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int Left>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
}

template <bool Transposed>
__device__ void load_matrices(std::uint32_t (&x)[4], std::uint32_t at) {
  if constexpr (Transposed) {
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
        : "r"(at)
        : "memory");
  } else {
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
        : "r"(at)
        : "memory");
  }
}

__device__ inline void multiply_add(float (&c)[4], const std::uint32_t (&a)[4],
                                    std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// A stage's operand in shared memory: 16-byte chunks, swizzled so that the
/// eight rows of a matrix that ldmatrix reads lie in different banks.
template <bool AlongK>
struct bf16_stage {
  static constexpr int chunks_a_row = AlongK ? bf16_chunk / 8 : bf16_tile / 8;

  static __device__ std::uint32_t place(int row, int chunk) {
    return static_cast<std::uint32_t>(
        (row * chunks_a_row + (chunk ^ (row & 7))) * 16);
  }

  /// Begins to copy elements k0 to k0 + 63 of rows mn0 to mn0 + 127.
  static __device__ void load(std::uint32_t to, const std::uint16_t* data,
                              std::ptrdiff_t stride, std::ptrdiff_t rows,
                              std::ptrdiff_t k, std::ptrdiff_t mn0,
                              std::ptrdiff_t k0) {
    constexpr int count = bf16_tile * bf16_chunk / 8 / bf16_threads;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int at = static_cast<int>(threadIdx.x) + i * bf16_threads;
      const int row = at / chunks_a_row, chunk = at % chunks_a_row;
      const std::ptrdiff_t far = (AlongK ? mn0 : k0) + row;
      const std::ptrdiff_t near = (AlongK ? k0 : mn0) + 8 * chunk;
      const std::ptrdiff_t end = AlongK ? rows : k;
      const std::ptrdiff_t left = far < end ? (AlongK ? k : rows) - near : 0;
      const int bytes = left >= 8  ? 16
                        : left > 0 ? static_cast<int>(2 * left)
                                   : 0;
      copy_some(to + place(row, chunk),
                bytes > 0 ? data + far * stride + near : data, bytes);
    }
  }

  /// A fragment of A: 16 rows from `mn` on, 16 elements of K from `k` on.
  static __device__ void load_a(std::uint32_t (&x)[4], std::uint32_t from,
                                int mn, int k, int lane) {
    const int r = lane % 8, second = lane / 8 % 2, high = lane / 16;
    if constexpr (AlongK) {
      load_matrices<false>(x, from + place(mn + 8 * second + r, k / 8 + high));
    } else {
      load_matrices<true>(x, from + place(k + 8 * high + r, mn / 8 + second));
    }
  }
  /// Two fragments of B: 16 rows from `mn` on, 16 elements of K.
  static __device__ void load_b(std::uint32_t (&x)[4], std::uint32_t from,
                                int mn, int k, int lane) {
    const int r = lane % 8, high = lane / 8 % 2, second = lane / 16;
    if constexpr (AlongK) {
      load_matrices<false>(x, from + place(mn + 8 * second + r, k / 8 + high));
    } else {
      load_matrices<true>(x, from + place(k + 8 * high + r, mn / 8 + second));
    }
  }
};

}  // namespace detail

/// Grid: tiles of D, inner and outer matrices of the batch.
template <bool AAlongK, bool BAlongK, bool Splits>
__global__ void __launch_bounds__(bf16_threads)
    multiply_bf16(const __grid_constant__ bf16_params params) {
  extern __shared__ __align__(128) unsigned char stages[];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_m = 64 * (warp % 2), warp_n = 32 * (warp / 2);
  const std::ptrdiff_t m0 =
      std::ptrdiff_t{blockIdx.x / params.tiles_n} * bf16_tile;
  const std::ptrdiff_t n0 =
      std::ptrdiff_t{blockIdx.x % params.tiles_n} * bf16_tile;
  if (params.span == gemm_span::lower && n0 > m0 + bf16_tile - 1) return;
  const std::ptrdiff_t inner = blockIdx.y, outer = blockIdx.z;
  const auto offset = [&](const batch_strides& s) {
    return outer * s.outer + inner * s.inner;
  };
  const std::uint16_t* const a = params.a.data + offset(params.a.batch);
  const std::uint16_t* const b = params.b.data + offset(params.b.batch);

  // K of the block, and of the warp's 64 rows.
  std::ptrdiff_t begin = 0, end = params.k, first = 0, last = params.k;
  if (params.span == gemm_span::to_diagonal) {
    end = min(end, m0 + bf16_tile);
    last = min(last, m0 + warp_m + bf16_chunk);
  }
  if (params.span == gemm_span::from_diagonal) {
    begin = min(end, m0);
    first = m0 + warp_m;
  }
  const int chunks =
      static_cast<int>((end - begin + bf16_chunk - 1) / bf16_chunk);

  const std::uint32_t shared = ptx::address_of(stages);
  const auto stage = [shared](int i) {
    return shared +
           static_cast<std::uint32_t>(i % bf16_stages * 2 * bf16_operand_bytes);
  };
  const auto load = [&](int i) {
    if (i < chunks) {
      const std::ptrdiff_t k0 = begin + std::ptrdiff_t{i} * bf16_chunk;
      detail::bf16_stage<AAlongK>::load(stage(i), a, params.a.stride,
                                        params.a.rows, params.k, m0, k0);
      detail::bf16_stage<BAlongK>::load(stage(i) + bf16_operand_bytes, b,
                                        params.b.stride, params.b.rows,
                                        params.k, n0, k0);
    }
    detail::end_of_copies();
  };

  float c[4][4][4]{};
  [[maybe_unused]] float total[4][4][4]{};
  float sums[4][4]{};
  const bool has_sums = params.row_sums != nullptr && warp_n == 0 && n0 == 0;
  constexpr std::uint32_t ones = 0x3f803f80;
  for (int i = 0; i < bf16_stages - 1; ++i) load(i);
  for (int i = 0; i < chunks; ++i) {
    detail::wait_for_copies<bf16_stages - 2>();
    __syncthreads();
    load(i + bf16_stages - 1);
    const std::ptrdiff_t k0 = begin + std::ptrdiff_t{i} * bf16_chunk;
    if constexpr (Splits) {
      if (i > 0 && k0 % params.k_of_split == 0) {
#pragma unroll
        for (int x = 0; x < 64; ++x) {
          float& sum = c[x / 16][x / 4 % 4][x % 4];
          float& all = total[x / 16][x / 4 % 4][x % 4];
          all = __fadd_rn(all, sum);
          sum = 0;
        }
      }
    }
    if (k0 < first || k0 >= last) continue;
    const std::uint32_t from = stage(i);
#pragma unroll
    for (int k = 0; k < bf16_chunk; k += 16) {
      std::uint32_t x[4][4], y[2][4];
#pragma unroll
      for (int m = 0; m < 4; ++m) {
        detail::bf16_stage<AAlongK>::load_a(x[m], from, warp_m + 16 * m, k,
                                            lane);
      }
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        detail::bf16_stage<BAlongK>::load_b(y[n], from + bf16_operand_bytes,
                                            warp_n + 16 * n, k, lane);
      }
#pragma unroll
      for (int m = 0; m < 4; ++m) {
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          detail::multiply_add(c[m][n], x[m], y[n / 2][n % 2 * 2],
                               y[n / 2][n % 2 * 2 + 1]);
        }
        if (has_sums) detail::multiply_add(sums[m], x[m], ones, ones);
      }
    }
  }

  const auto put = [&](std::ptrdiff_t row, std::ptrdiff_t col, float x,
                       float y) {
    if (row >= params.a.rows) return;
    if (params.factor != 1.0f) {
      x = __fmul_rn(x, params.factor);
      y = __fmul_rn(y, params.factor);
    }
    const std::ptrdiff_t at =
        offset(params.d_batch) + row * params.d_stride + col;
    const bool both = col + 1 < params.b.rows;
    if (col >= params.b.rows) return;
    if (params.narrow) {
      auto* const d = static_cast<std::uint16_t*>(params.d) + at;
      d[0] = ptx::cvt_bf16(x);
      if (both) d[1] = ptx::cvt_bf16(y);
    } else {
      auto* const d = static_cast<float*>(params.d) + at;
      d[0] = x;
      if (both) d[1] = y;
    }
  };
#pragma unroll
  for (int m = 0; m < 4; ++m) {
    const std::ptrdiff_t row = m0 + warp_m + 16 * m + lane / 4;
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const std::ptrdiff_t col = n0 + warp_n + 8 * n + lane % 4 * 2;
      float d[4];
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        d[x] = Splits ? __fadd_rn(total[m][n][x], c[m][n][x]) : c[m][n][x];
      }
      put(row, col, d[0], d[1]);
      put(row + 8, col, d[2], d[3]);
    }
    if (has_sums && lane % 4 == 0) {
      std::uint32_t* const to = params.row_sums + offset(params.row_sums_batch);
      if (row < params.a.rows) to[row] = __float_as_uint(sums[m][0]);
      if (row + 8 < params.a.rows) to[row + 8] = __float_as_uint(sums[m][2]);
    }
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_MODEL_GEMM_BF16_CUH_
