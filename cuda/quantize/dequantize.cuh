// Defines the dequantizing kernels.
//
//   out = fl(code * scale), as FP32 or rounded again to BF16
//
// dequantize_rows takes rows that can be read and written in pieces of 16
// bytes. 16 threads, or 32 for FP32, read a few rows of 128 columns: codes and
// scales before anything is written. dequantize_tile takes all others. A block
// reads a tile of 128 x 128 codes, a warp one of its rows at a time, a thread
// four neighbouring codes.
//
// Source: SPEC clause Q10.

#ifndef ZEROULP_CUDA_QUANTIZE_DEQUANTIZE_CUH_
#define ZEROULP_CUDA_QUANTIZE_DEQUANTIZE_CUH_

#include "cuda/common/decode.cuh"
#include "cuda/common/scales.cuh"
#include "cuda/common/tile.cuh"
#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/warp.cuh"

namespace zeroulp::cuda {

struct dequantize_params {
  device_rows codes;
  scale_source scales;
  bool by_row;     ///< a scale for each row of a tile
  bool by_column;  ///< a scale for each column of a tile
  bool by_tile;    ///< a scale or more for each tile; else one for all
  device_rows out;
};

namespace detail {

/// Up to four codes, [at, end), as they lie in memory.
template <int Bytes>
struct four_codes {
  std::uint32_t words[Bytes] = {};

