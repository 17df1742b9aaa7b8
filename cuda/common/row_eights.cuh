// Defines how kernels go through matrices by eight neighbours of a row a
// thread.

#ifndef ZEROULP_CUDA_COMMON_ROW_EIGHTS_CUH_
#define ZEROULP_CUDA_COMMON_ROW_EIGHTS_CUH_

#include <span>

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/arithmetic.cuh"
#include "cuda/common/vec8.cuh"
#include "cuda/ptx/memory.cuh"

namespace zeroulp::cuda {

inline constexpr int eights_threads = 256;
/// Elements of a row that a block has.
inline constexpr int eights_span = 8 * eights_threads;

/// A matrix in memory whose rows are read and written by eights: at once if
/// they are aligned. Without data there is none.
template <class T>
struct eights_matrix {
  static constexpr int bytes = sizeof(T);
  T* data = nullptr;
  std::ptrdiff_t rows = 0, cols = 0, stride = 0;
  bool vectorized = false;
  /// Its rows are aligned and have a multiple of eight elements.
  bool whole = true;

  eights_matrix() = default;
  /// Elements of a row are adjacent.
  explicit eights_matrix(matrix_view<T> x)
      : data(x.data),
        rows(x.rows),
        cols(x.cols),
        stride(x.row_stride),
        vectorized(is_vectorized<bytes>(x.data, x.row_stride)),
        whole(vectorized && x.cols % 8 == 0) {}

  __device__ vec8<bytes> get(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return load<bytes>(data + i * stride, j, cols, vectorized);
  }
  /// The same if `inside`, else zeros. Whole, of matrices that are: without a
  /// branch, so that many loads are under way at once.
  template <bool Whole>
  __device__ vec8<bytes> get_if(bool inside, std::ptrdiff_t i,
                                std::ptrdiff_t j) const {
    if constexpr (Whole) {
      vec8<bytes> x;
      const T* const at = data + i * stride + j;
      ptx::load_if(*reinterpret_cast<std::uint32_t(*)[4]>(x.words), inside, at);
      if constexpr (bytes == 4) {
        ptx::load_if(*reinterpret_cast<std::uint32_t(*)[4]>(x.words + 4),
                     inside, at + 4);
      }
      return x;
    } else {
      return inside ? get(i, j) : vec8<bytes>{};
    }
  }
  __device__ void put(std::ptrdiff_t i, std::ptrdiff_t j,
                      const vec8<bytes>& x) const {
    store<bytes>(data + i * stride, j, cols, vectorized, x);
  }
};

/// A span as a row.
template <class T>
eights_matrix<T> row_of(std::span<T> x) {
  return eights_matrix(
      matrix_view<T>{x.data(), 1, static_cast<std::ptrdiff_t>(x.size())});
}

/// The number of element e: BF16 or FP32.
__device__ inline float number_in(const vec8<2>& x, int e) {
  return __uint_as_float(e % 2 == 0 ? x.words[e / 2] << 16
                                    : x.words[e / 2] & 0xffff0000);
}
__device__ inline float number_in(const vec8<4>& x, int e) {
  return __uint_as_float(x.words[e]);
}

/// The BF16 codes of value(0) to value(7).
template <class Value>
__device__ vec8<2> bf16_codes(Value value) {
  vec8<2> x;
#pragma unroll
  for (int e = 0; e < 8; e += 2) {
    x.words[e / 2] = ptx::cvt_bf16x2(value(e), value(e + 1));
  }
  return x;
}

/// The row and the first of eight columns of this thread.
struct eight_place {
  std::ptrdiff_t row, column;

  __device__ explicit eight_place(std::ptrdiff_t cols) {
    const auto parts =
        static_cast<unsigned>((cols + eights_span - 1) / eights_span);
    const unsigned at = blockIdx.x / parts;
    row = at;
    column = (blockIdx.x - at * parts) * eights_span + 8 * threadIdx.x;
  }
};
inline unsigned eight_blocks(const argument_checks& r, std::ptrdiff_t rows,
                             std::ptrdiff_t cols) {
  return r.blocks(rows * ceil_div(cols, eights_span));
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_ROW_EIGHTS_CUH_
