// Defines the layout of K-major operand tiles in shared memory, as wgmma reads
// them without swizzle, and the operands and outputs in a thread's registers.
// Source: PTX ISA 9.0, "Matrix Fragments" of mma and wgmma.

#ifndef ZEROULP_CONFORMANCE_DEVICE_SUPPORT_TILE_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SUPPORT_TILE_HPP_

#include "conformance/device/silicon/ptx.hpp"
#include "conformance/device/support/batch.hpp"

namespace zeroulp::conformance::device {

/// Offset of byte `at` of row `i` in a K-major tile: core matrices of 8 rows of
/// 16 bytes, two along K, then the next 8 rows.
__device__ inline int tile_offset(int i, int at) {
  return i / 8 * 256 + at / 16 * 128 + i % 8 * 16 + at % 16;
}

/// Copies one tile's rows to shared memory, in words.
__device__ inline void load_rows(const unsigned char* from, unsigned char* to,
                                 int rows) {
  constexpr int words = row_bytes / 4;
  for (int i = static_cast<int>(threadIdx.x); i < rows * words;
       i += static_cast<int>(blockDim.x)) {
    const int at = i % words * 4;
    *reinterpret_cast<std::uint32_t*>(to + tile_offset(i / words, at)) =
        *reinterpret_cast<const std::uint32_t*>(from + i * 4);
  }
}

__device__ inline std::uint32_t tile_word(const unsigned char* tile, int i,
                                          int at) {
  return *reinterpret_cast<const std::uint32_t*>(tile + tile_offset(i, at));
}

/// This thread's fragment of a warp's 16 rows. `row` is the first of them plus
/// lane / 4.
__device__ inline ptx::fragment_a load_a(const unsigned char* tile, int row) {
  const int byte = static_cast<int>(threadIdx.x) % 4 * 4;
  return {{tile_word(tile, row, byte), tile_word(tile, row + 8, byte),
           tile_word(tile, row, byte + 16),
           tile_word(tile, row + 8, byte + 16)}};
}

/// This thread's fragment of a warp's 8 columns. `col` is the first of them
/// plus lane / 4.
__device__ inline ptx::fragment_b load_b(const unsigned char* tile, int col) {
  const int byte = static_cast<int>(threadIdx.x) % 4 * 4;
  return {{tile_word(tile, col, byte), tile_word(tile, col, byte + 16)}};
}

/// A thread's four of a warp's 16 x 8 outputs, by the place of its first.
struct place {
  int row;
  int col;

  __device__ int at(int i) const {
    return (row + i / 2 * 8) * batch_cols + col + i % 2;
  }
};

/// Outputs in the registers of a thread: N groups of four, FP32 or FP16.
template <bool Half, int N>
struct registers {
  using word = std::conditional_t<Half, std::uint32_t, float>;
  word d[Half ? 2 * N : 4 * N];

  __device__ void load(int group, const std::uint32_t (&c)[4]) {
    if constexpr (Half) {
      d[2 * group] = c[0] | c[1] << 16;
      d[2 * group + 1] = c[2] | c[3] << 16;
    } else {
      for (int i = 0; i < 4; ++i) d[4 * group + i] = __uint_as_float(c[i]);
    }
  }
  __device__ std::uint32_t read(int group, int i) const {
    if constexpr (Half) {
      return d[2 * group + i / 2] >> (i % 2 * 16) & 0xffff;
    } else {
      return __float_as_uint(d[4 * group + i]);
    }
  }
};

template <int N, bool Half>
__device__ inline void load(registers<Half, N>& d, const std::uint32_t* c,
                            place first) {
#pragma unroll
  for (int group = 0; group < N; ++group) {
    const place p{first.row, first.col + group * 8};
    d.load(group, {c[p.at(0)], c[p.at(1)], c[p.at(2)], c[p.at(3)]});
  }
}

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_SUPPORT_TILE_HPP_
