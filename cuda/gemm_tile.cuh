// Defines the GEMM kernel: D = A B^T of FP8 codes, promoted to FP32 every 128
// elements of K (with one scale for all: every job.interval), one tile after
// another.
//
//   copying thread  waits for a free stage -> boxes of A and B (TMA) -> full
//                   barrier
//   scaling warp    waits for a free stage -> their scales -> the same; one or
//                   two of both, which take turns
//   warp groups     wait for a full stage -> for each 64 rows: four wgmma ->
//                   (the last: wait for the next full stage) -> acc =
//                   promoted(acc, p); at the end of K: epilogue. The stage is
//                   free before its last promotion, or, where that reads it,
//                   once the next products were started
//
// While a warp group promotes, another's products, or its own next ones
// (Shape::partials), keep the tensor core busy. Where D flows (Shape::flows),
// so do the first products of the next tile in the epilogue:
//
//   warp groups     ... the last block of K -> wait for a stage for D and for
//                   the next tile's first -> its first products -> D into
//                   panels, most of them in D's stage -> boxes of D (TMA) ->
//                   the next tile's first block of K -> D's stage is free
//
// K is never split, and every output sees the same operations in the same order
// whatever the tile: its bits depend on nothing else. Source: SPEC clauses G1
// to G13.

#ifndef ZEROULP_CUDA_GEMM_TILE_CUH_
#define ZEROULP_CUDA_GEMM_TILE_CUH_

#include <utility>

#include "cuda/gemm_parts.cuh"
#include "cuda/gemm_ring.cuh"
#include "cuda/wgmma.cuh"

namespace zeroulp::cuda {
namespace detail {

/// Starts the products of 64 rows with the columns of a tile, `steps` times
/// 32 elements of K from `first`, into p or added to it.
template <class Shape, ptx::fp8_types Types, int Count>
__device__ __forceinline__ void start_products(float (&p)[Count],
                                               std::uint64_t a, std::uint64_t b,
                                               int first, int steps,
                                               bool adds) {
  ptx::fence_registers(p);
  ptx::begin_wgmma();
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (k < first || k >= first + steps) continue;
    ptx::wgmma<Types, Shape::n>::run(p, a + 2 * k, b + 2 * k,
                                     adds || k != first);
  }
  ptx::commit_wgmma();
}

/// `Later`: sums that were started after p and may still be unfinished.
template <int Later = 0, int Count>
__device__ __forceinline__ void finish_products(float (&p)[Count]) {
  ptx::wait_for_wgmma<Later>();
  ptx::fence_registers(p);
}

/// What a thread sums, for each 64 rows of its warp group.
template <class Shape>
using tile_acc = float[Shape::rows][Shape::n / 2];

/// The lower words of the descriptors of a warp group's operands in stage 0,
/// found once: from lane 0, so that the compiler keeps them in uniform
/// registers, and does not find them again before the first products of each
/// block of K.
struct gemm_operands {
  unsigned a, b;

  template <class Shape>
  __device__ gemm_operands(const gemm_shared<Shape>& in, int warp)
      : a(ptx::of_lane_0(ptx::descriptor_word(ptx::address_of(
            in.a(0) + warp / 4 * Shape::rows * 64 * Shape::k)))),
        b(ptx::of_lane_0(ptx::descriptor_word(ptx::address_of(in.b(0))))) {}
};

/// The sums of a tile, promoted every 128 elements of K.
template <class Shape, ptx::fp8_types Types, class Scaling>
struct tile_sums {
  static constexpr int rows = Shape::rows;
  /// Scales are read while the unit before is promoted.
  static constexpr bool ahead = Shape::partials > 1 && Scaling::b_rows > 1;
  /// A stage is awaited while those of all sums under way are still held.
  static_assert(Shape::stages > (Shape::partials - 1) / rows + 1);
  const gemm_shared<Shape>& shared;
  int warp;
  gemm_operands first;
  ring_place<Shape::stages>& at;
  tile_acc<Shape>& acc;
  int column;    ///< the tile's first
  int held = 0;  ///< the stage before, from the second on

  __device__ __forceinline__ void wait() const {
    ptx::wait(shared.full()[at.stage], at.parity);
  }

