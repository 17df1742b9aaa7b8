// Defines the quantizing kernel for BF16 and FP32 tiles with one given amax:
// that of the tile, or of the matrix. A block reads a tile of 128 x 128
// once. It writes its codes in place, transposed, or both.
//
//   load 8 x 8 elements a thread, and the amax -> scale and factors, in every
//   thread -> codes -> stores; vec8s of columns into shared memory -> barrier
//   -> stores
//
// The amax may be that of other elements, as under delayed scaling. A BF16
// number x by a BF16 amax is as far from a midpoint as if x were at most amax
// (quantizer_plan.cuh): beyond the largest code there are no midpoints, and the
// conversion saturates. Other amaxes leave some vec8s undecided, which are
// divided. A thread whose elements or factors need the core repeats all of its
// elements, after the others have written theirs.
//
// Source: SPEC clauses Q1 to Q13.

#ifndef ZEROULP_CUDA_QUANTIZE_GIVEN_BLOCK_CUH_
#define ZEROULP_CUDA_QUANTIZE_GIVEN_BLOCK_CUH_

#include "cuda/ptx/warp.cuh"
#include "cuda/quantize/groups.cuh"
#include "cuda/quantize/two_factors.cuh"

namespace zeroulp::cuda {
namespace detail {

/// A tile's given amax.
__device__ inline std::uint32_t given_amax(const quantize_params& params,
                                           const tile_origin& origin) {
  const bool is_matrix = params.y.groups == grouping::matrix ||
                         params.yt.groups == grouping::matrix;
  return is_matrix ? params.given.at(0, 0)
                   : params.given.at(origin.row0 / tile_edge,
                                     origin.col0 / tile_edge);
}

/// The factors of a tile: a pair that decides, or two bounds.
struct given_factors {
  factor_pair pair;
  bool by_pair;
  group_factors f;
};

/// Computes the factors for a given amax. Returns false iff the core must.
template <class In>
__device__ bool find_given(const quantizer_plan& p, std::uint32_t amax,
                           given_factors& to) {
  // Of amax 0 the elements need not be zeros, for which any factor would do.
  const bool as_bf16 = In::as_format == bf16 && p.rounds_once && amax != 0 &&
                       (amax & 0xffff) == 0;
  const bool found = find_factors(p, amax, as_bf16, to.f);
  to.by_pair = as_bf16 || to.f.low == to.f.high;
  to.pair = {to.f.low, 0};
  return found && (!as_bf16 || pair_of(p, to.f, to.pair));
}

/// Quantizes a thread's elements by the core's own functions.
template <class In, class Out>
__device__ __noinline__ void quantize_given_by_core(
    const quantize_params& params) {
  // Recomputed: as arguments, they would be kept in registers from the start.
  const tile_origin origin(blockIdx.x, params.x);
  const thread_coords t;
  const quantizer& q = params.plan.q;
  const group_scale s = make_scale(q, given_amax(params, origin));
  if (threadIdx.x == 0) put_scale(params, origin, s.scale);
#pragma unroll 1
  for (int k = 0; k < 64; ++k) {
    const std::ptrdiff_t i = origin.row0 + 8 * t.a + k / 8;
    const std::ptrdiff_t j = origin.col0 + 8 * t.c + k % 8;
    if (i >= params.x.rows || j >= params.x.cols) continue;
    const float x = value_of<In>(element_at<In::bytes>(params.x, i, j));
    const auto code =
        static_cast<std::uint32_t>(quantize_element(q, s, __float_as_uint(x)));
    if (params.y.groups != grouping::none) {
      set_element<Out::bytes>(params.y.codes, i, j, code);
    }
    if (params.yt.groups != grouping::none) {
      set_element<Out::bytes>(params.yt.codes, j, i, code);
    }
  }
}

/// Writes the codes of each of a thread's rows that `undecided` has a bit for,
/// by division: into y, if it is wanted, and into `transposed`, if there is
/// one.
template <class In, class Out>
__device__ __noinline__ void divide_rows(
    const quantize_params& params, std::uint32_t scale, unsigned undecided,
    transposing_tile<Out::bytes>* transposed) {
  const tile_origin origin(blockIdx.x, params.x);
  const thread_coords t;
  const vec8_column mine(params.x, origin, t);
  if (!mine.is_in) return;
#pragma unroll 1
  for (; undecided != 0; undecided &= undecided - 1) {
    const int i = __ffs(static_cast<int>(undecided)) - 1;
    if (i > mine.last) return;  // repeats that row, and is not stored
    const auto x = load<In::bytes>(params.x.row<In::bytes>(mine.row0 + i),
                                   mine.col0, params.x.cols, true);
    const auto codes = encode_eight<Out>([&](int k) {
      return divided(params.plan, value_of<In>(x.element(k)), scale);
    });
    if (params.y.groups != grouping::none) {
      store<Out::bytes>(params.y.codes.row<Out::bytes>(mine.row0 + i),
                        mine.col0, params.x.cols, true, codes);
    }
    if (transposed == nullptr) continue;
#pragma unroll
    for (int j = 0; j < 8; ++j) transposed->set(t, j, i, codes.element(j));
  }
}

}  // namespace detail

/// Blocks of a multiprocessor: as many as have the registers for a tile of
/// numbers and its codes.
template <class In, class Out>
inline constexpr int given_blocks = In::bytes == 4    ? 2
                                    : Out::bytes == 2 ? 3
                                                      : 4;

/// For jobs that satisfy quantizes_given_blocks(job).
template <class In, class Out, bool Transposes>
__global__ void __launch_bounds__(tile_threads, given_blocks<In, Out>)
    quantize_given_block(const __grid_constant__ quantize_params params) {
  const tile_origin origin(blockIdx.x, params.x);
#pragma unroll
  for (int i = 0; i < tile_edge * In::bytes; i += tile_threads) {
    prefetch_piece<In::bytes>(params.x, origin.row0, origin.col0,
                              i + threadIdx.x);
  }
  ptx::wait_for_kernels_before();
  const thread_coords t;
  const vec8_column mine(params.x, origin, t);
  vec8<In::bytes> x[8];
  mine.load(params.x, x);
  detail::given_factors by;
  const bool found = detail::find_given<In>(
      params.plan, detail::given_amax(params, origin), by);
  const bool by_core =
      !found || detail::magnitude_of<In>(detail::largest_key<In>(x)) >=
                    params.plan.special;
  if (threadIdx.x == 0 && found) {
    detail::put_scale(params, origin, by.f.scale);
  }

  const bool wants_y = !Transposes || params.y.groups != grouping::none;
  vec8<Out::bytes> codes[8];
  vec8_writer<Out::bytes> y(params.y.codes, mine);
  const auto put = [&](int i, const vec8<Out::bytes>& row) {
    if (Transposes) codes[i] = row;
    if (wants_y) y.put(i, row);
  };
  unsigned undecided = 0;
  if (by.by_pair) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      put(i, encode_eight<Out>([&](int k) {
            return detail::scaled(value_of<In>(x[i].element(k)), by.pair);
          }));
    }
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      put(i, detail::quantize_eight<Out>(
                 [&](int k) { return value_of<In>(x[i].element(k)); },
                 [&](int) { return by.f.low; }, [&](int) { return by.f.high; },
                 false, false, 1u << i, undecided));
    }
  }
  if constexpr (Transposes) {
    __shared__ transposing_tile<Out::bytes> transposed;
    detail::transpose_vec8s(codes);
#pragma unroll
    for (int j = 0; j < 8; ++j) transposed.put(t, j, codes[j]);
    if (undecided != 0) {
      detail::divide_rows<In, Out>(params, by.f.scale, undecided, &transposed);
    }
    const bool any = __syncthreads_or(by_core);
    store_transposed(transposed, params.yt.codes, origin);
    if (!any) return;
    __syncthreads();
  } else if (undecided != 0) {
    detail::divide_rows<In, Out>(params, by.f.scale, undecided, nullptr);
  }
  if (by_core) detail::quantize_given_by_core<In, Out>(params);
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_QUANTIZE_GIVEN_BLOCK_CUH_
