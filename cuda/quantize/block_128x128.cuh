// Defines the quantizing kernel for BF16 and FP32 tiles of 128x128 that have
// one scale, by their own amax. A block reads a tile once. It writes its codes
// in place, transposed, or both. Given amaxes: given_block.cuh.
//
//   load 8 x 8 elements a thread -> amax -> barrier -> scale and factors, in
//   every thread -> codes -> stores; vec8s of columns into shared memory ->
//   barrier -> stores
//
// Source: SPEC clauses Q1 to Q13.

#ifndef ZEROULP_CUDA_QUANTIZE_BLOCK_128X128_CUH_
#define ZEROULP_CUDA_QUANTIZE_BLOCK_128X128_CUH_

#include "cuda/ptx/warp.cuh"
#include "cuda/quantize/groups.cuh"
#include "cuda/quantize/two_factors.cuh"

namespace zeroulp::cuda {
namespace detail {

/// A block's shared memory; `groups` is for the core.
template <class Out, bool Transposes>
union block_memory {
  tile_groups groups;
  transposing_tile<Out::bytes> transposed;
};
template <class Out>
union block_memory<Out, false> {
  tile_groups groups;
};

/// The scale and the factors of a tile's group.
struct block_factors {
  group_factors f;
  factor_pair pair;
};

/// Computes scale and factors for a tile of this amax. Returns false iff the
/// core must.
template <class In>
__device__ bool find_block(const quantize_params& params, std::uint32_t largest,
                           block_factors& to) {
  std::uint32_t amax = amax_of(params.plan, largest);
  if (largest >= params.plan.special) return false;
  return In::bytes == 2 ? find_pair(params.plan, amax, to.f, to.pair)
                        : find_factors(params.plan, amax, false, to.f);
}

/// Calls write(i, codes) with the codes of each row of a thread.
template <class In, class Out, class Write>
__device__ void encode_rows(const quantizer_plan& p,
                            const vec8<In::bytes> (&x)[8],
                            const block_factors& by, Write write) {
  const auto each = [&](auto scale) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      write(i, encode_eight<Out>([&](int k) {
              return scale(value_of<In>(x[i].element(k)));
            }));
    }
  };
  if constexpr (In::bytes == 2) {
    if (by.pair.low < 0) {
      each([&](float v) { return quotient(v, by.pair.high, by.pair.low); });
    } else {
      each([&](float v) { return scaled(v, by.pair); });
    }
  } else if (by.f.low == by.f.high) {
    each([&](float v) { return __fmul_rn(v, by.f.low); });
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const auto number = [&](int k) { return value_of<In>(x[i].element(k)); };
      unsigned undecided = 0;
      auto codes = quantize_eight<Out>(
          number, [&](int) { return by.f.low; }, [&](int) { return by.f.high; },
          false, false, 1, undecided);
      if (undecided != 0) {
        codes = encode_eight<Out>(
            [&](int k) { return divided(p, number(k), by.f.scale); });
      }
      write(i, codes);
    }
  }
}

}  // namespace detail

/// For jobs that satisfy quantizes_blocks(job).
template <class In, class Out, bool Transposes>
__global__ void __launch_bounds__(tile_threads, In::bytes == 4 ? 2 : 4)
    quantize_block_128x128(const __grid_constant__ quantize_params params) {
  const tile_origin origin(blockIdx.x, params.x);
#pragma unroll
  for (int i = 0; i < tile_edge * In::bytes; i += tile_threads) {
    prefetch_piece<In::bytes>(params.x, origin.row0, origin.col0,
                              i + threadIdx.x);
  }
  ptx::wait_for_kernels_before();
  __shared__ detail::block_memory<Out, Transposes> memory;
  __shared__ alignas(16) std::uint32_t amaxes[tile_threads / 32];
  const thread_coords t;
  const vec8_column mine(params.x, origin, t);
  vec8<In::bytes> x[8];
  mine.load(params.x, x);

  std::uint32_t key = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) key = max(key, detail::largest_of<In>(x[i]));
  key = __reduce_max_sync(0xffffffff, key);
  if (threadIdx.x % 32 == 0) amaxes[threadIdx.x / 32] = key;
  __syncthreads();
#pragma unroll
  for (int w = 0; w < tile_threads / 32; ++w) key = max(key, amaxes[w]);

  detail::block_factors by;
  if (!detail::find_block<In>(params, __float_as_uint(value_of<In>(key)), by)) {
    detail::quantize_by_core<In, Out>(params, memory.groups);
    return;
  }
  if (threadIdx.x == 0) detail::put_scale(params, origin, by.f.scale);

  const bool wants_y = !Transposes || params.y.groups != grouping::none;
  vec8<Out::bytes> codes[8];
  vec8_writer<Out::bytes> y(params.y.codes, mine);
  detail::encode_rows<In, Out>(params.plan, x, by,
                               [&](int i, const vec8<Out::bytes>& row) {
                                 if (Transposes) codes[i] = row;
                                 if (wants_y) y.put(i, row);
                               });
  if constexpr (Transposes) {
    detail::transpose_vec8s(codes);
#pragma unroll
    for (int j = 0; j < 8; ++j) memory.transposed.put(t, j, codes[j]);
    __syncthreads();
    store_transposed(memory.transposed, params.yt.codes, origin);
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_QUANTIZE_BLOCK_128X128_CUH_
