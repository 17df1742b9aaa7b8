// Defines the kernels of SwiGLU for whole vec8s of BF16, with caches and
// outputs in E4M3, in shared memory (smem_rows.cuh). Warps compute a row at a
// time: with a table of sigmoids (sigmoid_lut.cuh), else by fast approximate
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
  smem_vec8s<row_threads, 2> g;  ///< later h
  smem_vec8s<row_threads, 2> u;
  smem_loads inputs[row_threads / 32];
};

/// h of the undecided vec8s, by the core's arithmetic.
static __device__ __noinline__ void resolve_in_smem(hidden_tile& tile,
                                                    unsigned undecided) {
  const auto find = [&](unsigned thread, int i, int k) {
    const unsigned slot = slot_of_thread(thread);
    return swiglu_value<device_fp32>(read_element(tile.g.at(slot, i), k),
                                     read_element(tile.u.at(slot, i), k));
  };
  for_undecided_elements(
      undecided, find, [&](unsigned thread, int i, int k, float value) {
        put_element(tile.g.at(slot_of_thread(thread), i), k, value);
      });
}

/// The shared memory of a block of `Threads` threads.
template <unsigned Threads>
struct gradient_tile {
  smem_vec8s<Threads, 2> dh;    ///< later dg
  smem_vec8s<Threads, 1> g, u;  ///< later the halves of du
  gate_group groups[Threads / 16][smem_rows];
  smem_loads inputs[Threads / 32];

  __device__ vec8<2> du(unsigned slot, int i) {
    const vec8<1>&low = g.at(slot, i), &high = u.at(slot, i);
    return {{low.words[0], low.words[1], high.words[0], high.words[1]}};
  }
  __device__ void put_du(unsigned slot, int i, const vec8<2>& x) {
    g.at(slot, i) = {{x.words[0], x.words[1]}};
    u.at(slot, i) = {{x.words[2], x.words[3]}};
  }
};

/// dg and du of the undecided vec8s, by the core's arithmetic.
template <unsigned Threads>
__device__ __noinline__ void resolve_in_smem(gradient_tile<Threads>& tile,
                                             unsigned undecided) {
  const auto find = [&](unsigned thread, int i, int k) {
    const gate_group& group = tile.groups[thread / 16][i];
    const unsigned slot = slot_of_thread(thread);
    const auto number = [&](const vec8<1>& codes, float scale) {
      const std::uint32_t code = codes.words[k / 4] >> k % 4 * 8 & 0xff;
      return __fmul_rn(decoded<e4m3_elements>(&code, 0), scale);
    };
    return swiglu_gradient<device_fp32>(
        number(tile.g.at(slot, i), group.g_scale),
        number(tile.u.at(slot, i), group.u_scale),
        read_element(tile.dh.at(slot, i), k));
  };
  for_undecided_elements(
      undecided, find, [&](unsigned thread, int i, int k, const auto& x) {
        const unsigned slot = slot_of_thread(thread);
        put_element(tile.dh.at(slot, i), k, x.dg);
        put_element((k < 4 ? tile.g : tile.u).at(slot, i), k % 4, x.du);
      });
}

/// Has the undecided vec8s of all lanes of the warp resolved.
template <class Tile>
__device__ __forceinline__ void resolve_undecided(Tile& tile,
                                                  unsigned undecided) {
  __syncwarp();  // other lanes read the vec8s that are left to the core
  if (__any_sync(all_lanes, undecided != 0)) resolve_in_smem(tile, undecided);
}

}  // namespace detail

/// All matrices are aligned (`vectorized`), with a multiple of eight columns.
static __global__ void __launch_bounds__(row_threads, 6) swiglu_forward_smem(
    const __grid_constant__ detail::with_tensor_maps<swiglu_params, 2> asked) {
  const swiglu_params& params = asked.params;
  constexpr int rows = smem_rows;
  __shared__ detail::hidden_tile tile;
  const detail::smem_position position(params.g, asked.boxes, row_threads);
  detail::smem_loads& inputs = tile.inputs[position.warp];
  inputs.prepare();
  inputs.prefetch(position, asked);
  ptx::wait_for_kernels_before();
  inputs.tma_load(position, asked, tile.g, tile.u);
  const auto first = [&](int i) -> auto& {
    return tile.g.at(position.mine, i);
  };
  const auto second = [&](int i) -> auto& {
    return tile.u.at(position.mine, i);
  };
  for (int i = 0; i < rows; i += smem_box_rows) inputs.wait_for(i);

  unfinished_vec8s inputs_left{}, hidden_left{};
  if (params.g_cache.groups != grouping::none ||
      params.u_cache.groups != grouping::none) {
    inputs_left = detail::quantize_in_smem<e4m3_elements>(
        params.cache, detail::input_vec8s<rows>{params, position.at},
        detail::largest_in_smem(first, second), first, second);
  }
  if (params.h.data != nullptr || params.h_out.groups != grouping::none) {
    unsigned undecided = 0;
#pragma unroll 1
    for (int i = 0; i < rows; ++i) {
      const vec8<2> g = first(i), u = second(i);
      const detail::fast_hidden fast(
          [&](int k) { return value_of<bf16_elements>(g.element(k)); },
          [&](int k) { return value_of<bf16_elements>(u.element(k)); });
      if (fast.is_decided && detail::is_fast(g)) {
        first(i) = fast.h;
      } else {
        undecided |= 1u << i;
      }
    }
    detail::resolve_undecided(tile, undecided);
    position.put(first, params.h);
  }
  if (params.h_out.groups != grouping::none) {
    const auto none = [](int) { return vec8<2>{}; };
    hidden_left = detail::quantize_in_smem<e4m3_elements>(
        params.out, detail::hidden_vec8s<rows>{params, position.at},
        detail::largest_in_smem(first, none), first, none);
  }
  if (hidden_left.by_core || inputs_left.by_core) {
    detail::finish_swiglu<e4m3_elements, e4m3_elements, rows>(
        params, position.at, hidden_left, inputs_left);
  }
}