  __device__ void load(const void* row, std::ptrdiff_t at, std::ptrdiff_t end,
                       bool vectorized) {
    const auto* const from = static_cast<const char*>(row) + at * Bytes;
    if (vectorized && at + 4 <= end) {
      if constexpr (Bytes == 1) {
        words[0] = *reinterpret_cast<const std::uint32_t*>(from);
      } else {
        const auto two = *reinterpret_cast<const uint2*>(from);
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

/// Writes four numbers as elements [at, at + 4) of a row, except those from
/// `end` on.
template <int Bytes>
__device__ void store_four(void* row, std::ptrdiff_t at, std::ptrdiff_t end,
                           bool vectorized, const float (&y)[4]) {
  auto* const to = static_cast<char*>(row) + at * Bytes;
  std::uint32_t words[Bytes];
  if constexpr (Bytes == 4) {
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = __float_as_uint(y[i]);
  } else {
    words[0] = ptx::cvt_bf16x2(y[0], y[1]);
    words[1] = ptx::cvt_bf16x2(y[2], y[3]);
  }
  if (vectorized && at + 4 <= end) {
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

/// Reads the scales of groups (i, g) to (i + Count - 1, g). Beyond row `last`,
/// its scale is repeated.
template <int Count>
__device__ void read_scales(const scale_source& from, std::ptrdiff_t i,
                            std::ptrdiff_t last, std::ptrdiff_t g,
                            float (&to)[Count]) {
  const const_scales& s = from.from;
  if (s.layout == scale_layout::packed_ue8m0) {
#pragma unroll
    for (int k = 0; k < Count; ++k) {
      to[k] = __uint_as_float(from.at(i + k < last ? i + k : last, g));
    }
    return;
  }
  const bool is_mn_major = s.layout == scale_layout::mn_major;
  const std::uint32_t* at =
      s.data + (is_mn_major ? g * s.stride + i : i * s.stride + g);
  const std::ptrdiff_t step = is_mn_major ? 1 : s.stride;
#pragma unroll
  for (int k = 0; k < Count; ++k) {
    to[k] = __uint_as_float(*at);
    if (i + k < last) at += step;
  }
}

}  // namespace detail

/// Columns and rows per thread, and threads per block.
template <int OutBytes>
inline constexpr int dequantized_width = OutBytes == 4 ? 4 : 8;
inline constexpr int dequantized_rows = 4;
inline constexpr int dequantize_threads = 128;

/// Threads needed for an m x n matrix.
template <int OutBytes>
std::ptrdiff_t dequantize_threads_of(std::ptrdiff_t m, std::ptrdiff_t n) {
  return ceil_div(m, dequantized_rows) * ceil_div(n, tile_edge) *
         (tile_edge / dequantized_width<OutBytes>);
}

/// OutBytes: 4, FP32, or 2, BF16.
template <class From, int OutBytes>
__global__ void __launch_bounds__(dequantize_threads)
    dequantize_rows(const __grid_constant__ dequantize_params params) {
  ptx::wait_for_kernels_before();
  constexpr int width = dequantized_width<OutBytes>, rows = dequantized_rows;
  constexpr int lanes = tile_edge / width;
  const unsigned unit = blockIdx.x * (dequantize_threads / lanes) +
                        threadIdx.x / static_cast<unsigned>(lanes);
  const auto origin = params.codes.tiles.divide(unit);
  const std::ptrdiff_t row0 = std::ptrdiff_t{origin.quotient} * rows;
  const std::ptrdiff_t group = origin.rest;
  const std::ptrdiff_t col0 = group * tile_edge + threadIdx.x % lanes * width;
  if (row0 >= params.codes.rows || col0 >= params.codes.cols) return;
  const std::ptrdiff_t last = params.codes.rows - 1;

  std::uint32_t x[rows][width * From::bytes / 4];
  const char* from = params.codes.row<From::bytes>(row0) + col0 * From::bytes;
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    if constexpr (width * From::bytes == 4) {
      x[i][0] = *reinterpret_cast<const std::uint32_t*>(from);
    } else if constexpr (width * From::bytes == 8) {
      const auto two = *reinterpret_cast<const uint2*>(from);
      x[i][0] = two.x, x[i][1] = two.y;
    } else {
      const auto four = *reinterpret_cast<const uint4*>(from);
      x[i][0] = four.x, x[i][1] = four.y, x[i][2] = four.z, x[i][3] = four.w;
    }
    if (row0 + i < last) from += params.codes.stride * From::bytes;
  }

  char* to = params.out.row<OutBytes>(row0) + col0 * OutBytes;
  const auto write = [&](auto scale) {
#pragma unroll
    for (int i = 0; i < rows; ++i, to += params.out.stride * OutBytes) {
      float y[width];
#pragma unroll
      for (int j = 0; j < width; ++j) {
        y[j] = __fmul_rn(decoded<From>(x[i], j), scale(i, j));
      }
      if (row0 + i > last) return;
      if constexpr (OutBytes == 4) {
        *reinterpret_cast<float4*>(to) = {y[0], y[1], y[2], y[3]};
      } else {
        *reinterpret_cast<uint4*>(to) = {
            ptx::cvt_bf16x2(y[0], y[1]), ptx::cvt_bf16x2(y[2], y[3]),
            ptx::cvt_bf16x2(y[4], y[5]), ptx::cvt_bf16x2(y[6], y[7])};
      }
    }
  };
  if (params.by_row) {
    float of_rows[rows];
    detail::read_scales(params.scales, row0, last, group, of_rows);
    write([&](int i, int) { return of_rows[i]; });
    return;
  }
  const std::ptrdiff_t tile_row = params.by_tile ? row0 / tile_edge : 0;
  float of_columns[width];
#pragma unroll
  for (int j = 0; j < width; ++j) {
    const std::ptrdiff_t g = params.by_column ? col0 + j
                             : params.by_tile ? group
                                              : 0;
    of_columns[j] = __uint_as_float(params.scales.at(tile_row, g));
  }
  write([&](int, int j) { return of_columns[j]; });
}

/// OutBytes: 4, FP32, or 2, BF16.
template <class From, int OutBytes>
__global__ void __launch_bounds__(tile_threads)
    dequantize_tile(const __grid_constant__ dequantize_params params) {
  ptx::wait_for_kernels_before();
  constexpr int warps = tile_threads / 32;
  constexpr int rows = 8;  // rows that a thread has at a time
  const tile_origin origin(blockIdx.x, params.codes);
  const std::ptrdiff_t col0 = origin.col0 + 4 * (threadIdx.x % 32);
  if (col0 >= params.codes.cols) return;

  const std::ptrdiff_t tile_row = params.by_tile ? origin.row0 / tile_edge : 0;
  const std::ptrdiff_t tile_col = params.by_tile ? origin.col0 / tile_edge : 0;
  float scale[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if (params.by_row || col0 + j >= params.codes.cols) continue;
    scale[j] = __uint_as_float(
        params.scales.at(tile_row, params.by_column ? col0 + j : tile_col));
  }
#pragma unroll 1
  for (int begin = 0; begin < tile_edge; begin += rows * warps) {
    const std::ptrdiff_t row0 = origin.row0 + begin + threadIdx.x / 32;
    detail::four_codes<From::bytes> x[rows];
#pragma unroll
    for (int k = 0; k < rows; ++k) {
      const std::ptrdiff_t row = row0 + warps * k;
      if (row < params.codes.rows) {
        x[k].load(params.codes.row<From::bytes>(row), col0, params.codes.cols,
                  params.codes.vectorized);
      }
    }
#pragma unroll
    for (int k = 0; k < rows; ++k) {
      const std::ptrdiff_t row = row0 + warps * k;
      if (row >= params.codes.rows) return;
      if (params.by_row) {
        scale[0] = __uint_as_float(params.scales.at(row, tile_col));
        scale[1] = scale[2] = scale[3] = scale[0];
      }
      float y[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        y[j] = __fmul_rn(decoded<From>(x[k].words, j), scale[j]);
      }
      detail::store_four<OutBytes>(params.out.row<OutBytes>(row), col0,
                                   params.out.cols, params.out.vectorized, y);
    }
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_QUANTIZE_DEQUANTIZE_CUH_
