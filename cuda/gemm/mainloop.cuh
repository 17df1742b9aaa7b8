// Defines the main loop of a tile: a warp group multiplies the pipeline stages
// and promotes the products to FP32 in registers. Source: SPEC clauses G1 to
// G13.

#ifndef ZEROULP_CUDA_GEMM_MAINLOOP_CUH_
#define ZEROULP_CUDA_GEMM_MAINLOOP_CUH_

#include <type_traits>
#include <utility>

#include "cuda/gemm/scaling.cuh"
#include "cuda/gemm/shared_storage.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp.cuh"
#include "cuda/ptx/wgmma.cuh"

namespace zeroulp::cuda::detail {

/// Waits for the products of p. `Later`: wgmma groups committed after p that
/// may still be in flight.
template <int Later = 0, int Count>
__device__ __forceinline__ void wait_for_products(float (&p)[Count]) {
  ptx::wait_for_wgmma<Later>();
  ptx::fence_registers(p);
}

/// A thread's accumulators, for each 64 rows of its warp group.
template <class Shape>
using accumulators = float[Shape::m_waves][Shape::n / 2];

/// Sets the accumulators to +0, the sum of no products.
template <class Shape>
__device__ __forceinline__ void clear(accumulators<Shape>& acc) {
#pragma unroll
  for (auto& of_unit : acc) {
#pragma unroll
    for (float& x : of_unit) x = 0;
  }
}

/// The lower descriptor words of a warp group's operands in stage 0, computed
/// once. They come from lane 0, so that the compiler keeps them in uniform
/// registers. Otherwise it recomputes them before the first products of each K
/// block.
struct operand_descriptors {
  unsigned a, b;

  template <class Shape>
  __device__ operand_descriptors(const gemm_shared_storage<Shape>& in, int warp)
      : a(ptx::make_warp_uniform(ptx::descriptor_word(ptx::address_of(
            in.a(0) + warp / 4 * Shape::m_waves * 64 * Shape::k)))),
        b(ptx::make_warp_uniform(
            ptx::descriptor_word(ptx::address_of(in.b(0))))) {}
};

/// Issues a warp group's wgmma: one unit, 64 rows of a stage, at a time.
template <class Shape, ptx::fp8_types Types>
struct wgmma_issuer {
  const gemm_shared_storage<Shape>& shared;
  int warp;
  operand_descriptors first;
  pipeline_state<Shape::stages>& at;

  __device__ __forceinline__ void wait() const { wait_full(shared.full(), at); }
  /// Issues wgmma for a unit of stage `in`: `steps` times 32 elements of
  /// K from `step`. They overwrite p, or are added to it.
  template <int Unit>
  __device__ __forceinline__ void start(float (&p)[Shape::n / 2], int in,
                                        int step = 0, int steps = 4,
                                        bool adds = false) const {
    const int of_a = in * Shape::a_bytes + Unit * 64 * Shape::k;
    const int of_b = in * Shape::b_bytes;
    const auto a =
        ptx::descriptor_of(first.a + static_cast<unsigned>(of_a / 16));
    const auto b =
        ptx::descriptor_of(first.b + static_cast<unsigned>(of_b / 16));
    ptx::fence_registers(p);
    ptx::begin_wgmma();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (k < step || k >= step + steps) continue;
      ptx::wgmma<Types, Shape::n>::run(p, a + 2 * k, b + 2 * k,
                                       adds || k != step);
    }
    ptx::commit_wgmma();
  }
  /// Locates the scales of A for a unit of stage `in`.
  template <class Scaling>
  __device__ __forceinline__ void find_rows(Scaling& scale, int unit,
                                            int in) const {
    const int row = (warp / 4 * Shape::m_waves + unit) * 64 + warp % 4 * 16 +
                    static_cast<int>(threadIdx.x % 32 / 4);
    scale.find_rows(shared.a_scales(in) + row);
  }
};

/// The main loop of a tile, promoted every 128 elements of K.
template <class Shape, ptx::fp8_types Types, class Scaling>
struct mainloop : wgmma_issuer<Shape, Types> {
  using wgmma_issuer<Shape, Types>::shared;
  using wgmma_issuer<Shape, Types>::at;
  static constexpr int rows = Shape::m_waves;
  /// Read a unit's scales while the unit before it is promoted.
  static constexpr bool ahead =
      Shape::accumulators_in_flight > 1 && Scaling::b_rows > 1;
  /// The loop waits for a stage while it holds those of all sums in flight.
  static_assert(Shape::stages > (Shape::accumulators_in_flight - 1) / rows + 1);
  accumulators<Shape>& acc;
  int column;        ///< the tile's first column
  int previous = 0;  ///< the previous stage, from the second on

