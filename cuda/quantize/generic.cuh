// Defines the quantizing kernel for any job. A block reads a tile of 128 x 128
// once and writes what the job wants: codes, in place or transposed, with a
// scale for each row, each column or the whole tile; or amaxes alone.
//
//   load 8 x 8 elements a thread -> amax of rows, columns, tile -> barrier ->
//   a thread a group: scale and factors -> barrier -> codes -> stores
//
// Source: SPEC clauses Q1 to Q13. Faster kernels for fewer jobs:
// rows_1x128.cuh, block_128x128.cuh, rows_and_columns.cuh.

#ifndef ZEROULP_CUDA_QUANTIZE_GENERIC_CUH_
#define ZEROULP_CUDA_QUANTIZE_GENERIC_CUH_

#include "cuda/ptx/warp.cuh"
#include "cuda/quantize/groups.cuh"

namespace zeroulp::cuda {
namespace detail {

/// The largest magnitudes of a thread's rows and columns: during construction
/// bits of elements, then FP32 bits.
template <class In>
struct magnitudes {
  std::uint32_t rows[8] = {};
  std::uint32_t columns[8] = {};

  __device__ explicit magnitudes(const vec8<In::bytes> (&x)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if constexpr (In::bytes == 4) {
#pragma unroll
        for (int j = 0; j < 8; ++j) take(i, j, x[i].words[j] & 0x7fffffff);
      } else {  // two in a word
        std::uint32_t row = 0;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const std::uint32_t m = x[i].words[j] & 0x7fff7fff;
          row = __vmaxu2(row, m);
          columns[j] = __vmaxu2(columns[j], m);
        }
        rows[i] = max(row & 0xffff, row >> 16);
      }
    }
    if constexpr (In::bytes == 2) {
#pragma unroll
      for (int j = 3; j >= 0; --j) {
        columns[2 * j + 1] = columns[j] >> 16;
        columns[2 * j] = columns[j] & 0xffff;
      }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      rows[i] = __float_as_uint(value_of<In>(rows[i]));
      columns[i] = __float_as_uint(value_of<In>(columns[i]));
    }
  }

  __device__ std::uint32_t of_all() const {
    std::uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) most = max(most, rows[i]);
    return most;
  }

 private:
  __device__ void take(int i, int j, std::uint32_t m) {
    rows[i] = max(rows[i], m);
    columns[j] = max(columns[j], m);
  }
};

/// Eight contiguous floats of shared memory, read in two accesses.
struct eight {
  float at[8];
  __device__ explicit eight(const float* from) {
    const auto low = *reinterpret_cast<const float4*>(from);
    const auto high = *reinterpret_cast<const float4*>(from + 4);
    at[0] = low.x, at[1] = low.y, at[2] = low.z, at[3] = low.w;
    at[4] = high.x, at[5] = high.y, at[6] = high.z, at[7] = high.w;
  }
};

/// Writes eight vec8s of codes, those of the numbers value(o, k). Factors are
/// indexed by vec8 (`by_vec8`) or by element. Returns a bit for each vec8
/// that the factors leave undecided.
template <class Out, class Value, class Write>
__device__ unsigned emit(const side_factors& side, int first, bool by_vec8,
                         Value value, Write write) {
  const eight low(side.low + first), high(side.high + first);
  bool all_same = true, quotients = false;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    all_same &= low.at[k] == high.at[k];
    quotients |= high.at[k] < 0;
  }
  unsigned undecided = 0;
#pragma unroll
  for (int o = 0; o < 8; ++o) {
    const auto number = [&](int k) { return value(o, k); };
    write(o, by_vec8
                 ? quantize_eight<Out>(
                       number, [&](int) { return low.at[o]; },
                       [&](int) { return high.at[o]; }, low.at[o] == high.at[o],
                       high.at[o] < 0, 1u << o, undecided)
                 : quantize_eight<Out>(
                       number, [&](int k) { return low.at[k]; },
                       [&](int k) { return high.at[k]; }, all_same, quotients,
                       1u << o, undecided));
  }
  return undecided;
}

/// Calls write(o, codes), by division, for each vec8 that the factors left
/// undecided.
template <class Out, class Value, class Write>
__device__ void resolve(const quantizer_plan& p, const side_factors& side,
                        int first, bool by_vec8, unsigned undecided,
                        Value value, Write write) {
#pragma unroll 1
  for (; undecided != 0; undecided &= undecided - 1) {
    const int o = __ffs(static_cast<int>(undecided)) - 1;
    write(o, encode_eight<Out>([&](int k) {
            return divided(p, value(o, k),
                           side.scale[first + (by_vec8 ? o : k)]);
          }));
  }
}

}  // namespace detail

