// Defines how a caller's matrix becomes device_rows. Also defines how a thread
// reads its 8 x 8 elements of a tile and writes those of the transposed tile.
// If all are inside and aligned, there are no branches between accesses.

#ifndef ZEROULP_CUDA_COMMON_ROWS_CUH_
#define ZEROULP_CUDA_COMMON_ROWS_CUH_

#include "cuda/common/tile.cuh"
#include "cuda/ptx/memory.cuh"
#include "zeroulp/cuda.hpp"

namespace zeroulp::cuda {

/// `bytes`: size of an element.
inline device_rows rows_of(const const_matrix& x, int bytes) {
  const bool vectorized = bytes == 4   ? is_vectorized<4>(x.data, x.stride)
                          : bytes == 2 ? is_vectorized<2>(x.data, x.stride)
                                       : is_vectorized<1>(x.data, x.stride);
  const auto tiles = static_cast<std::uint32_t>(ceil_div(x.cols, tile_edge));
  return {const_cast<void*>(x.data),     x.rows, x.cols, x.stride, vectorized,
          divisor(tiles > 0 ? tiles : 1)};
}

/// Reads elements (row0, col0) to (row0 + Rows - 1, col0 + 7); zeros outside.
template <int Bytes, int Rows>
__device__ void load_rows(const device_rows& from, std::ptrdiff_t row0,
                          std::ptrdiff_t col0, vec8<Bytes> (&x)[Rows]) {
  const std::ptrdiff_t stride = from.stride * Bytes;
  const char* row = from.row<Bytes>(row0);
  if (from.vectorized && row0 + Rows <= from.rows && col0 + 8 <= from.cols) {
#pragma unroll
    for (int i = 0; i < Rows; ++i, row += stride) {
      x[i] = load<Bytes>(row, col0, col0 + 8, true);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < Rows; ++i, row += stride) {
    x[i] = {};
    if (row0 + i < from.rows) {
      x[i] = load<Bytes>(row, col0, from.cols, from.vectorized);
    }
  }
}

/// The place of a thread's 8 x 8 elements in a matrix whose rows are aligned
/// and have a multiple of eight elements. Rows and vec8s beyond the matrix
/// repeat its last ones. That changes no amax, and no access needs a branch.
struct vec8_column {
  int last;    ///< the last existing row, at most 7; < 0: none
  bool is_in;  ///< the columns are in the matrix
  std::ptrdiff_t row0, col0;

  __device__ vec8_column(const device_rows& x, const tile_origin& origin,
                         thread_coords t)
      : row0(origin.row0 + 8 * t.a), col0(origin.col0 + 8 * t.c) {
    const std::ptrdiff_t rows = x.rows - row0;
    last = static_cast<int>(rows < 8 ? rows : 8) - 1;
    is_in = col0 < x.cols;
  }
  template <int Bytes>
  __device__ void load(const device_rows& from, vec8<Bytes> (&x)[8]) const {
    for_each<Bytes>(from, [&](int i, const char* at) {
      x[i] = cuda::load<Bytes>(at, 0, 8, true);
    });
  }
  /// As load, but the compiler may not elide the loads. For data read a while
  /// ago, from the L1.
  template <int Bytes>
  __device__ void load_again(const device_rows& from,
                             vec8<Bytes> (&x)[8]) const {
    static_assert(Bytes <= 2);
    for_each<Bytes>(from, [&](int i, const char* at) {
      auto& w = x[i].words;
      ptx::load_again(x[i].words, at);
    });
  }

 private:
  template <int Bytes, class Use>
  __device__ void for_each(const device_rows& from, Use use) const {
    const std::ptrdiff_t col = is_in ? col0 : from.cols - 8;
    const char* at =
        from.row<Bytes>(last < 0 ? from.rows - 1 : row0) + col * Bytes;
    const std::ptrdiff_t stride = from.stride * Bytes;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      use(i, at);
      if (i < last) at += stride;
    }
  }
};

/// Writes a thread's vec8s, row by row, to a matrix whose vec8s are whole.
template <int Bytes>
class vec8_writer {
 public:
  /// Writes columns col0 to col0 + 7 from row0 on, if `wanted`. Elements beyond
  /// the matrix are left out.
  __device__ vec8_writer(const device_rows& to, std::ptrdiff_t row0,
                         std::ptrdiff_t col0, bool wanted = true)
      : at_(to.row<Bytes>(row0) + col0 * Bytes),
        stride_(to.stride * Bytes),
        left_(wanted && col0 < to.cols
                  ? static_cast<int>(
                        min(to.rows - row0, std::ptrdiff_t{tile_edge}))
                  : 0) {
    forget();
  }
  __device__ vec8_writer(const device_rows& to, const vec8_column& where)
      : vec8_writer(to, where.row0, where.col0, where.is_in) {}

  /// Writes row i. Rows must come in order.
  __device__ void put(int i, const vec8<Bytes>& x) {
    if (i < left_) {
      __builtin_assume(__isGlobal(at_));
      store<Bytes>(at_, 0, 8, true, x);
    }
    at_ += stride_;
    forget();
  }
  /// Writes row i, with a writer that has not advanced.
  __device__ void put_at(int i, const vec8<Bytes>& x) {
    at_ += i * stride_;
    if (i < left_) {
      __builtin_assume(__isGlobal(at_));
      store<Bytes>(at_, 0, 8, true, x);
    }
  }

 private:
  /// Hides the address from the compiler, which would otherwise compute each
  /// row's from the first row's.
  __device__ void forget() { asm("" : "+l"(at_), "+l"(stride_)); }

  char* at_;
  std::ptrdiff_t stride_;
  int left_;
};

/// Returns true iff vec8_column can access all of x, and of y if it has data.
inline bool is_of_vec8s(const device_rows& x, const device_rows& y) {
  return x.vectorized && x.cols % 8 == 0 && (y.data == nullptr || y.vectorized);
}

/// Writes a tile to its place in the transposed matrix: see transposing_tile.
template <int Bytes>
__device__ void store_transposed(const transposing_tile<Bytes>& tile,
                                 const device_rows& to, tile_origin origin) {
  const bool has_pairs = Bytes != 1 || starts_on(16, to.data, to.stride);
  if (!to.vectorized || !has_pairs || origin.col0 + tile_edge > to.rows ||
      origin.row0 + tile_edge > to.cols) {
    tile.store_transposed(to, origin.row0, origin.col0);
    return;
  }
  if constexpr (Bytes == 1) {  // two vec8s at once
    const unsigned chunk = threadIdx.x % 8, first = threadIdx.x / 8;
    const bool swapped = first / 8 % 2 != 0;
    char* row = to.row<1>(origin.col0 + first) + origin.row0 + 16 * chunk;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i, row += 32 * to.stride) {
      const unsigned at = (2 * chunk ^ first / 8 ^ 4 * i) & ~1u;
      const auto two =
          *reinterpret_cast<const uint4*>(&tile.vec8s[first + 32 * i][at]);
      *reinterpret_cast<uint4*>(row) = {
          swapped ? two.z : two.x, swapped ? two.w : two.y,
          swapped ? two.x : two.z, swapped ? two.y : two.w};
    }
  } else {
    const thread_coords t;
    char* row = to.row<Bytes>(origin.col0 + t.a);
    const std::ptrdiff_t first = origin.row0 + 8 * t.c;
#pragma unroll
    for (int i = 0; i < 8; ++i, row += 16 * to.stride * Bytes) {
      const int column = t.a + 16 * i;
      store<Bytes>(row, first, first + 8, true,
                   tile.vec8s[column][t.c ^ (column / 8)]);
    }
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_ROWS_CUH_
