// Defines the kernel of cuda::gemm_bf16: D = A B^T of BF16 operands by wgmma.
// It is persistent: a block computes one tile after another.
//
//   load thread   waits for an empty stage -> TMA loads of 64 elements of K of
//                 A and B
//   math warps    wait for a full stage -> four wgmma for each 64 rows ->
//                 release the stage before; at the end of K: D from registers,
//                 if it is BF16 in rows of whole boxes by TMA stores, which
//                 end while the next tile is computed
//
// An operand lies in a stage as it lies in memory: rows of 64 elements of K, or
// boxes of 64 elements along M (N) by 64 of K. Every output sees the same
// products in the same order whatever the tile, so that its bits depend on
// nothing else. Source: SPEC clauses G and T12.

#ifndef ZEROULP_CUDA_MODEL_GEMM_BF16_CUH_
#define ZEROULP_CUDA_MODEL_GEMM_BF16_CUH_

#include <cuda.h>
#include <cuda_runtime.h>

#include "cuda/common/pipeline.cuh"
#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::cuda {

using ptx::operand_major;

inline constexpr int bf16_chunk = 64;  ///< elements of K of a stage
inline constexpr int bf16_threads = 384;
inline constexpr int bf16_math_warps = 8;
/// 16 rows of 64 elements of D.
inline constexpr int d_box_bytes = 16 * 64 * 2;

struct bf16_params {
  CUtensorMap a_map, b_map;
  CUtensorMap d_map;  ///< if D goes in boxes
  int m, n, k;
  int k_of_split;  ///< a multiple of the chunk
  int tiles_m, tiles_n;
  int inner, outer;      ///< matrices of the batch
  int a_inner, a_outer;  ///< 0: all of them read the first
  int b_inner, b_outer;
  gemm_span span;
  bool narrow;       ///< D is BF16
  bool wide_stores;  ///< pairs of an FP32 D are stored at once
  bool boxed;        ///< D is stored by TMA: 16 rows of 64 elements at a time
  float factor;
  void* d;
  std::ptrdiff_t d_stride;
  batch_strides d_batch;
  std::uint32_t* row_sums;
  batch_strides row_sums_batch;
};

/// A tile of 128 Waves x N outputs; a warp group has 64 Waves of its rows.
/// Splits: K is summed in parts. Sums: row sums, too.
template <int Waves, int N, operand_major A, operand_major B, bool Splits,
          bool Sums>
struct bf16_shape {
  static constexpr int waves = Waves;
  static constexpr int m = 128 * Waves;
  static constexpr int n = N;
  static constexpr operand_major a_major = A;
  static constexpr operand_major b_major = B;
  static constexpr bool splits = Splits;
  static constexpr bool sums = Sums;
  static constexpr int a_bytes = m * bf16_chunk * 2;
  static constexpr int b_bytes = n * bf16_chunk * 2;
  static constexpr int stages = 200 * 1024 / (a_bytes + b_bytes);
  static constexpr int ones_bytes = Sums ? 1024 : 0;
  /// Boxes of D that a math warp has under way.
  static constexpr int boxes =
      stages * (a_bytes + b_bytes) > 192 * 1024 ? 1 : 2;
  static constexpr int shared_bytes =
      stages * (a_bytes + b_bytes) + bf16_math_warps * boxes * d_box_bytes +
      ones_bytes + 2 * stages * 8 + 1024;  // for alignment
  static_assert(shared_bytes <= 227 * 1024);
  // A tile ends with the box that it does not begin with.
  static_assert(waves * n / 64 % boxes == 0);
};

namespace detail {

/// 64 elements along M (N) by 64 of K.
constexpr int box_bytes = 64 * bf16_chunk * 2;

template <class Shape>
struct bf16_shared {
  char* start;  ///< a multiple of 1024

  __device__ explicit bf16_shared(char* raw)
      : start(raw + (1024 - ptx::address_of(raw) % 1024) % 1024) {}
  __device__ char* a(int stage) const { return start + stage * Shape::a_bytes; }
  __device__ char* b(int stage) const {
    return start + Shape::stages * Shape::a_bytes + stage * Shape::b_bytes;
  }
  __device__ char* d_box(int warp, int box) const {
    return start + Shape::stages * (Shape::a_bytes + Shape::b_bytes) +
           (warp * Shape::boxes + box) * d_box_bytes;
  }
  __device__ char* ones() const { return d_box(bf16_math_warps, 0); }
  __device__ ptx::barrier* full() const {
    return reinterpret_cast<ptx::barrier*>(ones() + Shape::ones_bytes);
  }
  __device__ ptx::barrier* empty() const { return full() + Shape::stages; }
};

/// A tile of a matrix of the batch, and the chunks of K that it reads.
struct bf16_work {
  int row, column;
  int inner, outer;
  int k_begin;  ///< a multiple of the chunk
  int chunks;
};

/// Yields the tiles of this block: eight along M and all along N lie together.
template <class Shape>
class bf16_scheduler {
 public:
  __device__ explicit bf16_scheduler(const bf16_params& p)
      : p_(p), tiles_(p.tiles_m * p.tiles_n) {}

