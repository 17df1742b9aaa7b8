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
// (Shape::partials), keep the tensor core busy. K is never split, and every
// output sees the same operations in the same order whatever the tile: its bits
// depend on nothing else. Source: SPEC clauses G1 to G13.

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

/// Adds C and stores.
template <class Shape, bool Grouped, bool Panels, int... R>
__device__ __forceinline__ void finish_tile(
    const gemm_job& job, const gemm_tile& t, const gemm_shared<Shape>& shared,
    int warp, ring_place<Shape::stages>& at, tile_acc<Shape>& acc,
    std::integer_sequence<int, R...> /*rows*/) {
  const int line = warp / 4 * Shape::rows * 64 + warp % 4 * 16;
  if constexpr (!Panels) {
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
  (gemm_output::store<Panels, Grouped, Shape, R>(job, t, t.row + line + R * 64,
                                                 acc[R], shared.out(warp)),
   ...);
}

/// Multiplies, promotes and stores.
template <class Shape, class Scaling, ptx::fp8_types Types, bool Grouped,
          bool Panels>
__device__ void multiply_tiles(const gemm_job& job,
                               const gemm_shared<Shape>& shared, int warp) {
  const gemm_operands first(shared, warp);
  ring_place<Shape::stages> at;
  gemm_schedule<Shape, Grouped> schedule(job);
  gemm_tile t{};
  while (schedule.next(job, t)) {
    int blocks = (t.k_end - t.k_begin + Shape::k - 1) / Shape::k;
    if constexpr (Grouped) {
      // Negative: of rows that no one has. From lane 0, by one shuffle, and no
      // other: else the compiler does not see that all lanes agree, and the
      // ring's place leaves the uniform registers.
      const int row = t.row + warp / 4 * Shape::rows * 64;
      blocks = __shfl_sync(0xffffffff, row < t.row_end ? blocks : -blocks, 0);
      const int skipped = blocks < 0 ? -blocks : 0;
      for (int k = 0; k < skipped; ++k, at.advance()) {
        ptx::wait(shared.full()[at.stage], at.parity);
        if (threadIdx.x % 32 == 0) ptx::arrive(shared.free()[at.stage]);
      }
    }
    tile_acc<Shape> acc = {};
    sum_tile<Shape, Types>(job, t.column, blocks, shared, warp, first, at, acc,
                           static_cast<Scaling*>(nullptr));
    if constexpr (Grouped && !Panels) {
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
    finish_tile<Shape, Grouped, Panels>(
        job, t, shared, warp, at, acc,
        std::make_integer_sequence<int, Shape::rows>());
  }
  gemm_output::wait_for_panel();
}

}  // namespace detail

/// `Scaling`: gemm_parts.cuh. `Grouped`: job.groups is not none. `Panels`:
/// neither C nor ranges of K, and job.by_boxes: a faster loop, since words of
/// FP32 that are loaded or stored together bind the sums to the banks of
/// registers that their products come from, and FMAs then wait for an operand.
template <class Shape, class Scaling, ptx::fp8_types Types, bool Grouped,
          bool Panels>
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
    detail::multiply_tiles<Shape, Scaling, Types, Grouped, Panels>(job, shared,
                                                                   warp);
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_TILE_CUH_