/// Threads per block: more if they share a table.
template <bool Powers>
inline constexpr int smem_gradient_threads = Powers ? 256 : 64;

template <bool Powers>
struct smem_gradient_memory {
  static constexpr unsigned threads = smem_gradient_threads<Powers>;

  detail::gradient_tile<threads> tile;
  detail::sigmoid_lut<Powers ? threads : 0> sigmoids;
};

/// All matrices are aligned (`vectorized`), with a multiple of eight columns. h
/// is not wanted. `Powers`: the scales of g are expected to be powers of two.
template <bool Powers>
__global__ void __launch_bounds__(smem_gradient_threads<Powers>,
                                  768 / smem_gradient_threads<Powers>)
    swiglu_backward_smem(const __grid_constant__
                             detail::with_tensor_maps<swiglu_gradient_params, 3>
                                 asked) {
  const swiglu_gradient_params& params = asked.params;
  constexpr int rows = smem_rows;
  constexpr unsigned threads = smem_gradient_threads<Powers>;
  extern __shared__ __align__(128) char gradient_memory[];
  auto& memory =
      *reinterpret_cast<smem_gradient_memory<Powers>*>(gradient_memory);
  auto& tile = memory.tile;
  const unsigned t = threadIdx.x;
  const detail::smem_position position(params.dh, asked.boxes, threads);
  detail::smem_loads& inputs = tile.inputs[position.warp];
  inputs.prepare();
  ptx::wait_for_kernels_before();
  // A lane has the scale of a row: of g in the lower half, else of u. It is
  // loaded before it is needed.
  const unsigned row = t % rows;
  const bool is_u = t % 16 >= rows;
  const scale_source scales{
      detail::either_scales(is_u, params.u_scales.from, params.g_scales.from)};
  std::uint32_t stored =
      scales.stored(min(static_cast<unsigned>(position.at.row0) + row,
                        static_cast<unsigned>(params.dh.rows) - 1),
                    position.at.group);
  inputs.tma_load(position, asked, tile.dh, tile.g, tile.u);
  // Without the shuffle, the scale is awaited before the TMA loads are issued.
  stored = __shfl_sync(all_lanes, stored, static_cast<int>(t % 32));
  const float scale = __uint_as_float(scales.of(stored));
  const float other = __shfl_xor_sync(all_lanes, scale, rows);
  const auto group = detail::gate_group_of<e4m3_elements>(scale, other);
  if (!is_u) tile.groups[t / 16][row] = group;
  const bool has_sigmoids = memory.sigmoids.make(scale, !is_u);
  __syncwarp();

  const auto dg = [&](int i) -> auto& { return tile.dh.at(position.mine, i); };
  const auto du = [&](int i) { return tile.du(position.mine, i); };
  const auto g = [&](int i) -> auto& { return tile.g.at(position.mine, i); };
  const auto u = [&](int i) -> auto& { return tile.u.at(position.mine, i); };
  const auto put = [&](int i, const auto& x) {
    dg(i) = x.dg;
    tile.put_du(position.mine, i, x.du);
  };
  const detail::gate_group* const groups = tile.groups[t / 16];
  std::uint32_t largest = 0;
  if (has_sigmoids) {
    if constexpr (Powers) {
      std::uint32_t two[rows] = {};
#pragma unroll 1
      for (int first = 0; first < rows; first += 4) {
        for (int i = 0; i < 4; i += smem_box_rows) inputs.wait_for(first + i);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const detail::lut_gradient x(dg(first + i), g(first + i),
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
    unsigned undecided = 0;
    const auto put_rows = [&]<bool ByVec8s>() {
#pragma unroll 1
      for (int first = 0; first < rows; first += smem_box_rows) {
        inputs.wait_for(first);
#pragma unroll 2
        for (int i = first; i < first + smem_box_rows; ++i) {
          const vec8<2> dh = dg(i);
          const detail::fast_gradient<e4m3_elements, ByVec8s> x(dh, g(i), u(i),
                                                                groups[i]);
          // Make the branch warp-uniform: diverged lanes reconverge at a price.
          bool is_decided = x.is_decided;
          if (__any_sync(all_lanes, x.has_far_ones(dh))) {
            is_decided &= x.are_near_or_zero(dh);
          }
          if (is_decided) {
            put(i, x);
          } else {
            undecided |= 1u << rows;
          }
          undecided >>= 1;
        }
      }
    };
    if (__any_sync(all_lanes, !is_u && group.bound.of_group < 0)) {
      put_rows.template operator()<true>();
    } else {
      put_rows.template operator()<false>();
    }
    detail::resolve_undecided(tile, undecided);
    largest = detail::largest_in_smem(dg, du);
  }
  position.put(dg, params.dg);
  position.put(du, params.du);
  if (params.dg_out.groups == grouping::none &&
      params.du_out.groups == grouping::none) {
    return;
  }
  const auto left = detail::quantize_in_smem<e4m3_elements>(
      params.out,
      detail::gradient_rows<e4m3_elements, rows>{params, position.at}, largest,
      dg, du);
  if (left.by_core) {
    detail::finish_gradients<e4m3_elements, e4m3_elements, rows>(
        params, position.at, left);
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_TRAINING_SWIGLU_SMEM_CUH_
