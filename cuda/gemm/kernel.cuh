// Defines the GEMM kernel: D = A B^T of FP8 codes, promoted to FP32 every 128
// elements of K (with one scale for all: every job.interval). It is persistent:
// a block computes one tile after another.
//
//   load threads    wait for an empty stage -> TMA loads of A and B -> full
//                   barrier
//   scale warps     wait for an empty stage -> load its scales -> full barrier.
//                   One or two load threads and one or two scale warps take
//                   stages in turn
//   consumer warps  wait for a full stage -> for each 64 rows: four wgmma ->
//                   (after the last: wait for the next full stage) -> acc =
//                   promoted(acc, p); at the end of K: epilogue. They free the
//                   stage before its last promotion, or, if that reads it,
//                   once the next products have been started
//
// While one warp group promotes, the tensor core runs another group's products,
// or the group's own next ones (Shape::partials). With a store thread
// (Shape::sends):
//
//   consumer warps  ... the epilogue: wait until the panels are free -> write D
//                   into them
//   store thread    waits until they are full -> a TMA store of one box of D
//                   with each stage of the next tile, from the third on, if it
//                   has enough; after all boxes, frees the panels. With groups
//                   and Shape::flows it also finds the consumers' tiles
//
// With an overlapped epilogue (Shape::flows) wgmma is in flight during it:
//
//   consumer warps  ... the last block of K: once its last products have been
//                   started, D of the first 64 rows into panels -> the next
//                   tile's first products -> the rest of D
//
// K is never split. Every output sees the same operations in the same order,
// whatever the tile, so its bits depend on nothing else. Source: SPEC clauses
// G1 to G13.

#ifndef ZEROULP_CUDA_GEMM_KERNEL_CUH_
#define ZEROULP_CUDA_GEMM_KERNEL_CUH_

#include <type_traits>
#include <utility>

#include "cuda/gemm/mainloop.cuh"
#include "cuda/gemm/producer.cuh"

