// Defines how 256 threads hold a tile of 128 x 128 elements, and how it is
// written transposed.
//
// Let a = t / 16 and c = t % 16: thread t has rows 8 a to 8 a + 7 and columns 8
// c to 8 c + 7. Its part of a row is a vec8, and 16 threads read 128 elements
// of a row. To transpose, each thread writes vec8s of eight rows of a column
// to shared memory. Their places are swizzled so that neither writes nor reads
// conflict in a bank.

#ifndef ZEROULP_CUDA_COMMON_TILE_CUH_
#define ZEROULP_CUDA_COMMON_TILE_CUH_

#include "cuda/common/vec8.cuh"
#include "cuda/ptx/cp_async.cuh"

namespace zeroulp::cuda {

inline constexpr int tile_edge = 128;
inline constexpr int tile_threads = 256;

/// Divides numbers below 2^31 by a number known beforehand.
class divisor {
 public:
  divisor() = default;
  /// by > 0.
  explicit divisor(std::uint32_t by) : by_(by) {
    while (std::uint64_t{1} << shift_ < by) ++shift_;
    // The factor exceeds 2^(31 + shift) / by by at most 1, too little to change
    // a quotient.
    factor_ =
        static_cast<std::uint32_t>((std::uint64_t{1} << (31 + shift_)) / by) +
        1;
  }
  struct result {
    std::uint32_t quotient, rest;
  };
  __device__ result divide(std::uint32_t n) const {
    const std::uint32_t quotient = __umulhi(2 * n, factor_) >> shift_;
    return {quotient, n - quotient * by_};
  }

 private:
  std::uint32_t by_, factor_, shift_ = 0;
};

/// Tiles of an m x n matrix.
inline std::ptrdiff_t tiles_of(std::ptrdiff_t m, std::ptrdiff_t n) {
  return ((m + tile_edge - 1) / tile_edge) * ((n + tile_edge - 1) / tile_edge);
}

struct thread_coords {
  int a = static_cast<int>(threadIdx.x / 16);
  int c = static_cast<int>(threadIdx.x % 16);
};

/// A row-major matrix as kernels access it.
struct device_rows {
  void* data;
  std::ptrdiff_t rows, cols, stride;
  bool vectorized;  ///< rows satisfy is_vectorized
  divisor tiles;    ///< divides by the number of tiles in a row

  template <int Bytes>
  __device__ char* row(std::ptrdiff_t i) const {
    return static_cast<char*>(data) + i * stride * Bytes;
  }
};

/// The position of a tile in a matrix.
struct tile_origin {
  std::ptrdiff_t row0, col0;

  /// The position of tile `index` of x, counted row by row.
  __device__ tile_origin(unsigned index, const device_rows& x) {
    const auto at = x.tiles.divide(index);
    row0 = std::ptrdiff_t{at.quotient} * tile_edge;
    col0 = std::ptrdiff_t{at.rest} * tile_edge;
  }
};

/// True if this block may be resident while preceding kernels run. Later blocks
/// never are, with eight per multiprocessor of an H200.
__device__ inline bool begins_early() { return blockIdx.x < 8 * 132; }

/// Prefetches piece `piece` of columns col0 to col0 + 127 from row0 on into the
/// L2, if the block begins early. A piece has 128 bytes, and a row `Bytes`
/// pieces.
template <int Bytes>
__device__ void prefetch_piece(const device_rows& x, std::ptrdiff_t row0,
                               std::ptrdiff_t col0, unsigned piece) {
  const std::ptrdiff_t row = row0 + piece / Bytes;
  const std::ptrdiff_t col = col0 + piece % Bytes * (tile_edge / Bytes);
  if (begins_early() && row < x.rows && col < x.cols) {
    ptx::prefetch_l2(x.row<Bytes>(row) + col * Bytes);
  }
}

/// A tile of vec8s in shared memory, to be written transposed.
template <int Bytes>
struct transposing_tile {
  alignas(16) vec8<Bytes> vec8s[tile_edge][16];

  /// Stores elements 8 a to 8 a + 7 (`rows`) of column 8 c + j.
  __device__ void put(thread_coords t, int j, const vec8<Bytes>& rows) {
    vec8s[8 * t.c + j][t.a ^ t.c] = rows;
  }
  /// Replaces one element of a stored vec8.
  __device__ void set(thread_coords t, int j, int i, std::uint32_t code) {
    vec8s[8 * t.c + j][t.a ^ t.c].set(i, code);
  }

  /// Writes the tile at (row0, col0) of the source to its place in the
  /// transposed matrix. Called by all threads after a barrier.
  __device__ void store_transposed(const device_rows& to, std::ptrdiff_t row0,
                                   std::ptrdiff_t col0) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int at = static_cast<int>(threadIdx.x) + i * tile_threads;
      const int column = at / 16, chunk = at % 16;
      if (col0 + column >= to.rows) continue;
      store<Bytes>(to.row<Bytes>(col0 + column), row0 + 8 * chunk, to.cols,
                   to.vectorized, vec8s[column][chunk ^ (column / 8)]);
    }
  }
};

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_TILE_CUH_