  /// Where scales are read late, frees the stage before. Its last products are
  /// summed, and so their scales are there, once others were started in their
  /// registers: the same ones, as one place of the loop starts all.
  __device__ __forceinline__ void free_held() const {
    free_stage(shared.free()[held]);
  }
  /// The same at the end, where no others are started.
  __device__ __forceinline__ void free_last() const {
    ptx::fence_shared();  // and so waits for the scales
    free_held();
  }

  /// The next Blocks blocks of K in one straight line, the first of them there
  /// already; waits for the one after them if there are `more`. A unit is a
  /// block of K of 64 rows. What can be done before a unit's products are there
  /// is done before: from then to the next products, the tensor core is idle.
  template <int Blocks>
  __device__ __forceinline__ void add(bool is_first, bool more) {
    constexpr int units = Blocks * rows;
    constexpr int partials = Shape::partials < units ? Shape::partials : units;
    float p[partials][Shape::n / 2];
    int stage[Blocks];
    Scaling scale[ahead ? 2 : 1];
    const auto prepare = [&]<int U>(std::integral_constant<int, U> /*unit*/) {
      if constexpr (U % rows == 0 && U < units) {
        if constexpr (U > 0) wait();
        stage[U / rows] = at.stage;
        at.advance();
      } else if constexpr (U == units) {
        if (more) wait();
      }
    };
    const auto start = [&]<int U>(std::integral_constant<int, U> /*unit*/) {
      if constexpr (U < units) {
        const int in = stage[U / rows];
        const int of_a = in * Shape::a_bytes + U % rows * 64 * Shape::k;
        start_products<Shape, Types>(
            p[U % partials],
            ptx::descriptor_of(first.a + static_cast<unsigned>(of_a / 16)),
            ptx::descriptor_of(first.b +
                               static_cast<unsigned>(in * Shape::b_bytes / 16)),
            0, 4, false);
      }
    };
    const auto find = [&]<int U>(std::integral_constant<int, U> /*unit*/) {
      if constexpr (U < units) {
        const int in = stage[U / rows];
        const int row = (warp / 4 * rows + U % rows) * 64 + warp % 4 * 16 +
                        static_cast<int>(threadIdx.x % 32 / 4);
        Scaling& of = scale[ahead ? U % 2 : 0];
        if constexpr (ahead || U % rows == 0) {
          of.find_columns(shared.b_scales(in), column);
        }
        of.find_rows(shared.a_scales(in) + row);
      }
    };
    const auto finish = [&]<int U>(std::integral_constant<int, U> /*unit*/) {
      constexpr int left = units - 1 - U;
      if constexpr (!ahead) {
        __syncwarp();  // else the loads delay the last products
        find(std::integral_constant<int, U>());
      }
      prepare(std::integral_constant<int, U + partials>());
      finish_products<(left < partials - 1 ? left : partials - 1)>(
          p[U % partials]);
      if constexpr (!Scaling::reads_late && U % rows == rows - 1) {
        free_stage(shared.free()[stage[U / rows]]);
      }
      if constexpr (ahead) find(std::integral_constant<int, U + 1>());
      scale[ahead ? U % 2 : 0].promote(acc[U % rows], p[U % partials]);
      start(std::integral_constant<int, U + partials>());
    };
    const auto start_all = [&]<int... U>(std::integer_sequence<int, U...>) {
      ((prepare(std::integral_constant<int, U>()),
        start(std::integral_constant<int, U>())),
       ...);
    };
    const auto finish_all = [&]<int... U>(std::integer_sequence<int, U...>) {
      (finish(std::integral_constant<int, U>()), ...);
    };
    start_all(std::make_integer_sequence<int, partials>());
    if constexpr (Scaling::reads_late) {
      static_assert(Blocks == 1 && Shape::line == 1 && partials == 1);
      if (!is_first) free_held();
      held = stage[0];
    }
    if constexpr (ahead) {
      __syncwarp();
      find(std::integral_constant<int, 0>());
    }
    finish_all(std::make_integer_sequence<int, units>());
  }
};

template <class Shape, ptx::fp8_types Types, class Scaling>
__device__ __forceinline__ void sum_tile(
    const gemm_job& /*job*/, int column, int blocks,
    const gemm_shared<Shape>& shared, int warp, gemm_operands first,
    ring_place<Shape::stages>& at, tile_acc<Shape>& acc, Scaling* /*which*/) {
  tile_sums<Shape, Types, Scaling> sums{shared, warp, first, at, acc, column};
  if (blocks > 0) sums.wait();
  int k = 0;
  for (; k + Shape::line <= blocks; k += Shape::line) {
    sums.template add<Shape::line>(k == 0, k + Shape::line < blocks);
  }
  if constexpr (Shape::line > 1) {
    for (; k < blocks; ++k) sums.template add<1>(k == 0, k + 1 < blocks);
  }
  if constexpr (Scaling::reads_late) {
    if (blocks > 0) sums.free_last();
  }
}

/// The sums of a tile, promoted every job.interval elements of K, with one
/// scale in the end.
template <class Shape, ptx::fp8_types Types>
__device__ __forceinline__ void sum_tile(const gemm_job& job, int /*column*/,
                                         int blocks,
                                         const gemm_shared<Shape>& shared,
                                         int /*warp*/, gemm_operands first,
                                         ring_place<Shape::stages>& at,
                                         tile_acc<Shape>& sums,
                                         matrix_scaling* /*which*/) {
  static_assert(Shape::rows == 1);
  auto& acc = sums[0];
  float p[Shape::n / 2] = {};
  const int interval = job.interval;
  int pending = 0;  // elements of K in p
  const auto promote = [&] {
#pragma unroll
    for (int i = 0; i < Shape::n / 2; ++i) {
      acc[i] = __fadd_rn(acc[i], p[i]);
    }
    pending = 0;
  };
  for (int k = 0; k < blocks; ++k, at.advance()) {
    ptx::wait(shared.full()[at.stage], at.parity);
    const auto a = ptx::descriptor_of(
        first.a + static_cast<unsigned>(at.stage * Shape::a_bytes / 16));
    const auto b = ptx::descriptor_of(
        first.b + static_cast<unsigned>(at.stage * Shape::b_bytes / 16));
    if (interval == 0 || interval >= Shape::k) {
      start_products<Shape, Types>(p, a, b, 0, 4, pending > 0);
      finish_products(p);
      pending += Shape::k;
    } else {
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        start_products<Shape, Types>(p, a, b, step, 1, pending > 0);
        finish_products(p);
        pending += 32;
        if (step < 3 && pending == interval) promote();
      }
    }
    free_stage(shared.free()[at.stage]);
    if (pending == interval) promote();
  }
  if (pending > 0) promote();
  if (blocks == 0) return;  // +0, whatever the scales
  if (job.a_scales.data == nullptr && job.b_scales.data == nullptr) return;
  const float sa = job.a_scales.data == nullptr ? 1 : *job.a_scales.data;
  const float sb = job.b_scales.data == nullptr ? 1 : *job.b_scales.data;
  const float both = __fmul_rn(sa, sb);
#pragma unroll
  for (int i = 0; i < Shape::n / 2; ++i) {
    acc[i] = __fmul_rn(acc[i], both);
  }
}