  /// Releases the previous stage, with Scaling::reads_late. New products have
  /// been started in the registers of its last ones. So its products have been
  /// summed, and their scales read. The registers are the same, as one piece of
  /// code in the loop starts all products.
  __device__ __forceinline__ void release_previous() const {
    arrive_as_warp(shared.empty()[previous]);
  }
  /// Releases the last stage: no products follow it.
  __device__ __forceinline__ void release_last() const {
    ptx::fence_proxy_async();  // also waits for the loads of scales
    release_previous();
  }

  /// Adds the next `Blocks` blocks of K in straight-line code. The first
  /// block's stage must be full; waits for the block after them if there are
  /// `more`. A unit is a K block of 64 rows.
  ///
  /// Do everything possible before a unit's products arrive: from then to the
  /// next products, the tensor core is idle.
  template <int Blocks>
  __device__ __forceinline__ void add(bool is_first, bool more) {
    constexpr int units = Blocks * rows;
    constexpr int accumulators_in_flight = Shape::accumulators_in_flight < units
                                               ? Shape::accumulators_in_flight
                                               : units;
    float p[accumulators_in_flight][Shape::n / 2];
    int stage[Blocks];
    Scaling scale[ahead ? 2 : 1];
    const auto prepare = [&]<int U>(std::integral_constant<int, U> /*unit*/) {
      if constexpr (U % rows == 0 && U < units) {
        if constexpr (U > 0) this->wait();
        stage[U / rows] = at.stage;
        at.advance();
      } else if constexpr (U == units) {
        if (more) this->wait();
      }
    };
    const auto start = [&]<int U>(std::integral_constant<int, U> /*unit*/) {
      if constexpr (U < units) {
        this->template start<U % rows>(p[U % accumulators_in_flight],
                                       stage[U / rows]);
      }
    };
    const auto find = [&]<int U>(std::integral_constant<int, U> /*unit*/) {
      if constexpr (U < units) {
        const int in = stage[U / rows];
        Scaling& of = scale[ahead ? U % 2 : 0];
        if constexpr (ahead || U % rows == 0) {
          of.find_columns(shared.b_scales(in), column);
        }
        this->find_rows(of, U % rows, in);
      }
    };
    const auto finish = [&]<int U>(std::integral_constant<int, U> /*unit*/) {
      constexpr int left = units - 1 - U;
      if constexpr (!ahead) {
        __syncwarp();  // without it, the loads delay the last wgmma
        find(std::integral_constant<int, U>());
      }
      prepare(std::integral_constant<int, U + accumulators_in_flight>());
      wait_for_products<(left < accumulators_in_flight - 1
                             ? left
                             : accumulators_in_flight - 1)>(
          p[U % accumulators_in_flight]);
      if constexpr (!Scaling::reads_late && U % rows == rows - 1) {
        arrive_as_warp(shared.empty()[stage[U / rows]]);
      }
      if constexpr (ahead) find(std::integral_constant<int, U + 1>());
      scale[ahead ? U % 2 : 0].promote(acc[U % rows],
                                       p[U % accumulators_in_flight]);
      start(std::integral_constant<int, U + accumulators_in_flight>());
    };
    const auto start_all = [&]<int... U>(std::integer_sequence<int, U...>) {
      ((prepare(std::integral_constant<int, U>()),
        start(std::integral_constant<int, U>())),
       ...);
    };
    const auto finish_all = [&]<int... U>(std::integer_sequence<int, U...>) {
      (finish(std::integral_constant<int, U>()), ...);
    };
    start_all(std::make_integer_sequence<int, accumulators_in_flight>());
    if constexpr (Scaling::reads_late) {
      static_assert(Blocks == 1 && Shape::k_unroll == 1 &&
                    accumulators_in_flight == 1);
      if (!is_first) release_previous();
      previous = stage[0];
    }
    if constexpr (ahead) {
      __syncwarp();
      find(std::integral_constant<int, 0>());
    }
    finish_all(std::make_integer_sequence<int, units>());
  }
};

template <class Shape, ptx::fp8_types Types, class Scaling>
__device__ __forceinline__ void run_mainloop(
    const gemm_params& /*params*/, int column, int blocks,
    const gemm_shared_storage<Shape>& shared, int warp,
    operand_descriptors first, pipeline_state<Shape::stages>& at,
    accumulators<Shape>& acc, Scaling* /*which*/) {
  mainloop<Shape, Types, Scaling> sums{{shared, warp, first, at}, acc, column};
  if (blocks > 0) sums.wait();
  int k = 0;
  for (; k + Shape::k_unroll <= blocks; k += Shape::k_unroll) {
    sums.template add<Shape::k_unroll>(k == 0, k + Shape::k_unroll < blocks);
  }
  if constexpr (Shape::k_unroll > 1) {
    for (; k < blocks; ++k) sums.template add<1>(k == 0, k + 1 < blocks);
  }
  if constexpr (Scaling::reads_late) {
    if (blocks > 0) sums.release_last();
  }
}

