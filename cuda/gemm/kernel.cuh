// Defines the GEMM kernel: D = A B^T of FP8 codes, promoted to FP32 every 128
// elements of K (with one scale for all: every params.interval). It is
// persistent: a block computes one tile after another.
//
//   load threads  wait for an empty stage -> TMA loads of A and B -> full
//                 barrier
//   scale warps   wait for an empty stage -> load its scales -> full barrier.
//                 One or two load threads and one or two scale warps take
//                 stages in turn
//   math warps    wait for a full stage -> for each 64 rows: four wgmma ->
//                 (after the last: wait for the next full stage) -> acc =
//                 promoted(acc, p); at the end of K: epilogue. They release the
//                 stage before its last promotion. If that reads the stage,
//                 they release it once the next products have been started
//
// While one warp group promotes, the tensor core runs another group's products,
// or the group's own next ones (Shape::accumulators_in_flight). With a store
// thread (Shape::has_store_thread):
//
//   math warps    ... the epilogue: wait until smem_d is empty -> write D there
//   store thread  waits until smem_d is full -> a TMA store of one box of D
//                 with each stage of the next tile, from the third on, if it
//                 has enough; after all boxes, releases smem_d. With
//                 schedules_ahead it also finds the tiles for the math warps
//
// With an overlapped epilogue (Shape::overlaps_epilogue) wgmma is in flight
// during it:
//
//   math warps    ... the last block of K: once its last products have been
//                 started, D of the first 64 rows to smem_d -> the next tile's
//                 first products -> the rest of D
//
// K is never split. Every output sees the same operations in the same order,
// whatever the tile, so its bits depend on nothing else. Source: SPEC clauses
// G1 to G13.

#ifndef ZEROULP_CUDA_GEMM_KERNEL_CUH_
#define ZEROULP_CUDA_GEMM_KERNEL_CUH_

#include <type_traits>
#include <utility>

#include "cuda/gemm/epilogue.cuh"
#include "cuda/gemm/mainloop.cuh"
#include "cuda/gemm/producer.cuh"
#include "cuda/gemm/tma_store.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp.cuh"
#include "cuda/ptx/wgmma.cuh"

