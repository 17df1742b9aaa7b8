// Defines the kernels of SwiGLU for whole vec8s of BF16, with caches and
// outputs in E4M3, in shared memory (staged_rows.cuh). Warps compute a row at a
// time: with a table of sigmoids (swiglu_table.cuh), else by fast approximate
// arithmetic (sigmoid.cuh). The core then computes what these leave undecided,
// for all rows at once.
//
// Results overwrite the inputs in shared memory.
//
// Source: SPEC clauses S1 to S3.

#ifndef ZEROULP_CUDA_TRAINING_SWIGLU_SMEM_CUH_
#define ZEROULP_CUDA_TRAINING_SWIGLU_SMEM_CUH_

#include "cuda/common/smem_rows.cuh"
#include "cuda/ptx/warp.cuh"
#include "cuda/training/sigmoid_lut.cuh"
#include "cuda/training/swiglu_backward.cuh"

namespace zeroulp::cuda {
namespace detail {

struct hidden_tile {
  staged_vec8s<row_threads, 2> g;  ///< later h
  staged_vec8s<row_threads, 2> u;
  staged_boxes inputs[row_threads / 32];
};

/// h of the open vec8s, by the core's arithmetic.
static __device__ __noinline__ void settle_staged(hidden_tile& tile,
                                                  unsigned open) {
  const auto find = [&](unsigned thread, int i, int k) {
    const unsigned place = place_of_thread(thread);
    return swiglu_value<device_fp32>(read_element(tile.g.at(place, i), k),
                                     read_element(tile.u.at(place, i), k));
  };
  for_open_elements(
      open, find, [&](unsigned thread, int i, int k, float value) {
        put_element(tile.g.at(place_of_thread(thread), i), k, value);
      });
}

/// The shared memory of a block of `Threads` threads.
template <unsigned Threads>
struct gradient_tile {
  staged_vec8s<Threads, 2> dh;    ///< later dg
  staged_vec8s<Threads, 1> g, u;  ///< later the halves of du
  gate_group groups[Threads / 16][staged_rows];
  staged_boxes inputs[Threads / 32];

