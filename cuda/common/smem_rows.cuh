// Defines how half a warp holds rows of 128 columns in shared memory, a lane
// its vec8s of them, and quantizes the results there. Loops over rows are
// barely unrolled: instructions that run only once must be fetched, which is
// slower than running those at hand.
//
//   TMA boxes of the inputs -> a row at a time: numbers -> a lane a group:
//   amax, scale and factors -> a row at a time: codes

#ifndef ZEROULP_CUDA_COMMON_SMEM_ROWS_CUH_
#define ZEROULP_CUDA_COMMON_SMEM_ROWS_CUH_

#include <cuda.h>

#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp.cuh"
#include "cuda/quantize/rows_1x128.cuh"

namespace zeroulp::cuda {

/// Rows per half warp, and per TMA box.
inline constexpr int smem_rows = 8;
inline constexpr int smem_box_rows = 4;

namespace detail {

/// Vec8s of a block's threads, ordered by warp, then by row.
template <unsigned Threads, int Bytes>
struct alignas(128) smem_vec8s {
  vec8<Bytes> of[smem_rows * Threads];

  /// The vec8 of row i.
  __device__ vec8<Bytes>& at(unsigned slot, int i) {
    return of[slot + 32 * static_cast<unsigned>(i)];
  }
};

/// The place of a thread's first vec8 among smem_vec8s.
__device__ inline unsigned slot_of_thread(unsigned thread) {
  return thread / 32 * (32 * smem_rows) + thread % 32;
}

/// A kernel's parameters with tensor maps of its inputs. A warp's box has
/// smem_box_rows x 256 elements.
template <class Params, int Inputs>
struct with_tensor_maps {
  Params params;
  divisor boxes;  ///< boxes in a row
  CUtensorMap maps[Inputs];
};

/// The place of a warp in matrices of one shape, and of this half of it. A half
/// without columns is placed beyond the last row.
struct smem_position {
  unsigned warp;
  unsigned row, column;  ///< start of its boxes
  half_warp_position at;
  unsigned mine;  ///< see slot_of_thread

  /// In a block of so many threads.
  __device__ smem_position(const device_rows& x, divisor boxes,
                           unsigned threads)
      : warp(__shfl_sync(all_lanes, threadIdx.x / 32, 0)),
        mine(slot_of_thread(threadIdx.x)) {
    const auto box = boxes.divide(blockIdx.x * (threads / 32) + warp);
    row = box.quotient * smem_rows;
    column = box.rest * (2 * tile_edge);
    const bool is_second = threadIdx.x % 32 >= 16;
    const bool has_second = column + tile_edge < static_cast<unsigned>(x.cols);
    at = {is_second && !has_second ? static_cast<unsigned>(x.rows) : row,
          2 * box.rest + (is_second && has_second ? 1u : 0u)};
    asm("" : "+r"(mine));  // otherwise addresses are recomputed for each row
  }
  /// Writes the vec8s x(i) that are inside the matrix, if they are wanted.
  template <class X>
  __device__ void put(X x, const device_rows& to) const {
    if (to.data == nullptr) return;
    vec8_writer<2> writer(to, at.row0, column_of_vec8(at.group));
#pragma unroll 1
    for (int i = 0; i < smem_rows; ++i) writer.put(i, x(i));
  }
};

/// A warp's TMA loads in flight. The boxes of its first rows arrive first.
struct smem_loads {
  ptx::barrier parts[smem_rows / smem_box_rows];