namespace zeroulp::cuda {
namespace detail {

/// Hands smem_d, which math warps have written, to the store thread.
template <class Shape>
__device__ __forceinline__ void hand_over_d(
    const gemm_shared_storage<Shape>& shared, unsigned& phase) {
  ptx::fence_proxy_async();
  arrive_as_warp(shared.d_full());
  phase ^= 1;
}

/// The epilogue: adds C and stores D. `phase`: that of smem_d, with
/// Shape::has_store_thread.
template <class Shape, bool Grouped, int... R>
__device__ __forceinline__ void run_epilogue(
    const gemm_params& params, const gemm_tile& t,
    const gemm_shared_storage<Shape>& shared, int warp,
    pipeline_state<Shape::stages>& at, accumulators<Shape>& acc,
    unsigned& phase, std::integer_sequence<int, R...> /*rows*/) {
  const int line = warp / 4 * Shape::m_waves * 64 + warp % 4 * 16;
  if (params.loads_c_by_tma) {
#pragma unroll
    for (int j = 0; j < Shape::n; j += Shape::c_columns, at.advance()) {
      wait_full(shared.full(), at);
      const char* const c = shared.a(at.stage);
      (gemm_output::add_stage(c, line + R * 64, j, acc[R]), ...);
      ptx::fence_proxy_async();
      arrive_as_warp(shared.empty()[at.stage]);
    }
  } else if (params.c != nullptr) {
    (gemm_output::add_c(params, t, t.row + line + R * 64, acc[R]), ...);
  }
  const bool has_store_thread = Shape::has_store_thread && params.stores_by_tma;
  if (has_store_thread) ptx::wait(shared.d_empty(), phase);
  // Compute the box's address here. Later, it would take the uniform
  // registers of the main loop.
  const auto d_box = [first = shared.d_box(warp)](int i) {
    return first + i * gemm_shared_storage<Shape>::d_box_step;
  };
  (gemm_output::store<Grouped, Shape, R>(params, t, t.row + line + R * 64,
                                         acc[R], d_box),
   ...);
  if (has_store_thread) hand_over_d(shared, phase);
}

/// The number of K blocks that a warp group multiplies. Negative: the warp
/// group has no rows in the tile and only releases their stages.
///
/// The value comes from lane 0 by one shuffle, and there is no other. Otherwise
/// the compiler does not see that lanes agree, and the pipeline state leaves
/// the uniform registers.
template <class Shape, bool Grouped>
__device__ __forceinline__ int k_blocks_of(const gemm_tile& t, int warp) {
  const int blocks = t.blocks(Shape::k);
  if constexpr (!Grouped) return blocks;
  const int row = t.row + warp / 4 * Shape::m_waves * 64;
  return __shfl_sync(0xffffffff, row < t.row_end ? blocks : -blocks, 0);
}

/// Releases the stages of a tile in which this warp group has no rows.
template <class Shape>
__device__ __forceinline__ void skip_stages(
    const gemm_shared_storage<Shape>& shared, int blocks,
    pipeline_state<Shape::stages>& at) {
  const int passed = blocks < 0 ? -blocks : 0;
  for (int k = 0; k < passed; ++k, at.advance()) {
    wait_full(shared.full(), at);
    arrive_as_warp(shared.empty()[at.stage]);
  }
}

/// The math warps: main loop and epilogue of every tile.
template <class Shape, class Scaling, ptx::fp8_types Types, bool Grouped>
__device__ void run_math_warps(const gemm_params& params,
                               const gemm_shared_storage<Shape>& shared,
                               int warp) {
  const operand_descriptors first(shared, warp);
  pipeline_state<Shape::stages> at;
  unsigned phase = 1;
  tile_scheduler<Shape, Grouped> scheduler(params);
  gemm_tile t{};
  while (scheduler.next(params, t)) {
    const int blocks = k_blocks_of<Shape, Grouped>(t, warp);
    if constexpr (Grouped) skip_stages(shared, blocks, at);
    accumulators<Shape> acc;
    clear<Shape>(acc);
    run_mainloop<Shape, Types>(params, t.column, blocks, shared, warp, first,
                               at, acc, static_cast<Scaling*>(nullptr));
    if constexpr (Grouped) {
      // The sums of an invalid range of K are empty so far: make them NaN. Use
      // a condition: with bit operations ptxas puts accumulator and partial sum
      // in one register bank.
      const float invalid = __uint_as_float(0x7fffffff);
#pragma unroll
      for (auto& of_row : acc) {
#pragma unroll
        for (float& x : of_row) x = t.has_invalid_k_range ? invalid : x;
      }
    }
    run_epilogue<Shape, Grouped>(
        params, t, shared, warp, at, acc, phase,
        std::make_integer_sequence<int, Shape::m_waves>());
  }
  if constexpr (!Shape::has_store_thread) gemm_output::wait_for_d_box();
}

/// The math warps with an overlapped epilogue (Shape::overlaps_epilogue). K is
/// more than one block.
template <class Shape, class Scaling, ptx::fp8_types Types, bool Grouped>
__device__ void run_math_warps_overlapped(
    const gemm_params& params, const gemm_shared_storage<Shape>& shared,
    int warp) {
  static_assert(Shape::m_waves == 2);
  auto find = [&] {
    if constexpr (schedules_ahead<Shape, Grouped>) {
      return [&, found = 0](gemm_tile& of) mutable {
        return shared.queue().read(found++, of);
      };
    } else {
      return [&, scheduler = tile_scheduler<Shape, Grouped>(params)](
                 gemm_tile& of) mutable { return scheduler.next(params, of); };
    }
  }();
  gemm_tile t{}, next{};
  if (!find(next)) return;
  int blocks = k_blocks_of<Shape, Grouped>(next, warp), next_blocks = 0;
  pipeline_state<Shape::stages> at;
  overlapped_mainloop<Shape, Types, Scaling> loop{
      {shared, warp, operand_descriptors(shared, warp), at}, {}, {}};
  unsigned phase = 1;  // of smem_d
  const int line = warp / 4 * Shape::m_waves * 64 + warp % 4 * 16;
  loop.begin(next.column, true);
  for (bool more = true; more;) {
    t = next;
    more = find(next);
    // Computed even if there is no next tile: with a branch, FMA operands would
    // share register banks.
    next_blocks = k_blocks_of<Shape, Grouped>(next, warp);
    // Leave the accumulators of an empty tile uninitialised. Zeros are written
    // in pairs, which makes ptxas put accumulator and partial sum in one
    // register bank.
    accumulators<Shape> acc;
    const auto store = [&]<int R>(std::integral_constant<int, R> /*rows*/) {
      gemm_output::store<Grouped, Shape, R>(
          params, t, t.row + line + R * 64, acc[R],
          [&](int i) { return shared.d_box(warp, i); });
    };
    const bool has_rows = !Grouped || blocks > 0;
    if (has_rows) {
      clear<Shape>(acc);
      const auto go_on = [&] {
        loop.wait();
        loop.find_scales(t.column);
      };
      loop.add(acc, go_on);
      for (int k = 2; k < blocks; ++k) {
        loop.start_first();
        loop.add(acc, go_on);
      }
      // Otherwise the descriptors of the last block and of the loop share
      // uniform registers, which are then moved inside the loop.
      at.stage = ptx::make_warp_uniform(at.stage);
      loop.start_first();
      loop.add(acc, [&] {
        ptx::wait(shared.d_empty(), phase);
        store(std::integral_constant<int, 0>());
      });
    } else {
      wait_for_products(loop.p);
      skip_stages(shared, blocks, at);
      ptx::wait(shared.d_empty(), phase);
    }
    blocks = next_blocks;
    loop.begin(next.column, more);
    if (has_rows) store(std::integral_constant<int, 1>());
    hand_over_d(shared, phase);
  }
  wait_for_products(loop.p);
}

}  // namespace detail

/// `Scaling`: scaling.cuh. `Grouped`: params.groups is not none.
template <class Shape, class Scaling, ptx::fp8_types Types, bool Grouped>
__global__ void __launch_bounds__(Shape::threads, 1)
    gemm_kernel(const __grid_constant__ gemm_params params) {
  extern __shared__ char raw[];
  const detail::gemm_shared_storage<Shape> shared(raw);
  constexpr int math_warps = 4 * Shape::math_warpgroups;
  // The store thread needs the warp of a scaling that loads scales.
  static_assert(!Shape::has_store_thread || Scaling::b_rows != 0);
  const int warp =
      __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x / 32), 0);
  if (threadIdx.x == 0) {
    for (int i = 0; i < Shape::stages; ++i) {
      initialize_stage(shared.full()[i], Scaling::b_rows == 0 ? 1 : 1 + 32,
                       shared.empty()[i], math_warps * releasing_lanes);
    }
    if constexpr (Shape::has_store_thread) {
      ptx::initialize(shared.d_full(), math_warps * releasing_lanes);
      ptx::initialize(shared.d_empty(), 1);
      shared.issued().clear();
      if constexpr (schedules_ahead<Shape, Grouped>) {
        shared.queue().initialize();
      }
    }
    ptx::fence_barrier_init();
    if (params.k > 0)
      ptx::prefetch_tensor_map(params.a_map),
          ptx::prefetch_tensor_map(params.b_map);
  }
  if constexpr (Shape::reads_b_once && !Grouped) {
    if (params.b_once) detail::prefetch_b<Shape>(params);
  }
  ptx::wait_for_kernels_before();
  __syncthreads();
  if (warp >= math_warps) {
    ptx::warpgroup_reg_dealloc<40>();
    const int which = (warp - math_warps) / 2;
    if (which < Shape::load_threads) {
      if (warp % 2 == 0) {
        if (threadIdx.x % 32 == 0) {
          detail::run_load_thread<Shape, Grouped>(params, shared, which);
        }
      } else if constexpr (Scaling::b_rows != 0) {
        if (which < Shape::scale_warps) {
          detail::run_scale_warp<Shape, Scaling, Grouped>(params, shared,
                                                          which);
        } else if constexpr (Shape::has_store_thread) {
          if (threadIdx.x % 32 == 0) {
            detail::run_store_thread<Shape, Grouped>(params, shared);
          }
        }
      }
    }
  } else {
    ptx::warpgroup_reg_alloc<232>();
    if constexpr (Shape::overlaps_epilogue) {
      detail::run_math_warps_overlapped<Shape, Scaling, Types, Grouped>(
          params, shared, warp);
    } else {
      detail::run_math_warps<Shape, Scaling, Types, Grouped>(params, shared,
                                                             warp);
    }
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_KERNEL_CUH_