/// The main loop of a tile, promoted every params.interval elements of K, with
/// one scale at the end.
template <class Shape, ptx::fp8_types Types>
__device__ __forceinline__ void run_mainloop(
    const gemm_params& params, int /*column*/, int blocks,
    const gemm_shared_storage<Shape>& shared, int warp,
    operand_descriptors first, pipeline_state<Shape::stages>& at,
    accumulators<Shape>& sums, matrix_scaling* /*which*/) {
  static_assert(Shape::m_waves == 1);
  const wgmma_issuer<Shape, Types> products{shared, warp, first, at};
  auto& acc = sums[0];
  float p[Shape::n / 2] = {};
  const int interval = params.interval;
  int pending = 0;  // elements of K in p
  const auto promote = [&] {
#pragma unroll
    for (int i = 0; i < Shape::n / 2; ++i) {
      acc[i] = __fadd_rn(acc[i], p[i]);
    }
    pending = 0;
  };
  for (int k = 0; k < blocks; ++k, at.advance()) {
    products.wait();
    if (interval == 0 || interval >= Shape::k) {
      products.template start<0>(p, at.stage, 0, 4, pending > 0);
      wait_for_products(p);
      pending += Shape::k;
    } else {
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        products.template start<0>(p, at.stage, step, 1, pending > 0);
        wait_for_products(p);
        pending += 32;
        if (step < 3 && pending == interval) promote();
      }
    }
    arrive_as_warp(shared.empty()[at.stage]);
    if (pending == interval) promote();
  }
  if (pending > 0) promote();
  if (blocks == 0) return;  // +0, whatever the scales
  if (params.a_scales.data == nullptr && params.b_scales.data == nullptr)
    return;
  const float sa = params.a_scales.data == nullptr ? 1 : *params.a_scales.data;
  const float sb = params.b_scales.data == nullptr ? 1 : *params.b_scales.data;
  const float both = __fmul_rn(sa, sb);
#pragma unroll
  for (int i = 0; i < Shape::n / 2; ++i) {
    acc[i] = __fmaf_rn(acc[i], both, 0);
  }
}

/// As mainloop, with an overlapped epilogue (Shape::overlaps_epilogue): a
/// tile's first products are started before D of the previous tile is stored.
template <class Shape, ptx::fp8_types Types, class Scaling>
struct overlapped_mainloop : wgmma_issuer<Shape, Types> {
  using wgmma_issuer<Shape, Types>::shared;
  using wgmma_issuer<Shape, Types>::at;
  static_assert(Shape::accumulators_in_flight == 1 && !Scaling::reads_late);
  float p[Shape::n / 2];
  Scaling scale[Shape::m_waves];  ///< of the K block in flight

  __device__ __forceinline__ void find_scales(int column) {
#pragma unroll
    for (int i = 0; i < Shape::m_waves; ++i) {
      scale[i].find_columns(shared.b_scales(at.stage), column);
      this->find_rows(scale[i], i, at.stage);
    }
  }
  /// Starts the first unit's products of a K block.
  __device__ __forceinline__ void start_first() {
    this->template start<0>(p, at.stage);
  }
  /// Starts the first products of a tile. If there is none, multiplies whatever
  /// the stage holds, so that the compiler sees wgmma in flight on every path.
  __device__ __forceinline__ void begin(int column, bool is_there) {
    if (is_there) this->wait();
    start_first();
    __syncwarp();
    find_scales(column);
  }
  /// Adds a K block whose first products are in flight and advances to the next
  /// stage. `go_on` is called once the last products have been started.
  template <class GoOn>
  __device__ __forceinline__ void add(accumulators<Shape>& acc, GoOn go_on) {
    constexpr int last = Shape::m_waves - 1;
    const int in = at.stage;
    const auto unit = [&]<int U>(std::integral_constant<int, U> /*unit*/) {
      const Scaling of = scale[U];
      if constexpr (U == last) {
        at.advance();
        go_on();
      }
      wait_for_products(p);
      if constexpr (U == last) arrive_as_warp(shared.empty()[in]);
      of.promote(acc[U], p);
      if constexpr (U < last) this->template start<U + 1>(p, in);
    };
    const auto all = [&]<int... U>(std::integer_sequence<int, U...>) {
      (unit(std::integral_constant<int, U>()), ...);
    };
    all(std::make_integer_sequence<int, Shape::m_waves>());
  }
};

}  // namespace zeroulp::cuda::detail

#endif  // ZEROULP_CUDA_GEMM_MAINLOOP_CUH_