  __device__ bool next(bf16_work& t) {
    for (; index_ < tiles_ * p_.inner * p_.outer; index_ += gridDim.x) {
      const int matrix = index_ / tiles_;
      const int in_group = 8 * p_.tiles_n;
      const int at = index_ - matrix * tiles_;
      const int first = at / in_group * 8;
      const int height = min(8, p_.tiles_m - first);
      const int rest = at - first * p_.tiles_n;
      t.row = (first + rest % height) * Shape::m;
      t.column = rest / height * Shape::n;
      if (p_.span == gemm_span::lower && t.column > t.row + Shape::m - 1) {
        continue;
      }
      t.outer = matrix / p_.inner;
      t.inner = matrix - t.outer * p_.inner;
      const int end = p_.span == gemm_span::to_diagonal
                          ? min(p_.k, t.row + Shape::m)
                          : p_.k;
      t.k_begin = p_.span == gemm_span::from_diagonal ? min(end, t.row) : 0;
      t.chunks = (end - t.k_begin + bf16_chunk - 1) / bf16_chunk;
      index_ += gridDim.x;
      return true;
    }
    return false;
  }

 private:
  const bf16_params& p_;
  int tiles_;
  int index_ = static_cast<int>(blockIdx.x);
};

/// Begins to load `Size` rows and a chunk of K of an operand.
template <operand_major Major, int Size>
__device__ void load_operand(char* to, const CUtensorMap& map,
                             ptx::barrier& full, int mn, int k, int inner,
                             int outer) {
  if constexpr (Major == operand_major::k) {
    ptx::tma_load_of_batch(to, map, full, k, mn, inner, outer);
  } else {
#pragma unroll
    for (int i = 0; i < Size / 64; ++i) {
      ptx::tma_load_of_batch(to + i * box_bytes, map, full, mn + 64 * i, k,
                             inner, outer);
    }
  }
}

template <class Shape>
__device__ void load_tiles(const bf16_params& p,
                           const bf16_shared<Shape>& shared) {
  pipeline_state<Shape::stages> at;
  bf16_scheduler<Shape> scheduler(p);
  bf16_work t{};
  while (scheduler.next(t)) {
    for (int i = 0; i < t.chunks; ++i, at.advance()) {
      const int k = t.k_begin + i * bf16_chunk;
      wait_empty(shared.empty(), at);
      auto& full = shared.full()[at.stage];
      ptx::arrive_expect_tx(full, Shape::a_bytes + Shape::b_bytes);
      load_operand<Shape::a_major, Shape::m>(shared.a(at.stage), p.a_map, full,
                                             t.row, k, t.inner * p.a_inner,
                                             t.outer * p.a_outer);
      load_operand<Shape::b_major, Shape::n>(shared.b(at.stage), p.b_map, full,
                                             t.column, k, t.inner * p.b_inner,
                                             t.outer * p.b_outer);
    }
  }
}

/// The descriptor of 64 rows of A, or of B, 16 elements of K from `k` on.
template <operand_major Major>
__device__ std::uint64_t descriptor_at(ptx::shared_address tile, int k) {
  return Major == operand_major::k
             ? ptx::descriptor(tile + static_cast<unsigned>(2 * k))
             : ptx::mn_major_descriptor(tile + static_cast<unsigned>(128 * k));
}

template <class Shape>
struct bf16_sums {
  static constexpr int count = Shape::n / 2;
  float c[Shape::waves][count];
  float total[Shape::splits ? Shape::waves : 1][Shape::splits ? count : 1];
  float rows[Shape::waves][4];

  __device__ void clear() {
#pragma unroll
    for (int w = 0; w < Shape::waves; ++w) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        c[w][i] = 0;
        if constexpr (Shape::splits) total[w][i] = 0;
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) rows[w][i] = 0;
    }
  }
  __device__ void fence() {
#pragma unroll
    for (int w = 0; w < Shape::waves; ++w) {
      ptx::fence_registers(c[w]);
      if constexpr (Shape::sums) ptx::fence_registers(rows[w]);
    }
  }
  /// A split of K ends.
  __device__ void end_split() {
    if constexpr (Shape::splits) {
#pragma unroll
      for (int w = 0; w < Shape::waves; ++w) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
          total[w][i] = __fadd_rn(total[w][i], c[w][i]);
          c[w][i] = 0;
        }
      }
    }
  }
};

