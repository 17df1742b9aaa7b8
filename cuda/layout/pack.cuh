// Defines the kernels that pack and unpack 12-bit codes. A warp moves 1024
// codes of a row through shared memory. On both sides a thread accesses 16
// bytes at a time: of codes on one, of packed bytes on the other.
//
// Source: SPEC clauses P1 and P2.

#ifndef ZEROULP_CUDA_LAYOUT_PACK_CUH_
#define ZEROULP_CUDA_LAYOUT_PACK_CUH_

#include "cuda/common/pack12.hpp"
#include "cuda/common/tile.cuh"
#include "cuda/common/vec8.cuh"
#include "cuda/ptx/warp.cuh"

namespace zeroulp::cuda {

inline constexpr int pack_threads = 256;
inline constexpr int pack_warps = pack_threads / 32;
inline constexpr int warp_codes = 1024;

struct pack_params {
  device_rows codes;
  device_rows packed;  ///< `vectorized`: rows start on multiples of 16 bytes
  unsigned across;     ///< warps for a row
  unsigned warps;      ///< warps for all rows
};

namespace detail {

/// The part of a row that a warp moves: codes from `code0` and packed bytes
/// from `byte0` on.
struct warp_position {
  std::ptrdiff_t row, code0, byte0;

  __device__ warp_position(unsigned index, unsigned across) {
    row = std::ptrdiff_t{index / across};
    code0 = std::ptrdiff_t{index % across} * warp_codes;
    byte0 = code0 / 2 * 3;
  }
};

/// A warp's packed codes, in shared memory.
struct alignas(16) packed_codes {
  static constexpr int count = warp_codes / 8 * 3;
  std::uint32_t words[count];
};

}  // namespace detail

template <packing How>
__global__ void __launch_bounds__(pack_threads)
    pack_rows(const __grid_constant__ pack_params params) {
  ptx::wait_for_kernels_before();
  __shared__ detail::packed_codes shared[pack_warps];
  const unsigned warp = threadIdx.x / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const unsigned index = blockIdx.x * pack_warps + warp;
  if (index >= params.warps) return;
  const detail::warp_position position(index, params.across);
  detail::packed_codes& packed = shared[warp];

  vec8<2> x[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    x[i] = load<2>(params.codes.row<2>(position.row),
                   position.code0 + 8 * (32 * i + lane), params.codes.cols,
                   params.codes.vectorized);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    std::uint32_t three[3];
    pack_eight(How, x[i].words, three);
#pragma unroll
    for (int w = 0; w < 3; ++w) {
      packed.words[3 * (32 * i + lane) + w] = three[w];
    }
  }
  __syncwarp();
  char* const to = params.packed.row<1>(position.row);
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    const int at = 32 * i + lane;
    const std::ptrdiff_t first = position.byte0 + 16 * at;
    const uint4 four = reinterpret_cast<const uint4*>(packed.words)[at];
    if (params.packed.vectorized && first + 16 <= params.packed.cols) {
      *reinterpret_cast<uint4*>(to + first) = four;
      continue;
    }
    const std::uint32_t words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int b = 0; b < 16; ++b) {
      if (first + b < params.packed.cols) {
        to[first + b] = static_cast<char>(words[b / 4] >> b % 4 * 8);
      }
    }
  }
}

template <packing How>
__global__ void __launch_bounds__(pack_threads)
    unpack_rows(const __grid_constant__ pack_params params) {
  ptx::wait_for_kernels_before();
  __shared__ detail::packed_codes shared[pack_warps];
  const unsigned warp = threadIdx.x / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const unsigned index = blockIdx.x * pack_warps + warp;
  if (index >= params.warps) return;
  const detail::warp_position position(index, params.across);
  detail::packed_codes& packed = shared[warp];

  const char* const from = params.packed.row<1>(position.row);
  uint4 x[3];
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    const std::ptrdiff_t first = position.byte0 + 16 * (32 * i + lane);
    if (params.packed.vectorized && first + 16 <= params.packed.cols) {
      x[i] = *reinterpret_cast<const uint4*>(from + first);
      continue;
    }
    std::uint32_t words[4] = {};
#pragma unroll
    for (int b = 0; b < 16; ++b) {
      if (first + b < params.packed.cols) {
        words[b / 4] |= static_cast<std::uint32_t>(
                            static_cast<std::uint8_t>(from[first + b]))
                        << b % 4 * 8;
      }
    }
    x[i] = {words[0], words[1], words[2], words[3]};
  }
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    reinterpret_cast<uint4*>(packed.words)[32 * i + lane] = x[i];
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    std::uint32_t three[3];
#pragma unroll
    for (int w = 0; w < 3; ++w) {
      three[w] = packed.words[3 * (32 * i + lane) + w];
    }
    vec8<2> codes;
    unpack_eight(How, three, codes.words);
    store<2>(params.codes.row<2>(position.row),
             position.code0 + 8 * (32 * i + lane), params.codes.cols,
             params.codes.vectorized, codes);
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_LAYOUT_PACK_CUH_