template <class In, class Out>
__global__ void __launch_bounds__(tile_threads, In::bytes == 4 ? 2 : 3)
    quantize_generic(const __grid_constant__ quantize_params params) {
  ptx::wait_for_kernels_before();
  __shared__ detail::tile_groups groups;
  __shared__ transposing_tile<Out::bytes> transposed;
  constexpr unsigned all = 0xffffffff;
  const tile_origin origin(blockIdx.x, params.x);
  const thread_coords t;
  const int thread = static_cast<int>(threadIdx.x);
  const std::ptrdiff_t row0 = origin.row0 + 8 * t.a;
  const std::ptrdiff_t col0 = origin.col0 + 8 * t.c;

  vec8<In::bytes> x[8];
  load_rows<In::bytes>(params.x, row0, col0, x);

  // Amaxes of rows, columns and tile.
  bool ordinary;
  {
    detail::magnitudes<In> largest(x);
    const std::uint32_t any = largest.of_all();
    ordinary = any < params.plan.special;
    const std::uint32_t warp = __reduce_max_sync(all, any);
    if (thread % 32 == 0) groups.warp_amax[thread / 32] = warp;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const std::uint32_t m = largest.columns[j];
      largest.columns[j] = max(m, __shfl_xor_sync(all, m, 16));
    }
    if (thread % 32 < 16) {
      auto* to =
          reinterpret_cast<uint4*>(&groups.column_amax[thread / 32][8 * t.c]);
      const auto& m = largest.columns;
      to[0] = {m[0], m[1], m[2], m[3]};
      to[1] = {m[4], m[5], m[6], m[7]};
    }
    const std::uint32_t row = detail::largest_of_rows<8>(largest.rows);
    if (t.c < 8) groups.row_amax[8 * t.a + t.c] = row;
  }
  __syncthreads();

  // Scales and factors.
  if (params.amaxes.data == nullptr) {
    constexpr bool is_bf16 = In::as_format == bf16;
    ordinary &= detail::scale_groups(
        params, origin, groups, [&](std::uint32_t amax, group_factors& f) {
          return find_factors(params.plan, amax,
                              is_bf16 && params.given.data == nullptr, f);
        });
  }
  if (__syncthreads_or(!ordinary)) {
    return detail::quantize_by_core<In, Out>(params, groups);
  }
  if (params.amaxes.data != nullptr) {
    return detail::store_amaxes(params, origin, groups);
  }

  // Codes in the orientation of x, then transposed; then what the factors left
  // undecided.
  const device_rows& y = params.y.codes;
  const bool wants_y = params.y.groups != grouping::none;
  const bool wants_yt = params.yt.groups != grouping::none;
  const bool y_by_row = params.y.groups != grouping::column;
  const bool yt_by_column = params.yt.groups != grouping::row;
  const auto write_y = [&](int i, const vec8<Out::bytes>& codes) {
    if (row0 + i >= params.x.rows) return;
    store<Out::bytes>(y.row<Out::bytes>(row0 + i), col0, params.x.cols,
                      y.vectorized, codes);
  };
  const auto write_yt = [&](int j, const vec8<Out::bytes>& codes) {
    transposed.put(t, j, codes);
  };
  unsigned y_undecided = 0, yt_undecided = 0;
  if (wants_y) {
    y_undecided = detail::emit<Out>(
        y_by_row ? groups.rows : groups.columns, 8 * (y_by_row ? t.a : t.c),
        y_by_row, [&](int i, int j) { return value_of<In>(x[i].element(j)); },
        write_y);
  }
  if (wants_yt) {
    yt_undecided = detail::emit<Out>(
        yt_by_column ? groups.columns : groups.rows,
        8 * (yt_by_column ? t.c : t.a), yt_by_column,
        [&](int j, int i) { return value_of<In>(x[i].element(j)); }, write_yt);
  }
  const auto again = [&](int i, int j) {
    const bool inside = row0 + i < params.x.rows && col0 + j < params.x.cols;
    return value_of<In>(
        inside ? detail::element_at<In::bytes>(params.x, row0 + i, col0 + j)
               : 0);
  };
  detail::resolve<Out>(params.plan, y_by_row ? groups.rows : groups.columns,
                       8 * (y_by_row ? t.a : t.c), y_by_row, y_undecided, again,
                       write_y);
  if (!wants_yt) return;
  detail::resolve<Out>(
      params.plan, yt_by_column ? groups.columns : groups.rows,
      8 * (yt_by_column ? t.c : t.a), yt_by_column, yt_undecided,
      [&](int j, int i) { return again(i, j); }, write_yt);
  __syncthreads();
  store_transposed(transposed, params.yt.codes, origin);
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_QUANTIZE_GENERIC_CUH_
