// Defines the GEMM kernel: D = A B^T of FP8 codes, promoted to FP32 every 128
// elements of K (with one scale for all: every job.interval), one tile after
// another.
//
//   copying warp    waits for a free stage -> boxes of A and B (TMA; B for the
//                   whole cluster) -> full barrier
//   scaling warp    waits for a free stage -> scales, word by word -> the same
//   warp groups     wait for a full stage -> for each sub-tile: four wgmma ->
//                   acc = promoted(acc, p); free the stage; at the end of K:
//                   epilogue
//
// A warp group has 64 rows of the tile and all of its columns; while one
// promotes, another's products, or those of its own next blocks of K
// (Shape::depth), keep the tensor core busy. K is never split, and every output
// sees the same operations in the same order whatever the tile: its bits depend
// on nothing else. Source: SPEC clauses G1 to G13.

#ifndef ZEROULP_CUDA_GEMM_TILE_CUH_
#define ZEROULP_CUDA_GEMM_TILE_CUH_

#include <utility>

#include "cuda/gemm_parts.cuh"
#include "cuda/gemm_ring.cuh"
#include "cuda/wgmma.cuh"

namespace zeroulp::cuda {
namespace detail {

/// The 16 rows of A that a warp multiplies, of a stage: from shared memory for
/// each sub-tile anew or, where there are several, kept in registers, which
/// spares shared memory.
template <class Shape>
struct rows_of_a {
  static constexpr bool kept = Shape::sub_tiles > 1;
  std::uint32_t word[kept ? 4 : 1][4];
  std::uint64_t descriptor;

  /// `tile`: the warp group's 64 rows.
  __device__ explicit rows_of_a(const char* tile) {
    if constexpr (kept) {
      const int lane = static_cast<int>(threadIdx.x % 32);
      const int row = lane % 16;
      const auto from =
          ptx::address_of(tile) + (threadIdx.x / 32 % 4 * 16 + row) * Shape::k;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        ptx::load_matrices(word[k],
                           from + ((2 * k + lane / 16) ^ row % 8) * 16);
      }
    } else {
      descriptor = ptx::descriptor(ptx::address_of(tile));
    }
  }
};

/// Starts their products with the columns of a sub-tile, `steps` times 32
/// elements of K from `first`, into p or added to it.
template <class Shape, ptx::fp8_types Types, int Count>
__device__ __forceinline__ void start_products(float (&p)[Count],
                                               const rows_of_a<Shape>& a,
                                               std::uint64_t b, int first,
                                               int steps, bool adds) {
  ptx::fence_registers(p);
  ptx::begin_wgmma();
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (k < first || k >= first + steps) continue;
    using wgmma = ptx::wgmma<Types, Shape::width>;
    const int add = adds || k != first;
    if constexpr (rows_of_a<Shape>::kept) {
      wgmma::run(p, a.word[k], b + 2 * k, add);
    } else {
      wgmma::run(p, a.descriptor + 2 * k, b + 2 * k, add);
    }
  }
  ptx::commit_wgmma();
}

/// `Later`: sums that were started after p and may still be unfinished.
template <int Later = 0, int Count>
__device__ __forceinline__ void finish_products(float (&p)[Count]) {
  ptx::wait_for_wgmma<Later>();
  ptx::fence_registers(p);
}

template <class Shape, class Scaling, int Count, int Depth, int... D>
__device__ __forceinline__ void finish_in_order(
    const gemm_shared<Shape>& shared, const int (&stage)[Depth],
    float (&p)[Depth][Count], const Scaling (&scale)[Depth],
    float (&acc)[Count], std::integer_sequence<int, D...> /*sums*/) {
  const auto finish = [&]<int I>(std::integral_constant<int, I> /*d*/) {
    finish_products<Depth - 1 - I>(p[I]);
    free_stage<Shape>(shared.free()[stage[I]]);
    scale[I].promote(acc, p[I]);
  };
  (finish(std::integral_constant<int, D>()), ...);
}

