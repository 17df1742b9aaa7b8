// Defines the scaling of partial sums into the FP32 accumulators.
//
// A thread's wgmma fragment: element 4 j + 2 h + e is in the thread's row h (0
// or 1) and column 8 j + pair + e.

#ifndef ZEROULP_CUDA_GEMM_SCALING_CUH_
#define ZEROULP_CUDA_GEMM_SCALING_CUH_

#include "zeroulp/core/convention.hpp"

namespace zeroulp::cuda {

namespace detail {

/// Returns acc with p added, as the core's promote() does it. `both`: fl(sa
/// sb).
template <promotion Update>
__device__ float promoted(float acc, float p, float sa, float sb, float both) {
  if constexpr (Update == promotion::product_of_scales) {
    return __fmaf_rn(p, both, acc);
  } else {
    return __fmaf_rn(__fmul_rn(p, sa), sb, acc);
  }
}

}  // namespace detail

// A scaling holds a thread's scales for 64 rows of a tile. While the tensor
// core works, `find_columns` and `find_rows` locate them in a stage. `promote`
// remains to be done once p has arrived.
//
// `b_rows`: rows of B that share a scale. `b_scales`: scales of B in a tile.
// `reads_late`: promote reads the stage.

/// One scale for each 128 columns. `Scales`: 1 if a tile lies within one block
/// of columns, 2 if it may straddle two.
template <promotion Update, int Scales = 1>
struct block_scaling {
  static constexpr int b_rows = 128, b_scales = Scales;
  static constexpr bool reads_late = false;
  float sa[2];
  float sb[Scales];
  int in_first;  ///< columns from the tile's first to its block's end

  __device__ __forceinline__ void find_rows(const float* a) {
    sa[0] = a[0], sa[1] = a[8];
  }
  __device__ __forceinline__ void find_columns(const float* b, int column) {
#pragma unroll
    for (int i = 0; i < Scales; ++i) sb[i] = b[i];
    in_first = b_rows - column % b_rows;
  }

  template <int Count>
  __device__ __forceinline__ void promote(float (&acc)[Count],
                                          const float (&p)[Count]) const {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const float a = sa[i / 2 % 2];
      const float b =
          Scales == 1 || i / 4 * 8 < in_first ? sb[0] : sb[Scales - 1];
      acc[i] = detail::promoted<Update>(acc[i], p[i], a, b, __fmul_rn(a, b));
    }
  }
};

/// One scale for each column. Registers are scarce, so only the first `Early`
/// pairs of columns stay in registers for all rows of a stage. They are read
/// while the tensor core works, the others when they are needed.
template <promotion Update, int Width, int Early = 0>
struct column_scaling {
  static constexpr int b_rows = 1, b_scales = Width;
  static constexpr bool reads_late = true;
  float sa[2];
  const float* sb;
  float2 early[Width / 8];  ///< only the first Early are used

  __device__ __forceinline__ void find_rows(const float* a) {
    sa[0] = a[0], sa[1] = a[8];
  }
  __device__ __forceinline__ void find_columns(const float* b, int /*column*/) {
    sb = b + threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < Early; ++j) early[j] = pair(j);
  }

  __device__ __forceinline__ void promote(float (&acc)[Width / 2],
                                          const float (&p)[Width / 2]) const {
#pragma unroll
    for (int j = 0; j < Width / 8; ++j) {
      const float2 two = j < Early ? early[j] : pair(j);
#pragma unroll
      for (int i = 4 * j; i < 4 * j + 4; ++i) {
        const float a = sa[i / 2 % 2], b = i % 2 == 0 ? two.x : two.y;
        acc[i] = detail::promoted<Update>(acc[i], p[i], a, b, __fmul_rn(a, b));
      }
    }
  }

 private:
  __device__ __forceinline__ float2 pair(int j) const {
    return *reinterpret_cast<const float2*>(sb + 8 * j);
  }
};

/// One scale for the whole of A and of B, or none: acc = fl(acc + p) after
/// every params.interval elements of K. The scales are applied at the end.
struct matrix_scaling {
  static constexpr int b_rows = 0;  ///< no scale is copied
};

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_SCALING_CUH_