namespace zeroulp::cuda {
namespace detail {

/// Hands the written panels to the store thread.
template <class Shape>
__device__ __forceinline__ void leave_panels(const gemm_shared<Shape>& shared,
                                             unsigned& parity) {
  ptx::fence_shared();
  free_stage(shared.d_full());
  parity ^= 1;
}

/// The epilogue: adds C and stores D. `parity`: that of the panels' phase, with
/// Shape::sends.
template <class Shape, bool Grouped, int... R>
__device__ __forceinline__ void finish_tile(
    const gemm_job& job, const gemm_tile& t, const gemm_shared<Shape>& shared,
    int warp, ring_place<Shape::stages>& at, tile_acc<Shape>& acc,
    unsigned& parity, std::integer_sequence<int, R...> /*rows*/) {
  const int line = warp / 4 * Shape::rows * 64 + warp % 4 * 16;
  if (job.c_by_boxes) {
#pragma unroll
    for (int j = 0; j < Shape::n; j += Shape::c_columns, at.advance()) {
      ptx::wait(shared.full()[at.stage], at.parity);
      const char* const c = shared.a(at.stage);
      (gemm_output::add_stage(c, line + R * 64, j, acc[R]), ...);
      ptx::fence_shared();
      free_stage(shared.free()[at.stage]);
    }
  } else if (job.c != nullptr) {
    (gemm_output::add_c(job, t, t.row + line + R * 64, acc[R]), ...);
  }
  const bool sends = Shape::sends && job.by_boxes;
  if (sends) ptx::wait(shared.d_free(), parity);
  // Compute the panel's address here. Later, it would take the uniform
  // registers of the main loop.
  const auto panel = [first = shared.panel(warp)](int i) {
    return first + i * gemm_shared<Shape>::panel_step;
  };
  (gemm_output::store<Grouped, Shape, R>(job, t, t.row + line + R * 64, acc[R],
                                         panel),
   ...);
  if (sends) leave_panels(shared, parity);
}

/// The number of K blocks that a warp group multiplies. Negative: the warp
/// group has no rows in the tile and only frees their stages.
///
/// The value comes from lane 0 by one shuffle, and there is no other. Otherwise
/// the compiler does not see that lanes agree, and the pipeline state leaves
/// the uniform registers.
template <class Shape, bool Grouped>
__device__ __forceinline__ int blocks_of(const gemm_tile& t, int warp) {
  const int blocks = t.blocks(Shape::k);
  if constexpr (!Grouped) return blocks;
  const int row = t.row + warp / 4 * Shape::rows * 64;
  return __shfl_sync(0xffffffff, row < t.row_end ? blocks : -blocks, 0);
}

/// Frees the stages of a tile in which this warp group has no rows.
template <class Shape>
__device__ __forceinline__ void pass_over(const gemm_shared<Shape>& shared,
                                          int blocks,
                                          ring_place<Shape::stages>& at) {
  const int passed = blocks < 0 ? -blocks : 0;
  for (int k = 0; k < passed; ++k, at.advance()) {
    ptx::wait(shared.full()[at.stage], at.parity);
    free_stage(shared.free()[at.stage]);
  }
}

/// The consumer warps: main loop and epilogue of every tile.
template <class Shape, class Scaling, ptx::fp8_types Types, bool Grouped>
__device__ void multiply_tiles(const gemm_job& job,
                               const gemm_shared<Shape>& shared, int warp) {
  const gemm_operands first(shared, warp);
  ring_place<Shape::stages> at;
  unsigned parity = 1;
  gemm_schedule<Shape, Grouped> schedule(job);
  gemm_tile t{};
  while (schedule.next(job, t)) {
    const int blocks = blocks_of<Shape, Grouped>(t, warp);
    if constexpr (Grouped) pass_over(shared, blocks, at);
    tile_acc<Shape> acc;
    begin_sums<Shape>(acc);
    sum_tile<Shape, Types>(job, t.column, blocks, shared, warp, first, at, acc,
                           static_cast<Scaling*>(nullptr));
    if constexpr (Grouped) {
      // The sums of an invalid range of K are empty so far: make them NaN. Use
      // a condition: with bit operations ptxas puts accumulator and partial sum
      // in one register bank.
      const float spoiled = __uint_as_float(0x7fffffff);
#pragma unroll
      for (auto& of_row : acc) {
#pragma unroll
        for (float& x : of_row) x = t.is_spoiled ? spoiled : x;
      }
    }
    finish_tile<Shape, Grouped>(job, t, shared, warp, at, acc, parity,
                                std::make_integer_sequence<int, Shape::rows>());
  }
  if constexpr (!Shape::sends) gemm_output::wait_for_panel();
}

/// The consumer warps with an overlapped epilogue (Shape::flows). K is more
/// than one block.
template <class Shape, class Scaling, ptx::fp8_types Types, bool Grouped>
__device__ void multiply_in_flow(const gemm_job& job,
                                 const gemm_shared<Shape>& shared, int warp) {
  static_assert(Shape::rows == 2);
  auto find = [&] {
    if constexpr (finds_ahead<Shape, Grouped>) {
      return [&, found = 0](gemm_tile& of) mutable {
        return shared.board().read(found++, of);
      };
    } else {
      return [&, schedule = gemm_schedule<Shape, Grouped>(job)](
                 gemm_tile& of) mutable { return schedule.next(job, of); };
    }
  }();
  gemm_tile t{}, next{};
  if (!find(next)) return;
  int blocks = blocks_of<Shape, Grouped>(next, warp), next_blocks = 0;
  ring_place<Shape::stages> at;
  tile_flow<Shape, Types, Scaling> flow{
      {shared, warp, gemm_operands(shared, warp), at}, {}, {}};
  unsigned parity = 1;  // of the panels' phase
  const int line = warp / 4 * Shape::rows * 64 + warp % 4 * 16;
  flow.begin(next.column, true);
  for (bool more = true; more;) {
    t = next;
    more = find(next);
    // Computed even if there is no next tile: with a branch, FMA operands would
    // share register banks.
    next_blocks = blocks_of<Shape, Grouped>(next, warp);
    // Leave the accumulators of an empty tile uninitialised. Zeros are written
    // in pairs, which makes ptxas put accumulator and partial sum in one
    // register bank.
    tile_acc<Shape> acc;
    const auto store = [&]<int R>(std::integral_constant<int, R> /*rows*/) {
      gemm_output::store<Grouped, Shape, R>(
          job, t, t.row + line + R * 64, acc[R],
          [&](int i) { return shared.panel(warp, i); });
    };
    const bool has_rows = !Grouped || blocks > 0;
    if (has_rows) {
      begin_sums<Shape>(acc);
      const auto go_on = [&] {
        flow.wait();
        flow.find_scales(t.column);
      };
      flow.add(acc, go_on);
      for (int k = 2; k < blocks; ++k) {
        flow.start_first();
        flow.add(acc, go_on);
      }
      // Otherwise the descriptors of the last block and of the loop share
      // uniform registers, which are then moved inside the loop.
      at.stage = ptx::of_lane_0(at.stage);
      flow.start_first();
      flow.add(acc, [&] {
        ptx::wait(shared.d_free(), parity);
        store(std::integral_constant<int, 0>());
      });
    } else {
      finish_products(flow.p);
      pass_over(shared, blocks, at);
      ptx::wait(shared.d_free(), parity);
    }
    blocks = next_blocks;
    flow.begin(next.column, more);
    if (has_rows) store(std::integral_constant<int, 1>());
    leave_panels(shared, parity);
  }
  finish_products(flow.p);
}

}  // namespace detail

/// `Scaling`: gemm_parts.cuh. `Grouped`: job.groups is not none.
template <class Shape, class Scaling, ptx::fp8_types Types, bool Grouped>
__global__ void __launch_bounds__(Shape::threads, 1)
    gemm_tiles(const __grid_constant__ gemm_job job) {
  extern __shared__ char raw[];
  const detail::gemm_shared<Shape> shared(raw);
  constexpr int multipliers = 4 * Shape::groups;  // consumer warps
  // The store thread needs the warp of a scaling that loads scales.
  static_assert(!Shape::sends || Scaling::b_rows != 0);
  const int warp =
      __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x / 32), 0);
  if (threadIdx.x == 0) {
    for (int i = 0; i < Shape::stages; ++i) {
      ptx::initialize(shared.full()[i], Scaling::b_rows == 0 ? 1 : 1 + 32);
      ptx::initialize(shared.free()[i], multipliers * detail::freeing_lanes);
    }
    if constexpr (Shape::sends) {
      ptx::initialize(shared.d_full(), multipliers * detail::freeing_lanes);
      ptx::initialize(shared.d_free(), 1);
      shared.asked().clear();
      if constexpr (finds_ahead<Shape, Grouped>) {
        shared.board().initialize();
      }
    }
    ptx::fence_barriers();
    if (job.k > 0) ptx::prefetch(job.a_map), ptx::prefetch(job.b_map);
  }
  if constexpr (Shape::reads_b_once && !Grouped) {
    if (job.b_once) detail::prefetch_b<Shape>(job);
  }
  ptx::wait_for_kernels_before();
  __syncthreads();
  if (warp >= multipliers) {
    ptx::give_registers<40>();
    const int which = (warp - multipliers) / 2;
    if (which < Shape::copiers) {
      if (warp % 2 == 0) {
        if (threadIdx.x % 32 == 0) {
          detail::copy_operands<Shape, Grouped>(job, shared, which);
        }
      } else if constexpr (Scaling::b_rows != 0) {
        if (which < Shape::scalers) {
          detail::copy_scales<Shape, Scaling, Grouped>(job, shared, which);
        } else if constexpr (Shape::sends) {
          if (threadIdx.x % 32 == 0) {
            detail::send_panels<Shape, Grouped>(job, shared);
          }
        }
      }
    }
  } else {
    ptx::take_registers<232>();
    if constexpr (Shape::flows) {
      detail::multiply_in_flow<Shape, Scaling, Types, Grouped>(job, shared,
                                                               warp);
    } else {
      detail::multiply_tiles<Shape, Scaling, Types, Grouped>(job, shared, warp);
    }
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_KERNEL_CUH_
