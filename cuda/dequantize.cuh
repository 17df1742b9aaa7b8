// Defines the dequantizing kernel: a block reads a tile of 128 x 128 codes, a
// warp a row of it at a time, a thread four neighbouring codes.
//
//   out = fl(code * scale), as FP32 or rounded again to BF16
//
// Source: SPEC clause Q10.

#ifndef ZEROULP_CUDA_DEQUANTIZE_CUH_
#define ZEROULP_CUDA_DEQUANTIZE_CUH_

#include "cuda/decode.cuh"
#include "cuda/scales.cuh"
#include "cuda/tile.cuh"

namespace zeroulp::cuda {

struct dequantize_job {
  device_rows codes;
  scale_source scales;
  bool by_row;     ///< a scale for each row of a tile
  bool by_column;  ///< a scale for each column of a tile
  bool by_tile;    ///< a scale or more for each tile; else one for all
  device_rows out;
};

namespace detail {

/// Four codes from `at` on, those before `end`, as they lie in memory.
template <int Bytes>
struct four_codes {
  std::uint32_t words[Bytes] = {};

  __device__ void load(const void* row, std::ptrdiff_t at, std::ptrdiff_t end,
                       bool whole) {
    const auto* const from = static_cast<const char*>(row) + at * Bytes;
    if (whole && at + 4 <= end) {
      if constexpr (Bytes == 1) {
        words[0] = __ldg(reinterpret_cast<const std::uint32_t*>(from));
      } else {
        const auto two = __ldg(reinterpret_cast<const uint2*>(from));
        words[0] = two.x, words[1] = two.y;
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (at + i >= end) continue;
      if constexpr (Bytes == 1) {
        words[0] |= std::uint32_t{static_cast<std::uint8_t>(from[i])} << 8 * i;
      } else {
        words[i / 2] |=
            std::uint32_t{reinterpret_cast<const std::uint16_t*>(from)[i]}
            << i % 2 * 16;
      }
    }
  }
};

/// BF16 codes, nearest-even, the first in the low half.
__device__ inline std::uint32_t two_bf16(float first, float second) {
  std::uint32_t codes;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(codes) : "f"(second), "f"(first));
  return codes;
}

/// Writes four numbers as elements [at, at + 4) of a row, those before `end`.
template <int Bytes>
__device__ void store_four(void* row, std::ptrdiff_t at, std::ptrdiff_t end,
                           bool whole, const float (&y)[4]) {
  auto* const to = static_cast<char*>(row) + at * Bytes;
  std::uint32_t words[Bytes];
  if constexpr (Bytes == 4) {
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = __float_as_uint(y[i]);
  } else {
    words[0] = two_bf16(y[0], y[1]);
    words[1] = two_bf16(y[2], y[3]);
  }
  if (whole && at + 4 <= end) {
    if constexpr (Bytes == 4) {
      *reinterpret_cast<uint4*>(to) = {words[0], words[1], words[2], words[3]};
    } else {
      *reinterpret_cast<uint2*>(to) = {words[0], words[1]};
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (at + i >= end) continue;
    if constexpr (Bytes == 4) {
      reinterpret_cast<std::uint32_t*>(to)[i] = words[i];
    } else {
      reinterpret_cast<std::uint16_t*>(to)[i] =
          static_cast<std::uint16_t>(words[i / 2] >> i % 2 * 16);
    }
  }
}

}  // namespace detail

/// OutBytes: 4, FP32, or 2, BF16.
template <class From, int OutBytes>
__global__ void __launch_bounds__(tile_threads)
    dequantize_tile(const __grid_constant__ dequantize_job job) {
  constexpr int warps = tile_threads / 32;
  constexpr int rows = 8;  // of a thread at a time
  const tile_place place(blockIdx.x, job.codes.cols);
  const std::ptrdiff_t col0 = place.col0 + 4 * (threadIdx.x % 32);
  if (col0 >= job.codes.cols) return;

  const std::ptrdiff_t tile_row = job.by_tile ? place.row0 / tile_edge : 0;
  const std::ptrdiff_t tile_col = job.by_tile ? place.col0 / tile_edge : 0;
  float scale[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if (job.by_row || col0 + j >= job.codes.cols) continue;
    scale[j] = __uint_as_float(
        job.scales.at(tile_row, job.by_column ? col0 + j : tile_col));
  }
#pragma unroll 1
  for (int begin = 0; begin < tile_edge; begin += rows * warps) {
    const std::ptrdiff_t row0 = place.row0 + begin + threadIdx.x / 32;
    detail::four_codes<From::bytes> x[rows];
#pragma unroll
    for (int k = 0; k < rows; ++k) {
      const std::ptrdiff_t row = row0 + warps * k;
      if (row < job.codes.rows) {
        x[k].load(job.codes.row<From::bytes>(row), col0, job.codes.cols,
                  job.codes.whole);
      }
    }
#pragma unroll
    for (int k = 0; k < rows; ++k) {
      const std::ptrdiff_t row = row0 + warps * k;
      if (row >= job.codes.rows) return;
      if (job.by_row) {
        scale[0] = __uint_as_float(job.scales.at(row, tile_col));
        scale[1] = scale[2] = scale[3] = scale[0];
      }
      float y[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        y[j] = __fmul_rn(decoded<From>(x[k].words, j), scale[j]);
      }
      detail::store_four<OutBytes>(job.out.row<OutBytes>(row), col0,
                                   job.out.cols, job.out.whole, y);
    }
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_DEQUANTIZE_CUH_