/// The sums of tile_sums where D flows: a tile's first products are started
/// before the tile before leaves.
template <class Shape, ptx::fp8_types Types, class Scaling>
struct tile_flow {
  static_assert(Shape::partials == 1 && !Scaling::reads_late);
  const gemm_shared<Shape>& shared;
  int warp;
  gemm_operands first;
  ring_place<Shape::stages> at;
  float p[Shape::n / 2];
  Scaling scale[Shape::rows];  ///< of the block whose products are under way

  __device__ __forceinline__ void wait() const {
    ptx::wait(shared.full()[at.stage], at.parity);
  }
  /// Starts the products of a unit of the stage `in`.
  template <int Unit>
  __device__ __forceinline__ void start(int in) {
    const int of_a = in * Shape::a_bytes + Unit * 64 * Shape::k;
    start_products<Shape, Types>(
        p, ptx::descriptor_of(first.a + static_cast<unsigned>(of_a / 16)),
        ptx::descriptor_of(first.b +
                           static_cast<unsigned>(in * Shape::b_bytes / 16)),
        0, 4, false);
  }
  __device__ __forceinline__ void find_scales(int column) {
    const int row = warp / 4 * Shape::rows * 64 + warp % 4 * 16 +
                    static_cast<int>(threadIdx.x % 32 / 4);
#pragma unroll
    for (int i = 0; i < Shape::rows; ++i) {
      scale[i].find_columns(shared.b_scales(at.stage), column);
      scale[i].find_rows(shared.a_scales(at.stage) + row + 64 * i);
    }
  }
  /// Starts the first products of a tile; if there is none, of what lies there,
  /// so that the compiler sees products under way on each way from here.
  __device__ __forceinline__ void begin(int column, bool is_there) {
    if (is_there) wait();
    start<0>(at.stage);
    __syncwarp();
    find_scales(column);
  }
  /// Adds a block of K whose first products are under way; waits for the one
  /// after it if there are `more`. What can be done before products are there
  /// is done before.
  __device__ __forceinline__ void add(tile_acc<Shape>& acc, int column,
                                      bool more) {
    constexpr int last = Shape::rows - 1;
    const int in = at.stage;
    const auto unit = [&]<int U>(std::integral_constant<int, U> /*unit*/) {
      const Scaling of = scale[U];
      if constexpr (U == last) {
        at.advance();
        if (more) wait();
        // Else of D's stage, which has none: begin() finds others.
        find_scales(column);
      }
      finish_products(p);
      if constexpr (U == last) free_stage(shared.free()[in]);
      of.promote(acc[U], p);
      if constexpr (U < last) start<U + 1>(in);
    };
    const auto all = [&]<int... U>(std::integer_sequence<int, U...>) {
      (unit(std::integral_constant<int, U>()), ...);
    };
    all(std::make_integer_sequence<int, Shape::rows>());
  }
};

