// Defines what the re-tiling kernel leaves to the core: columns with Inf or
// NaN, columns under unusual scales, and values whose codes two factors leave
// undecided. See retile.cuh.

#ifndef ZEROULP_CUDA_RETILE_CORE_FALLBACK_CUH_
#define ZEROULP_CUDA_RETILE_CORE_FALLBACK_CUH_

#include <cstring>
#include <type_traits>

#include "cuda/retile/common.cuh"

namespace zeroulp::cuda::detail {

/// The code of a value, computed by the core.
inline __device__ __noinline__ std::uint32_t retiled_code(const retiling& r,
                                                          std::uint32_t code,
                                                          std::uint32_t scale,
                                                          std::uint32_t t) {
  return static_cast<std::uint32_t>(encode(
      r.to,
      quotient(zeroulp::detail::retiled_value(r, code, scale), decode(fp32, t)),
      {}, keep_specials));
}

/// The scale of a column of up to 128 codes, computed by the core.
template <class Code>
__device__ __noinline__ std::uint32_t retiled_scale(
    const retiling& r, matrix_view<const Code> codes,
    const std::uint32_t* scales) {
  return zeroulp::detail::retiled_scale(
      r, codes, matrix_view<const std::uint32_t>(scales, codes.rows, 1));
}

/// The code at (i, j).
template <class From>
__device__ std::uint32_t code_at(const device_rows& x, std::ptrdiff_t i,
                                 std::ptrdiff_t j) {
  std::uint32_t code = 0;
  std::memcpy(&code, x.row<From::bytes>(i) + j * From::bytes, From::bytes);
  return code;
}

/// Decides the codes of a thread's `undecided` columns by their factors or by
/// the core.
template <class From, class To, bool Powers>
__device__ __noinline__ void fill_rest(const retile_params& params,
                                       const retiled_rows& rows,
                                       const retiled_columns& columns,
                                       tile_origin origin, unsigned undecided,
                                       transposing_tile<To::bytes>& out) {
  const thread_coords t;
  for (; undecided != 0; undecided &= undecided - 1) {
    const int j = __ffs(static_cast<int>(undecided)) - 1, column = 8 * t.c + j;
    if (origin.col0 + column >= params.codes.cols) return;
    const auto [low, high] = columns.factors_of(column);
    for (int i = 0; i < 8; ++i) {
      const int row = 8 * t.a + i;
      if (origin.row0 + row >= params.codes.rows) break;
      const std::uint32_t code =
          code_at<From>(params.codes, origin.row0 + row, origin.col0 + column);
      const float v = __fmul_rn(decoded<From>(&code, 0), rows.factors[row]);
      const std::uint32_t two =
          encode_two<To>(__fmul_rn(v, low), __fmul_rn(v, high));
      constexpr int bits = 8 * To::bytes;
      constexpr std::uint32_t mask = (1u << bits) - 1;
      const bool is_decided = low > 0 && (two & mask) == two >> bits &&
                              fabsf(v) < __uint_as_float(fp32_infinity);
      out.set(t, j, i,
              is_decided ? two & mask
                         : retiled_code(params.r, code, rows.scales[row],
                                        columns.scale[column]));
    }
  }
}

/// Redoes the columns without a scale, by the core.
template <class From, class To>
__device__ __noinline__ void retile_again(const retile_params& params,
                                          const retiled_rows& rows,
                                          retiled_columns& columns,
                                          tile_origin origin) {
  using from_code =
      std::conditional_t<From::bytes == 1, std::uint8_t, std::uint16_t>;
  using to_code =
      std::conditional_t<To::bytes == 1, std::uint8_t, std::uint16_t>;
  const device_rows& x = params.codes;
  const std::ptrdiff_t left = x.rows - origin.row0;
  const auto height = static_cast<int>(left < tile_edge ? left : tile_edge);
  // Two threads take a column.
  const int at = static_cast<int>(threadIdx.x) % tile_edge;
  const int first = static_cast<int>(threadIdx.x) / tile_edge;
  const std::ptrdiff_t column = origin.col0 + at;
  const bool is_mine = column < x.cols && columns.scale[at] == 0;
  if (is_mine && first == 0) {
    const auto* const codes =
        reinterpret_cast<const from_code*>(x.row<From::bytes>(origin.row0));
    const std::uint32_t t = retiled_scale(
        params.r,
        matrix_view<const from_code>(codes + column, height, 1, x.stride, 1),
        rows.scales);
    params.to_scales.put(column, origin.row0 / tile_edge, t);
    columns.factors_of(at).low = __uint_as_float(t);
  }
  __syncthreads();
  if (!is_mine) return;
  auto* const out =
      reinterpret_cast<to_code*>(params.to.row<To::bytes>(column)) +
      origin.row0;
  for (int i = first; i < height; i += tile_threads / tile_edge) {
    out[i] = static_cast<to_code>(retiled_code(
        params.r, code_at<From>(x, origin.row0 + i, column), rows.scales[i],
        __float_as_uint(columns.factors_of(at).low)));
  }
}

}  // namespace zeroulp::cuda::detail

#endif  // ZEROULP_CUDA_RETILE_CORE_FALLBACK_CUH_