  /// Called by the whole warp; reads no memory.
  __device__ void prepare() {
    if (ptx::elect_one()) {
      for (ptx::barrier& part : parts) ptx::initialize(part, 1);
      ptx::fence_barrier_init();
    }
    // The assembler may elect another lane later; racecheck wants the order.
    __syncwarp();
  }
  /// Prefetches the boxes into the L2, if the block begins early. Called by the
  /// whole warp.
  template <class Params, int Inputs>
  __device__ void prefetch(const smem_position& position,
                           const with_tensor_maps<Params, Inputs>& asked) {
    if (!begins_early()) return;
    if (ptx::elect_one()) {
#pragma unroll
      for (int row = 0; row < smem_rows; row += smem_box_rows) {
        for (const CUtensorMap& map : asked.maps) {
          ptx::tma_prefetch(map, static_cast<int>(position.column),
                            static_cast<int>(position.row) + row, 0);
        }
      }
    }
  }
  /// Issues the TMA loads. Called by the whole warp.
  template <unsigned Threads, class Params, int... Bytes>
  __device__ void tma_load(
      const smem_position& position,
      const with_tensor_maps<Params, sizeof...(Bytes)>& asked,
      smem_vec8s<Threads, Bytes>&... to) {
    if (ptx::elect_one()) {
#pragma unroll
      for (int row = 0; row < smem_rows; row += smem_box_rows) {
        ptx::barrier& part = parts[row / smem_box_rows];
        ptx::arrive_expect_tx(part,
                              2 * tile_edge * smem_box_rows * (Bytes + ...));
        const CUtensorMap* map = asked.maps;
        (ptx::tma_load(&to.at(position.warp * 32 * smem_rows, row), *map++,
                       part, static_cast<int>(position.column),
                       static_cast<int>(position.row) + row, 0),
         ...);
      }
    }
    __syncwarp();
  }
  /// Waits for the box that holds this row.
  __device__ void wait_for(int row) {
    ptx::wait(parts[row / smem_box_rows], 0);
  }
};

/// The warp-wide maximum of two_largest(first(i), second(i)), in the lanes
/// whose row is i = lane % smem_rows.
template <class First, class Second>
__device__ std::uint32_t largest_in_smem(First first, Second second) {
  std::uint32_t two[smem_rows];
#pragma unroll
  for (int i = 0; i < smem_rows; ++i) {
    two[i] = two_largest(first(i), second(i));
    if (i % 2 != 0) asm volatile("" ::: "memory");  // not all loads at once
  }
  return largest_pair_of_rows(two);
}

/// Quantizes the vec8s first(i) of the first target, and second(i) of the
/// second if there is one. `largest` is from largest_in_smem. Quantizes all
/// vec8s or none; if none, the core must do it.
template <class Out, class Vec8s, class First, class Second>
__device__ __forceinline__ unfinished_vec8s
quantize_in_smem(const quantizer_plan& plan, const Vec8s& vec8s,
                 std::uint32_t largest, First first, Second second) {
  const bool of_second = threadIdx.x % Vec8s::count >= smem_rows;
  largest = of_second ? largest & 0xffff0000 : largest << 16;
  group_factors mine;
  if (!find_groups(plan, {}, vec8s, largest, mine)) return {true};
  constexpr bool has_second = Vec8s::count > smem_rows;
  const auto put_codes = [&](auto codes_of) {
    const auto put_target = [&](int first_group, auto of) {
      auto to = writer_of<Out>(vec8s, first_group);
#pragma unroll 4
      for (int i = 0; i < smem_rows; ++i) {
        to.put(i, codes_of(first_group + i, of(i)));
      }
    };
    put_target(0, first);
    if constexpr (has_second) put_target(smem_rows, second);
  };
  const auto put_group = [&](int group, auto codes_of) {
    const int i = group % smem_rows;
    const bool is_first = !has_second || group < smem_rows;
    const vec8<2> x = is_first ? vec8<2>{first(i)} : vec8<2>{second(i)};
    const auto codes = codes_of(group, x);
    if (is_first) {
      writer_of<Out>(vec8s, 0).put_at(i, codes);
    } else {
      writer_of<Out>(vec8s, smem_rows).put_at(i, codes);
    }
  };
  const bool done =
      by_factors<Out, Vec8s::count>(plan, mine, largest, put_codes, put_group);
  return {!done};
}

}  // namespace detail
}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_SMEM_ROWS_CUH_
