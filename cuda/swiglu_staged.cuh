// Defines the kernels of SwiGLU for whole octets of BF16, its caches and
// outputs in E4M3, in shared memory (staged_rows.cuh). A row at a time: values
// by a table of sigmoids (swiglu_table.cuh), else quick ones (sigmoid.cuh);
// what these do not decide is the core's, for all rows at once.
//
// Results take the place of inputs.
//
// Source: SPEC clauses S1 to S3.

#ifndef ZEROULP_CUDA_SWIGLU_STAGED_CUH_
#define ZEROULP_CUDA_SWIGLU_STAGED_CUH_

#include "cuda/ptx.cuh"
#include "cuda/staged_rows.cuh"
#include "cuda/swiglu_backward.cuh"
#include "cuda/swiglu_table.cuh"

namespace zeroulp::cuda {
namespace detail {

struct hidden_tile {
  staged_octets<row_threads> g;  ///< then h
  staged_octets<row_threads> u;
  staged_keys<row_threads> keys;
};

/// h of what is open, by the core's arithmetic.
static __device__ __noinline__ void settle_staged(hidden_tile& tile,
                                                  unsigned open) {
  const auto find = [&](unsigned thread, int i, int k) {
    return swiglu_value<device_fp32>(read_element(tile.g[i][thread], k),
                                     read_element(tile.u[i][thread], k));
  };
  for_open_elements(open, find,
                    [&](unsigned thread, int i, int k, float value) {
                      put_element(tile.g[i][thread], k, value);
                    });
}

/// Of a block of so many threads.
template <unsigned Threads>
struct gradient_tile {
  staged_octets<Threads> dh;     ///< then dg
  staged_octets<Threads> codes;  ///< of g, of u; then du
  staged_keys<Threads> keys;
  gate_group groups[Threads / 16][staged_rows];
};

/// dg and du of what is open, by the core's arithmetic.
template <unsigned Threads>
__device__ __noinline__ void settle_staged(gradient_tile<Threads>& tile,
                                           unsigned open) {
  const auto find = [&](unsigned thread, int i, int k) {
    const octet<2>& codes = tile.codes[i][thread];
    const gate_group& group = tile.groups[thread / 16][i];
    const auto number = [&](int first, float scale) {
      const std::uint32_t code = codes.words[first + k / 4] >> k % 4 * 8 & 0xff;
      return __fmul_rn(decoded<e4m3_elements>(&code, 0), scale);
    };
    return swiglu_gradient<device_fp32>(number(0, group.g_scale),
                                        number(2, group.u_scale),
                                        read_element(tile.dh[i][thread], k));
  };
  for_open_elements(open, find,
                    [&](unsigned thread, int i, int k, const auto& x) {
                      put_element(tile.dh[i][thread], k, x.dg);
                      put_element(tile.codes[i][thread], k, x.du);
                    });
}

/// Has what is open settled, in any of the warp's lanes; key(i) is found again
/// for its rows.
template <class Tile, class Key>
__device__ __forceinline__ void settle_open(Tile& tile, unsigned open,
                                            Key key) {
  unsigned rows = __reduce_or_sync(all_lanes, open);
  if (rows == 0) return;
  settle_staged(tile, open);
  for (; rows != 0; rows &= rows - 1) {
    const int i = __ffs(static_cast<int>(rows)) - 1;
    tile.keys.put(i, key(i));
  }
}

}  // namespace detail

/// All matrices are whole, of a multiple of eight columns.
static __global__ void __launch_bounds__(row_threads, 6)
    swiglu_forward_staged(const __grid_constant__ swiglu_job job) {
  ptx::wait_for_kernels_before();
  constexpr int rows = staged_rows;
  __shared__ detail::hidden_tile tile;
  const unsigned t = threadIdx.x;
  const detail::staged_place place(job.g, row_threads);
  const detail::staged_source<2> g_source(job.g, place);
  const detail::staged_source<2> u_source(job.u, place);
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    g_source.copy(place.below(i), tile.g[i][t], 0);
    u_source.copy(place.below(i), tile.u[i][t], 0);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncwarp();  // what is left to the core other lanes read

  unfinished_octets inputs_left{}, hidden_left{};
  if (job.g_cache.groups != grouping::none ||
      job.u_cache.groups != grouping::none) {
#pragma unroll 2
    for (int i = 0; i < rows; ++i) {
      tile.keys.put(i, detail::two_largest(tile.g[i][t], tile.u[i][t]));
    }
    __syncwarp();
    inputs_left = detail::quantize_staged<e4m3_elements>(
        job.cache, detail::input_octets<rows>{job, place.at},
        tile.keys.largest(), tile.g, &tile.u);
  }
  if (job.h.data != nullptr || job.h_out.groups != grouping::none) {
    unsigned open = 0;
#pragma unroll 1
    for (int i = 0; i < rows; ++i) {
      const octet<2> g = tile.g[i][t], u = tile.u[i][t];
      const detail::quick_hidden quick(
          [&](int k) { return value_of<bf16_elements>(g.element(k)); },
          [&](int k) { return value_of<bf16_elements>(u.element(k)); });
      if (quick.decided && detail::is_quick(g)) {
        tile.g[i][t] = quick.h;
      } else {
        open |= 1u << i;
      }
      tile.keys.put(i, detail::two_largest(quick.h, {}));
    }
    detail::settle_open(tile, open, [&](int i) {
      return detail::two_largest(tile.g[i][t], {});
    });
    place.put(tile.g, job.h);
  }
  if (job.h_out.groups != grouping::none) {
    __syncwarp();
    hidden_left = detail::quantize_staged<e4m3_elements>(
        job.out, detail::hidden_octets<rows>{job, place.at},
        tile.keys.largest(), tile.g, nullptr);
  }
  if (hidden_left.by_core || inputs_left.by_core) {
    detail::finish_swiglu<e4m3_elements, e4m3_elements, rows>(job, hidden_left,
                                                              inputs_left);
  }
}

/// Threads of a block: those that share a table are more.
template <bool Powers>
inline constexpr int staged_gradient_threads = Powers ? 256 : row_threads;

template <bool Powers>
struct staged_gradient_memory {
  static constexpr unsigned threads = staged_gradient_threads<Powers>;