/// A warp's panels of D, by their numbers; one is found here and now: later,
/// and its address takes the uniform registers of the loop before.
template <class Shape>
__device__ __forceinline__ auto panels_of(const gemm_shared<Shape>& shared,
                                          int warp, int stage_of_d) {
  if constexpr (Shape::flows) {
    return [&shared, warp, stage_of_d](int i) {
      return shared.panel(warp, i, stage_of_d);
    };
  } else {
    return [only = shared.panel(warp)](int) { return only; };
  }
}

/// Adds C and stores.
template <class Shape, bool Grouped, int... R>
__device__ __forceinline__ void finish_tile(
    const gemm_job& job, const gemm_tile& t, const gemm_shared<Shape>& shared,
    int warp, ring_place<Shape::stages>& at, tile_acc<Shape>& acc,
    std::integer_sequence<int, R...> /*rows*/, int stage_of_d = 0) {
  const int line = warp / 4 * Shape::rows * 64 + warp % 4 * 16;
  if constexpr (!Shape::flows) {
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
  }
  (gemm_output::store<Grouped, Shape, R>(job, t, t.row + line + R * 64, acc[R],
                                         panels_of(shared, warp, stage_of_d)),
   ...);
}

/// How many blocks of K a warp group multiplies; negative: passes over, since
/// no one has its rows. From lane 0, by one shuffle, and no other: else the
/// compiler does not see that all lanes agree, and the ring's place leaves the
/// uniform registers.
template <class Shape, bool Grouped>
__device__ __forceinline__ int blocks_of(const gemm_tile& t, int warp) {
  const int blocks = (t.k_end - t.k_begin + Shape::k - 1) / Shape::k;
  if constexpr (!Grouped) return blocks;
  const int row = t.row + warp / 4 * Shape::rows * 64;
  return __shfl_sync(0xffffffff, row < t.row_end ? blocks : -blocks, 0);
}

/// Frees the stages of a tile that has no rows of this warp group.
template <class Shape>
__device__ __forceinline__ void pass_over(const gemm_shared<Shape>& shared,
                                          int blocks,
                                          ring_place<Shape::stages>& at) {
  const int passed = blocks < 0 ? -blocks : 0;
  for (int k = 0; k < passed; ++k, at.advance()) {
    ptx::wait(shared.full()[at.stage], at.parity);
    if (threadIdx.x % 32 == 0) ptx::arrive(shared.free()[at.stage]);
  }
}