  __device__ vec8<2> du(unsigned place, int i) {
    const vec8<1>&low = g.at(place, i), &high = u.at(place, i);
    return {{low.words[0], low.words[1], high.words[0], high.words[1]}};
  }
  __device__ void put_du(unsigned place, int i, const vec8<2>& x) {
    g.at(place, i) = {{x.words[0], x.words[1]}};
    u.at(place, i) = {{x.words[2], x.words[3]}};
  }
};

/// dg and du of the open vec8s, by the core's arithmetic.
template <unsigned Threads>
__device__ __noinline__ void settle_staged(gradient_tile<Threads>& tile,
                                           unsigned open) {
  const auto find = [&](unsigned thread, int i, int k) {
    const gate_group& group = tile.groups[thread / 16][i];
    const unsigned place = place_of_thread(thread);
    const auto number = [&](const vec8<1>& codes, float scale) {
      const std::uint32_t code = codes.words[k / 4] >> k % 4 * 8 & 0xff;
      return __fmul_rn(decoded<e4m3_elements>(&code, 0), scale);
    };
    return swiglu_gradient<device_fp32>(
        number(tile.g.at(place, i), group.g_scale),
        number(tile.u.at(place, i), group.u_scale),
        read_element(tile.dh.at(place, i), k));
  };
  for_open_elements(
      open, find, [&](unsigned thread, int i, int k, const auto& x) {
        const unsigned place = place_of_thread(thread);
        put_element(tile.dh.at(place, i), k, x.dg);
        put_element((k < 4 ? tile.g : tile.u).at(place, i), k % 4, x.du);
      });
}

/// Has the open vec8s of all lanes of the warp settled.
template <class Tile>
__device__ __forceinline__ void settle_open(Tile& tile, unsigned open) {
  __syncwarp();  // other lanes read the vec8s that are left to the core
  if (__any_sync(all_lanes, open != 0)) settle_staged(tile, open);
}

}  // namespace detail

/// All matrices are aligned (`whole`), with a multiple of eight columns.
static __global__ void __launch_bounds__(row_threads, 6) swiglu_forward_staged(
    const __grid_constant__ detail::with_boxes<swiglu_job, 2> asked) {
  const swiglu_job& job = asked.job;
  constexpr int rows = staged_rows;
  __shared__ detail::hidden_tile tile;
  const detail::staged_place place(job.g, asked.boxes, row_threads);
  detail::staged_boxes& inputs = tile.inputs[place.warp];
  inputs.prepare();
  inputs.prefetch(place, asked);
  ptx::wait_for_kernels_before();
  inputs.bring(place, asked, tile.g, tile.u);
  const auto first = [&](int i) -> auto& { return tile.g.at(place.mine, i); };
  const auto second = [&](int i) -> auto& { return tile.u.at(place.mine, i); };
  for (int i = 0; i < rows; i += staged_box_rows) inputs.wait_for(i);

  unfinished_vec8s inputs_left{}, hidden_left{};
  if (job.g_cache.groups != grouping::none ||
      job.u_cache.groups != grouping::none) {
    inputs_left = detail::quantize_staged<e4m3_elements>(
        job.cache, detail::input_vec8s<rows>{job, place.at},
        detail::largest_of_staged(first, second), first, second);
  }
  if (job.h.data != nullptr || job.h_out.groups != grouping::none) {
    unsigned open = 0;
#pragma unroll 1
    for (int i = 0; i < rows; ++i) {
      const vec8<2> g = first(i), u = second(i);
      const detail::quick_hidden quick(
          [&](int k) { return value_of<bf16_elements>(g.element(k)); },
          [&](int k) { return value_of<bf16_elements>(u.element(k)); });
      if (quick.decided && detail::is_quick(g)) {
        first(i) = quick.h;
      } else {
        open |= 1u << i;
      }
    }
    detail::settle_open(tile, open);
    place.put(first, job.h);
  }
  if (job.h_out.groups != grouping::none) {
    const auto none = [](int) { return vec8<2>{}; };
    hidden_left = detail::quantize_staged<e4m3_elements>(
        job.out, detail::hidden_vec8s<rows>{job, place.at},
        detail::largest_of_staged(first, none), first, none);
  }
  if (hidden_left.by_core || inputs_left.by_core) {
    detail::finish_swiglu<e4m3_elements, e4m3_elements, rows>(
        job, place.at, hidden_left, inputs_left);
  }
}

/// Threads per block: more if they share a table.
template <bool Powers>
inline constexpr int staged_gradient_threads = Powers ? 256 : 64;

template <bool Powers>
struct staged_gradient_memory {
  static constexpr unsigned threads = staged_gradient_threads<Powers>;