  detail::gradient_tile<threads> tile;
  detail::sigmoid_table<Powers ? threads : 0> sigmoids;
};

/// All matrices are whole, of a multiple of eight columns; h is not wanted.
/// `Powers`: g's scales may be expected to be powers of two.
template <bool Powers>
__global__ void __launch_bounds__(staged_gradient_threads<Powers>,
                                  768 / staged_gradient_threads<Powers>)
    swiglu_backward_staged(const __grid_constant__ swiglu_gradient_job job) {
  ptx::wait_for_kernels_before();
  constexpr int rows = staged_rows;
  constexpr unsigned threads = staged_gradient_threads<Powers>;
  extern __shared__ uint4 shared[];
  auto& memory = *reinterpret_cast<staged_gradient_memory<Powers>*>(shared);
  auto& tile = memory.tile;
  const unsigned t = threadIdx.x;
  const detail::staged_place place(job.dh, threads);
  // A lane has the scale of a row, of g in the lower half, else of u: asked for
  // before the rows are.
  const unsigned row = t % rows;
  const bool is_u = t % 16 >= rows;
  const scale_source scales = detail::pick(is_u, job.u_scales, job.g_scales);
  const std::uint32_t stored =
      scales.stored(min(place.at.row0 + row, job.dh.rows - 1), place.at.group);
  const detail::staged_source<2> dh_source(job.dh, place);
  const detail::staged_source<1> g_source(job.g, place);
  const detail::staged_source<1> u_source(job.u, place);
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    dh_source.copy(place.below(i), tile.dh[i][t], 0);
    g_source.copy(place.below(i), tile.codes[i][t], 0);
    u_source.copy(place.below(i), tile.codes[i][t], 2);
    if (i % 2 != 0) __pipeline_commit();
  }

  const float scale = __uint_as_float(scales.of(stored));
  const float other = __shfl_xor_sync(all_lanes, scale, rows);
  if (!is_u) {
    tile.groups[t / 16][row] =
        detail::gate_group_of<e4m3_elements>(scale, other);
  }
  const bool has_sigmoids = memory.sigmoids.make(scale, !is_u);
  __syncwarp();

  unsigned open = 0;
  const auto put = [&](int i, const auto& x) {
    tile.dh[i][t] = x.dg, tile.codes[i][t] = x.du;
  };
  if (has_sigmoids) {
    const auto put_row = [&](int i) {
      const octet<2> codes = tile.codes[i][t];
      const detail::tabled_gradient x(tile.dh[i][t],
                                      {{codes.words[0], codes.words[1]}},
                                      {{codes.words[2], codes.words[3]}},
                                      tile.groups[t / 16][i], memory.sigmoids);
      put(i, x);
      return detail::two_largest(x.dg, x.du);
    };
    // They came while the table was made.
    __pipeline_wait_prior(0);
#pragma unroll 2
    for (int i = 0; i < rows; i += 2) {
      const std::uint32_t first = put_row(i), second = put_row(i + 1);
      tile.keys.put(i, first, second);
    }
  } else {
    const auto put_row = [&](int i) {
      const octet<2> dh = tile.dh[i][t], codes = tile.codes[i][t];
      const detail::quick_gradient<e4m3_elements> x(
          dh, {{codes.words[0], codes.words[1]}},
          {{codes.words[2], codes.words[3]}}, tile.groups[t / 16][i]);
      bool decided = x.decided;
      if (!decided) decided = x.is_decided_with_zeros(dh);
      if (decided) {
        put(i, x);
      } else {
        open |= 1u << i;
      }
      return detail::two_largest(x.dg, x.du);
    };
#pragma unroll 1
    for (int i = 0; i < rows; i += 2) {
      // Two rows came with each commit; one of nothing takes their place.
      if (i > 0) __pipeline_commit();
      __pipeline_wait_prior(rows / 2 - 1);
      const std::uint32_t first = put_row(i), second = put_row(i + 1);
      tile.keys.put(i, first, second);
    }
  }
  __syncwarp();  // what is left to the core other lanes read
  detail::settle_open(tile, open, [&](int i) {
    return detail::two_largest(tile.dh[i][t], tile.codes[i][t]);
  });
  place.put(tile.dh, job.dg);
  place.put(tile.codes, job.du);
  if (job.dg_out.groups == grouping::none &&
      job.du_out.groups == grouping::none) {
    return;
  }
  __syncwarp();
  const auto left = detail::quantize_staged<e4m3_elements>(
      job.out, detail::gradient_rows<e4m3_elements, rows>{job, place.at},
      tile.keys.largest(), tile.dh, &tile.codes);
  if (left.by_core) {
    detail::finish_gradients<e4m3_elements, e4m3_elements, rows, threads>(job,
                                                                          left);
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_SWIGLU_STAGED_CUH_