/// The sums of a tile, promoted every 128 elements of K: `blocks` times.
template <class Shape, ptx::fp8_types Types, class Scaling>
__device__ __forceinline__ void sum_tile(
    const gemm_job& /*job*/, int blocks, const gemm_shared<Shape>& shared,
    int warp, ring_place<Shape::stages>& at,
    float (&acc)[Shape::sub_tiles][Shape::width / 2], Scaling* /*which*/) {
  const int row_in_tile = warp * 16 + static_cast<int>(threadIdx.x % 32 / 4);
  const int pair = static_cast<int>(threadIdx.x % 4) * 2;
  constexpr int depth = Shape::depth;
  float p[depth][Shape::width / 2];
  Scaling scale[depth];
  const auto start = [&](float(&sum)[Shape::width / 2], Scaling& of,
                         const rows_of_a<Shape>& a, int stage, int column) {
    const auto b = ptx::descriptor(ptx::address_of(shared.b(stage)));
    start_products<Shape, Types>(sum, a, b + column * (Shape::k / 16), 0, 4,
                                 false);
    of.find(shared.a_scales(stage) + row_in_tile, shared.b_scales(stage),
            column, pair);
  };
  const auto read_a = [&](int stage) {
    return rows_of_a<Shape>(shared.a(stage) + warp / 4 * 64 * Shape::k);
  };
  for (int k = 0; k < blocks;) {
    if constexpr (depth == 1) {
      ptx::wait(shared.full()[at.stage], at.parity);
      const rows_of_a<Shape> a = read_a(at.stage);
#pragma unroll
      for (int s = 0; s < Shape::sub_tiles; ++s) {
        start(p[0], scale[0], a, at.stage, s * Shape::width);
        finish_products(p[0]);
        if (s == Shape::sub_tiles - 1) {
          free_stage<Shape>(shared.free()[at.stage]);
        }
        scale[0].promote(acc[s], p[0]);
      }
      at.advance(), ++k;
    } else if (k + depth <= blocks) {
      int stage[depth];
#pragma unroll
      for (int d = 0; d < depth; ++d, at.advance(), ++k) {
        ptx::wait(shared.full()[at.stage], at.parity);
        start(p[d], scale[d], read_a(at.stage), stage[d] = at.stage, 0);
      }
      finish_in_order<Shape>(shared, stage, p, scale, acc[0],
                             std::make_integer_sequence<int, depth>());
    } else {  // what is left of K
      ptx::wait(shared.full()[at.stage], at.parity);
      start(p[0], scale[0], read_a(at.stage), at.stage, 0);
      finish_products(p[0]);
      free_stage<Shape>(shared.free()[at.stage]);
      scale[0].promote(acc[0], p[0]);
      at.advance(), ++k;
    }
  }
}

/// The sums of a tile, promoted every job.interval elements of K, with one
/// scale in the end.
template <class Shape, ptx::fp8_types Types, int Width>
__device__ __forceinline__ void sum_tile(const gemm_job& job, int blocks,
                                         const gemm_shared<Shape>& shared,
                                         int warp,
                                         ring_place<Shape::stages>& at,
                                         float (&acc)[1][Shape::width / 2],
                                         matrix_scaling<Width>* /*which*/) {
  float p[Shape::width / 2] = {};
  const int interval = job.interval;
  int pending = 0;  // elements of K in p
  const auto promote = [&] {
#pragma unroll
    for (int i = 0; i < Shape::width / 2; ++i) {
      acc[0][i] = __fadd_rn(acc[0][i], p[i]);
    }
    pending = 0;
  };
  for (int k = 0; k < blocks; ++k, at.advance()) {
    ptx::wait(shared.full()[at.stage], at.parity);
    const rows_of_a<Shape> a(shared.a(at.stage) + warp / 4 * 64 * Shape::k);
    const auto b = ptx::descriptor(ptx::address_of(shared.b(at.stage)));
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
    free_stage<Shape>(shared.free()[at.stage]);
    if (pending == interval) promote();
  }
  if (pending > 0) promote();
  if (blocks == 0) return;  // +0, whatever the scales
  if (job.a_scales.data == nullptr && job.b_scales.data == nullptr) return;
  const float sa = job.a_scales.data == nullptr ? 1 : *job.a_scales.data;
  const float sb = job.b_scales.data == nullptr ? 1 : *job.b_scales.data;
  const float both = __fmul_rn(sa, sb);
#pragma unroll
  for (int i = 0; i < Shape::width / 2; ++i) {
    acc[0][i] = __fmul_rn(acc[0][i], both);
  }
}