/// Multiplies, promotes and stores.
template <class Shape, class Scaling, ptx::fp8_types Types, bool Grouped>
__device__ void multiply_tiles(const gemm_job& job,
                               const gemm_shared<Shape>& shared, int warp) {
  const gemm_operands first(shared, warp);
  ring_place<Shape::stages> at;
  gemm_schedule<Shape, Grouped> schedule(job);
  gemm_tile t{};
  while (schedule.next(job, t)) {
    const int blocks = blocks_of<Shape, Grouped>(t, warp);
    if constexpr (Grouped) pass_over(shared, blocks, at);
    tile_acc<Shape> acc = {};
    sum_tile<Shape, Types>(job, t.column, blocks, shared, warp, first, at, acc,
                           static_cast<Scaling*>(nullptr));
    if constexpr (Grouped) {
      // Of nothing, so far.
      const std::uint32_t spoiled = t.is_spoiled ? 0x7fffffff : 0;
#pragma unroll
      for (auto& of_row : acc) {
#pragma unroll
        for (float& x : of_row) {
          x = __uint_as_float(__float_as_uint(x) | spoiled);
        }
      }
    }
    finish_tile<Shape, Grouped>(job, t, shared, warp, at, acc,
                                std::make_integer_sequence<int, Shape::rows>());
  }
  gemm_output::wait_for_panel();
}

/// The same where D flows; K is not 0.
template <class Shape, class Scaling, ptx::fp8_types Types, bool Grouped>
__device__ void multiply_in_flow(const gemm_job& job,
                                 const gemm_shared<Shape>& shared, int warp) {
  gemm_schedule<Shape, Grouped> schedule(job);
  gemm_tile t{}, next{};
  if (!schedule.next(job, next)) return;
  int blocks = blocks_of<Shape, Grouped>(next, warp), next_blocks = 0;
  tile_flow<Shape, Types, Scaling> flow{
      shared, warp, gemm_operands(shared, warp), {}, {}, {}};
  int held = -1;  // the stage that D leaves from
  const auto free_held = [&] {
    if (held < 0) return;
    gemm_output::wait_for_panel();
    free_stage(shared.free()[held]);
  };
  flow.begin(next.column, true);
  for (bool more = true; more;) {
    t = next;
    more = schedule.next(job, next);
    if (more) next_blocks = blocks_of<Shape, Grouped>(next, warp);
    tile_acc<Shape> acc = {};
    if (!Grouped || blocks > 0) {
      flow.add(acc, t.column, blocks > 1);
      free_held();
      for (int k = 1; k < blocks; ++k) {
        flow.template start<0>(flow.at.stage);
        flow.add(acc, t.column, k + 1 < blocks);
      }
    } else {
      finish_products(flow.p);
      free_held();
      pass_over(shared, blocks, flow.at);
    }
    flow.wait();
    held = flow.at.stage;
    flow.at.advance();
    blocks = next_blocks;
    flow.begin(next.column, more);
    finish_tile<Shape, Grouped>(job, t, shared, warp, flow.at, acc,
                                std::make_integer_sequence<int, Shape::rows>(),
                                held);
  }
  finish_products(flow.p);
  gemm_output::wait_for_panel();
}

}  // namespace detail

/// `Scaling`: gemm_parts.cuh. `Grouped`: job.groups is not none. Where D flows
/// the loop is faster, too: words of FP32 that are loaded or stored together
/// bind the sums to the banks of registers that their products come from, and
/// FMAs then wait for an operand.
template <class Shape, class Scaling, ptx::fp8_types Types, bool Grouped>
__global__ void __launch_bounds__(Shape::threads, 1)
    gemm_tiles(const __grid_constant__ gemm_job job) {
  extern __shared__ char raw[];
  const detail::gemm_shared<Shape> shared(raw);
  constexpr int multipliers = 4 * Shape::groups;  // warps
  const int warp =
      __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x / 32), 0);
  if (threadIdx.x == 0) {
    for (int i = 0; i < Shape::stages; ++i) {
      ptx::initialize(shared.full()[i], Scaling::b_rows == 0 ? 1 : 1 + 32);
      ptx::initialize(shared.free()[i], multipliers);
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
        detail::copy_scales<Shape, Scaling, Grouped>(job, shared, which);
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

#endif  // ZEROULP_CUDA_GEMM_TILE_CUH_