/// The products of a stage.
template <class Shape>
__device__ void multiply_stage(const bf16_shared<Shape>& shared, int stage,
                               int group, bf16_sums<Shape>& sums) {
  // 64 rows of A take 8192 bytes in either layout.
  const auto a = ptx::address_of(shared.a(stage)) +
                 static_cast<unsigned>(group * Shape::waves * box_bytes);
  const auto b = ptx::address_of(shared.b(stage));
  ptx::begin_wgmma();
#pragma unroll
  for (int k = 0; k < bf16_chunk; k += 16) {
#pragma unroll
    for (int w = 0; w < Shape::waves; ++w) {
      const auto of_a = descriptor_at<Shape::a_major>(
          a + static_cast<unsigned>(w * box_bytes), k);
      ptx::wgmma_bf16<Shape::n, Shape::a_major, Shape::b_major>::run(
          sums.c[w], of_a, descriptor_at<Shape::b_major>(b, k));
      if constexpr (Shape::sums) {
        ptx::wgmma_bf16<8, Shape::a_major, operand_major::k>::run(
            sums.rows[w], of_a,
            ptx::descriptor(ptx::address_of(shared.ones())));
      }
    }
  }
  ptx::commit_wgmma();
}

/// Two neighbours of a row of D, from registers.
struct bf16_output {
  const bf16_params& p;
  std::ptrdiff_t offset;  ///< of the matrix

  __device__ void put(int row, int column, float x, float y) const {
    if (row >= p.m || column >= p.n) return;
    const std::ptrdiff_t at = offset + row * p.d_stride + column;
    const bool both = column + 1 < p.n;
    if (p.narrow) {
      auto* const d = static_cast<std::uint16_t*>(p.d) + at;
      d[0] = ptx::cvt_bf16(x);
      if (both) d[1] = ptx::cvt_bf16(y);
      return;
    }
    auto* const d = static_cast<float*>(p.d) + at;
    if (p.wide_stores) {
      *reinterpret_cast<float2*>(d) = {x, y};
    } else {
      d[0] = x;
      if (both) d[1] = y;
    }
  }
};

/// Stores 16 rows of D from `row` on: each 64 columns to shared memory, in the
/// 128-byte swizzle, and from there by TMA. words(i): neighbours 2i and 2i + 1
/// of this thread's part of the rows.
template <class Shape, class Words>
__device__ void store_in_boxes(const bf16_params& p, const bf16_work& t,
                               const bf16_shared<Shape>& shared, int warp,
                               int row, Words words) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned line = lane / 4;
  if (row >= p.m) return;
#pragma unroll
  for (int i = 0; i < Shape::n / 64; ++i) {
    const int column = t.column + 64 * i;
    const bool inside = column < p.n;
    char* const box = shared.d_box(warp, i % Shape::boxes);
    // The store before the last has read what lies there.
    if (lane == 0) ptx::tma_store_wait<Shape::boxes - 1>();
    __syncwarp();
    if (inside) {
#pragma unroll
      for (unsigned j = 0; j < 8; ++j) {
        char* const to = box + line * 128 + (j ^ line) * 16 + lane % 4 * 4;
        const int at = 16 * i + 2 * static_cast<int>(j);
        *reinterpret_cast<std::uint32_t*>(to) = words(at);
        *reinterpret_cast<std::uint32_t*>(to + 8 * 128) = words(at + 1);
      }
      ptx::fence_proxy_async();
      __syncwarp();
      if (lane == 0) {
        ptx::tma_store_of_batch(p.d_map, box, column, row, t.inner, t.outer);
      }
    }
    // At times of none, as boxes take turns.
    if (lane == 0) ptx::tma_store_commit();
  }
}