/// Adds C and stores a sub-tile.
template <class Shape, int S, int Count>
__device__ __forceinline__ void finish_sub_tile(
    const gemm_job& job, const gemm_tile& t, const gemm_shared<Shape>& shared,
    int warp, ring_place<Shape::stages>& at, float (&acc)[Count]) {
  const int line = warp * 16 + static_cast<int>(threadIdx.x % 32 / 4);
  constexpr int column = S * Shape::width;
  if (Shape::takes_c && job.c_by_boxes) {
#pragma unroll
    for (int j = 0; j < Shape::width; j += Shape::c_columns, at.advance()) {
      ptx::wait(shared.full()[at.stage], at.parity);
      gemm_output::add_stage(shared.a(at.stage), shared.b(at.stage), line, j,
                             acc);
      ptx::fence_shared();
      free_stage<Shape>(shared.free()[at.stage]);
    }
  } else if (job.c != nullptr) {
    gemm_output::add_c(job, t, t.row + line, column, acc);
  }
  gemm_output::store(job, t, t.row + line, column, acc, shared.out(warp));
}

template <class Shape, int Count, int... S>
__device__ __forceinline__ void finish_tile(
    const gemm_job& job, const gemm_tile& t, const gemm_shared<Shape>& shared,
    int warp, ring_place<Shape::stages>& at,
    float (&acc)[Shape::sub_tiles][Count],
    std::integer_sequence<int, S...> /*sub_tiles*/) {
  gemm_output::prepare();
  (finish_sub_tile<Shape, S>(job, t, shared, warp, at, acc[S]), ...);
}

/// Multiplies, promotes and stores.
template <class Shape, class Scaling, ptx::fp8_types Types, bool Grouped>
__device__ void multiply_tiles(const gemm_job& job,
                               const gemm_shared<Shape>& shared, int warp) {
  constexpr int count = Shape::width / 2;
  ring_place<Shape::stages> at;
  gemm_schedule<Shape, Grouped> schedule(job);
  gemm_tile t{};
  while (schedule.next(job, t)) {
    const int blocks = (t.k_end - t.k_begin + Shape::k - 1) / Shape::k;
    float acc[Shape::sub_tiles][count];
#pragma unroll
    for (int s = 0; s < Shape::sub_tiles; ++s) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        acc[s][i] = t.is_spoiled ? __uint_as_float(0x7fffffff) : 0;
      }
    }
    sum_tile<Shape, Types>(job, blocks, shared, warp, at, acc,
                           static_cast<Scaling*>(nullptr));
    finish_tile<Shape>(job, t, shared, warp, at, acc,
                       std::make_integer_sequence<int, Shape::sub_tiles>());
  }
  gemm_output::prepare();
}

}  // namespace detail

/// `Scaling`: gemm_parts.cuh. `Grouped`: job.groups is not none.
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
      ptx::initialize(shared.full()[i], 1 + 32);
      ptx::initialize(shared.free()[i], multipliers * Shape::cluster);
    }
    ptx::fence_barriers();
  }
  if constexpr (Shape::cluster > 1) {
    ptx::synchronize_cluster();
  } else {
    __syncthreads();
  }
  if (warp >= multipliers) {
    ptx::give_registers<40>();
    if (warp == multipliers && threadIdx.x % 32 == 0) {
      detail::copy_operands<Shape, Grouped>(job, shared);
    } else if (warp == multipliers + 1) {
      detail::copy_scales<Shape, Scaling, Grouped>(job, shared);
    }
  } else {
    ptx::take_registers<232>();
    detail::multiply_tiles<Shape, Scaling, Types, Grouped>(job, shared, warp);
  }
  // A block that had ended could not be written to or arrived at.
  if constexpr (Shape::cluster > 1) ptx::synchronize_cluster();
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_GEMM_TILE_CUH_