  detail::gradient_tile<threads> tile;
  detail::sigmoid_table<Powers ? threads : 0> sigmoids;
};

/// All matrices are aligned (`whole`), with a multiple of eight columns. h is
/// not wanted. `Powers`: the scales of g are expected to be powers of two.
template <bool Powers>
__global__ void __launch_bounds__(staged_gradient_threads<Powers>,
                                  768 / staged_gradient_threads<Powers>)
    swiglu_backward_staged(
        const __grid_constant__ detail::with_boxes<swiglu_gradient_job, 3>
            asked) {
  const swiglu_gradient_job& job = asked.job;
  constexpr int rows = staged_rows;
  constexpr unsigned threads = staged_gradient_threads<Powers>;
  extern __shared__ __align__(128) char gradient_memory[];
  auto& memory =
      *reinterpret_cast<staged_gradient_memory<Powers>*>(gradient_memory);
  auto& tile = memory.tile;
  const unsigned t = threadIdx.x;
  const detail::staged_place place(job.dh, asked.boxes, threads);
  detail::staged_boxes& inputs = tile.inputs[place.warp];
  inputs.prepare();
  ptx::wait_for_kernels_before();
  // A lane has the scale of a row: of g in the lower half, else of u. It is
  // loaded before it is needed.
  const unsigned row = t % rows;
  const bool is_u = t % 16 >= rows;
  const scale_source scales{
      detail::either_scales(is_u, job.u_scales.from, job.g_scales.from)};
  std::uint32_t stored =
      scales.stored(min(static_cast<unsigned>(place.at.row0) + row,
                        static_cast<unsigned>(job.dh.rows) - 1),
                    place.at.group);
  inputs.bring(place, asked, tile.dh, tile.g, tile.u);
  // Without the shuffle, the scale is awaited before the TMA loads are issued.
  stored = __shfl_sync(all_lanes, stored, static_cast<int>(t % 32));
  const float scale = __uint_as_float(scales.of(stored));
  const float other = __shfl_xor_sync(all_lanes, scale, rows);
  const auto group = detail::gate_group_of<e4m3_elements>(scale, other);
  if (!is_u) tile.groups[t / 16][row] = group;
  const bool has_sigmoids = memory.sigmoids.make(scale, !is_u);
  __syncwarp();

  const auto dg = [&](int i) -> auto& { return tile.dh.at(place.mine, i); };
  const auto du = [&](int i) { return tile.du(place.mine, i); };
  const auto g = [&](int i) -> auto& { return tile.g.at(place.mine, i); };
  const auto u = [&](int i) -> auto& { return tile.u.at(place.mine, i); };
  const auto put = [&](int i, const auto& x) {
    dg(i) = x.dg;
    tile.put_du(place.mine, i, x.du);
  };
  const detail::gate_group* const groups = tile.groups[t / 16];
  std::uint32_t largest = 0;
  if (has_sigmoids) {
    if constexpr (Powers) {
      std::uint32_t two[rows] = {};
#pragma unroll 1
      for (int first = 0; first < rows; first += 4) {
        for (int i = 0; i < 4; i += staged_box_rows) inputs.wait_for(first + i);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const detail::tabled_gradient x(dg(first + i), g(first + i),
                                          u(first + i), groups[first + i],
                                          memory.sigmoids);
          put(first + i, x);
          two[i] = two[4 + i];
          two[4 + i] = detail::two_largest(x.dg, x.du);
        }
      }
      largest = detail::largest_pair_of_rows(two);
    }
  } else {
    unsigned open = 0;
    const auto put_rows = [&]<bool ByVec8s>() {
#pragma unroll 1
      for (int first = 0; first < rows; first += staged_box_rows) {
        inputs.wait_for(first);
#pragma unroll 2
        for (int i = first; i < first + staged_box_rows; ++i) {
          const vec8<2> dh = dg(i);
          const detail::quick_gradient<e4m3_elements, ByVec8s> x(dh, g(i), u(i),
                                                                 groups[i]);
          // Make the branch warp-uniform: diverged lanes reconverge at a price.
          bool decided = x.decided;
          if (__any_sync(all_lanes, x.has_far_ones(dh))) {
            decided &= x.are_near_or_zero(dh);
          }
          if (decided) {
            put(i, x);
          } else {
            open |= 1u << rows;
          }
          open >>= 1;
        }
      }
    };
    if (__any_sync(all_lanes, !is_u && group.bound.of_group < 0)) {
      put_rows.template operator()<true>();
    } else {
      put_rows.template operator()<false>();
    }
    detail::settle_open(tile, open);
    largest = detail::largest_of_staged(dg, du);
  }
  place.put(dg, job.dg);
  place.put(du, job.du);
  if (job.dg_out.groups == grouping::none &&
      job.du_out.groups == grouping::none) {
    return;
  }
  const auto left = detail::quantize_staged<e4m3_elements>(
      job.out, detail::gradient_rows<e4m3_elements, rows>{job, place.at},
      largest, dg, du);
  if (left.by_core) {
    detail::finish_gradients<e4m3_elements, e4m3_elements, rows>(job, place.at,
                                                                 left);
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_TRAINING_SWIGLU_SMEM_CUH_