template <class Shape>
__device__ void store_tile(const bf16_params& p, const bf16_work& t,
                           const bf16_shared<Shape>& shared, int warp,
                           const bf16_sums<Shape>& sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bf16_output out{p,
                        t.outer * p.d_batch.outer + t.inner * p.d_batch.inner};
#pragma unroll
  for (int w = 0; w < Shape::waves; ++w) {
    const int first_row =
        t.row + (warp / 4 * Shape::waves + w) * 64 + warp % 4 * 16;
    const int row = first_row + lane / 4;
    const auto result = [&](int i) {
      float x = sums.c[w][i];
      if constexpr (Shape::splits) x = __fadd_rn(sums.total[w][i], x);
      return p.factor != 1.0f ? __fmul_rn(x, p.factor) : x;
    };
    if (p.boxed) {
      store_in_boxes(p, t, shared, warp, first_row, [&](int i) {
        return ptx::cvt_bf16x2(result(2 * i), result(2 * i + 1));
      });
    } else {
#pragma unroll
      for (int i = 0; i < Shape::n / 2; i += 4) {
        const int column = t.column + 2 * i + lane % 4 * 2;
        out.put(row, column, result(i), result(i + 1));
        out.put(row + 8, column, result(i + 2), result(i + 3));
      }
    }
    if constexpr (Shape::sums) {
      if (t.column > 0 || lane % 4 != 0) continue;
      std::uint32_t* const to = p.row_sums + t.outer * p.row_sums_batch.outer +
                                t.inner * p.row_sums_batch.inner;
      if (row < p.m) to[row] = __float_as_uint(sums.rows[w][0]);
      if (row + 8 < p.m) to[row + 8] = __float_as_uint(sums.rows[w][2]);
    }
  }
}

template <class Shape>
__device__ void multiply_tiles(const bf16_params& p,
                               const bf16_shared<Shape>& shared, int warp) {
  const int group = warp / 4;
  pipeline_state<Shape::stages> at, before;
  bf16_sums<Shape> sums;
  bf16_scheduler<Shape> scheduler(p);
  bf16_work t{};
  const auto release = [&](int stage) {
    arrive_as_warp(shared.empty()[stage]);
  };
  while (scheduler.next(t)) {
    // The chunks of this group's rows; causal tiles have 64 rows a group.
    int first = 0, last = t.chunks;
    const int below = group * 64;
    if (p.span == gemm_span::from_diagonal) first = min(last, below / 64);
    if (p.span == gemm_span::to_diagonal)
      last = min(last, (t.row + below) / 64 + 1);
    sums.clear();
    int i = 0;
    for (; i < first; ++i, at.advance()) {
      wait_full(shared.full(), at);
      release(at.stage);
    }
    sums.fence();
    for (; i < last; ++i) {
      if constexpr (Shape::splits) {
        if (i > 0 && i * bf16_chunk % p.k_of_split == 0) {
          ptx::wait_for_wgmma();
          sums.fence();
          sums.end_split();
          sums.fence();
        }
      }
      wait_full(shared.full(), at);
      multiply_stage(shared, at.stage, group, sums);
      ptx::wait_for_wgmma<1>();
      if (i > first) release(before.stage);
      before = at;
      at.advance();
    }
    ptx::wait_for_wgmma();
    sums.fence();
    if (last > first) release(before.stage);
    for (; i < t.chunks; ++i, at.advance()) {
      wait_full(shared.full(), at);
      release(at.stage);
    }
    store_tile(p, t, shared, warp, sums);
  }
  // Shared memory is read until here.
  if (threadIdx.x % 32 == 0) ptx::tma_store_wait();
}

}  // namespace detail

/// Grid: at most a block a multiprocessor. Warps 0 to 7 multiply, warp 8 loads.
template <class Shape>
__global__ void __launch_bounds__(bf16_threads, 1)
    multiply_bf16(const __grid_constant__ bf16_params p) {
  extern __shared__ char raw[];
  const detail::bf16_shared<Shape> shared(raw);
  const int warp = static_cast<int>(
      ptx::make_warp_uniform(static_cast<unsigned>(threadIdx.x) / 32));
  if (threadIdx.x == 0) {
    for (int i = 0; i < Shape::stages; ++i) {
      initialize_stage(shared.full()[i], 1, shared.empty()[i],
                       bf16_math_warps * releasing_lanes);
    }
    ptx::fence_barrier_init();
  }
  if constexpr (Shape::sums) {
    auto* const ones = reinterpret_cast<std::uint32_t*>(shared.ones());
    for (int i = static_cast<int>(threadIdx.x); i < Shape::ones_bytes / 4;
         i += bf16_threads) {
      ones[i] = 0x3f803f80;
    }
    ptx::fence_proxy_async();
  }
  __syncthreads();
  if (warp >= bf16_math_warps) {
    ptx::warpgroup_reg_dealloc<40>();
    if (warp == bf16_math_warps && ptx::elect_one()) {
      detail::load_tiles(p, shared);
    }
  } else {
    ptx::warpgroup_reg_alloc<232>();
    detail::multiply_tiles(p, shared, warp);
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_MODEL_GEMM_BF16_CUH_
