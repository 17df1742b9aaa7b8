// Defines the quantizing kernel for groups of 1x128 alone: half a warp reads a
// few rows of 128 columns and shares nothing with others.
//
//   load -> amax (shuffles) -> a lane a row: scale and factors -> codes

#ifndef ZEROULP_CUDA_QUANTIZE_ROWS_CUH_
#define ZEROULP_CUDA_QUANTIZE_ROWS_CUH_

#include "cuda/quantize_job.cuh"

namespace zeroulp::cuda {
namespace detail {

/// `Rows` rows of a group's columns by the core's own functions: right for all
/// of them, and slow. By half a warp, but in step with the other half.
template <class In, class Out, int Rows>
__device__ __noinline__ void quantize_rows_by_core(const quantize_job& job,
                                                   std::ptrdiff_t row0,
                                                   std::ptrdiff_t group) {
  constexpr unsigned all = 0xffffffff;
  const quantizer& q = job.plan.q;
  const std::ptrdiff_t begin = group * tile_edge + threadIdx.x % 16;
  const std::ptrdiff_t end =
      min(job.x.cols, (group + 1) * std::ptrdiff_t{tile_edge});
  for (std::ptrdiff_t row = row0; row < row0 + Rows; ++row) {
    const bool inside = row < job.x.rows;
    std::uint32_t amax = 0;
    for (std::ptrdiff_t j = begin; inside && j < end; j += 16) {
      const std::uint32_t element = element_at<In::bytes>(job.x, row, j);
      amax =
          max(amax,
              group_amax(q, matrix_view<const std::uint32_t>(&element, 1, 1)));
    }
    for (int lanes = 1; lanes < 16; lanes *= 2) {
      amax = max(amax, __shfl_xor_sync(all, amax, lanes));
    }
    if (!inside) continue;
    if (job.given.data != nullptr) amax = job.given.at(row, group);
    const group_scale s = make_scale(q.how, q.scale, q.to, amax);
    if (threadIdx.x % 16 == 0) job.y.scales.put(row, group, s.scale);
    for (std::ptrdiff_t j = begin; j < end; j += 16) {
      const float x = value_of<In>(element_at<In::bytes>(job.x, row, j));
      const auto code = quantize_element(q, s, __float_as_uint(x));
      set_element<Out::bytes>(job.y.codes, row, j,
                              static_cast<std::uint32_t>(code));
    }
  }
}

}  // namespace detail

/// Rows of half a warp, and threads of a block.
template <class In>
inline constexpr int rows_of_half_warp = In::bytes == 4 ? 4 : 8;
inline constexpr int row_threads = 128;

/// Half warps that an m x n matrix takes.
template <class In>
std::ptrdiff_t half_warps_of(std::ptrdiff_t m, std::ptrdiff_t n) {
  return ceil_div(m, rows_of_half_warp<In>) * ceil_div(n, tile_edge);
}

template <class In, class Out>
__global__ void __launch_bounds__(row_threads, 6)
    quantize_rows(const __grid_constant__ quantize_job job) {
  constexpr unsigned all = 0xffffffff;
  constexpr int rows = rows_of_half_warp<In>;
  const unsigned unit = blockIdx.x * (row_threads / 16) + threadIdx.x / 16;
  const auto groups = static_cast<unsigned>(ceil_div(job.x.cols, tile_edge));
  const std::ptrdiff_t row0 = std::ptrdiff_t{unit / groups} * rows;
  const std::ptrdiff_t group = unit % groups;
  const int lane = static_cast<int>(threadIdx.x % 16);
  const std::ptrdiff_t col0 = group * tile_edge + 8 * lane;

  octet<In::bytes> x[rows];
  load_rows<In::bytes>(job.x, row0, col0, x);

  // Lane r has the amax, scale and factors of row r % rows.
  std::uint32_t keys[rows];
#pragma unroll
  for (int i = 0; i < rows; ++i) keys[i] = detail::largest_of<In>(x[i]);
  const std::uint32_t largest =
      __float_as_uint(value_of<In>(detail::largest_of_rows<rows>(keys)));
  const std::ptrdiff_t my_row = row0 + lane % rows;
  std::uint32_t amax = amax_of(job.plan, largest);
  if (job.given.data != nullptr && my_row < job.x.rows) {
    amax = job.given.at(my_row, group);
  }
  group_factors mine;
  const bool of_bf16 = In::as_format == bf16 && job.given.data == nullptr;
  const bool ordinary = find_factors(job.plan, amax, of_bf16, mine);
  if (__any_sync(all, !ordinary || largest >= job.plan.special)) {
    detail::quantize_rows_by_core<In, Out, rows>(job, row0, group);
    return;
  }
  if (lane < rows && my_row < job.x.rows) {
    job.y.scales.put(my_row, group, mine.scale);
  }

  const device_rows& to = job.y.codes;
  const bool is_full =
      to.whole && row0 + rows <= job.x.rows && col0 + 8 <= job.x.cols;
  unsigned open = 0;
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    const float low = __shfl_sync(all, mine.low, i, 16);
    const float high = __shfl_sync(all, mine.high, i, 16);
    octet<Out::bytes> codes{};
    if (!detail::quantize_eight<Out>(
            [&](int k) { return value_of<In>(x[i].element(k)); },
            [&](int) { return low; }, [&](int) { return high; }, low == high,
            high < 0, codes)) {
      open |= 1u << i;
    }
    if (is_full) {
      store<Out::bytes>(to.row<Out::bytes>(row0 + i), col0, col0 + 8, true,
                        codes);
    } else if (row0 + i < job.x.rows) {
      store<Out::bytes>(to.row<Out::bytes>(row0 + i), col0, job.x.cols,
                        to.whole, codes);
    }
  }
  // What was not decided. Every lane takes part in asking for scales.
  while (__any_sync(all, open != 0)) {
    const int i = open == 0 ? 0 : __ffs(static_cast<int>(open)) - 1;
    const std::uint32_t scale = __shfl_sync(all, mine.scale, i, 16);
    if (open != 0 && row0 + i < job.x.rows) {
      const auto again = load<In::bytes>(job.x.row<In::bytes>(row0 + i), col0,
                                         job.x.cols, job.x.whole);
      store<Out::bytes>(to.row<Out::bytes>(row0 + i), col0, job.x.cols,
                        to.whole, encode_eight<Out>([&](int k) {
                          return detail::divided(
                              job.plan, value_of<In>(again.element(k)), scale);
                        }));
    }
    open &= open - 1;
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_QUANTIZE_ROWS_CUH_
