// Defines how half a warp quantizes groups of 1x128 without any other threads.
// Also defines the kernel that does so with a few rows of a matrix.
//
//   vec8s -> amax (shuffles) -> a lane a vec8: scale and factors -> codes
//
// A half warp has a few groups of 16 vec8s each; a lane has one vec8 of each
// group. The template parameter `Vec8s` says where they come from: a matrix,
// or results that a kernel has just computed. Its groups have numbers from 0 to
// count - 1, and it has
//
//   elements  count
//   target(i)  scales(i)        where the codes and scales of group i go
//   row(i)  group(i)            its place in the target, in groups
//   is_inside(i)                it is part of a target that is wanted
//   is_full()                   all groups' vec8s are inside, in aligned rows
//   again(i)                    rereads this lane's vec8; needs is_inside(i)

#ifndef ZEROULP_CUDA_QUANTIZE_ROWS_1X128_CUH_
#define ZEROULP_CUDA_QUANTIZE_ROWS_1X128_CUH_

#include "cuda/ptx/warp.cuh"
#include "cuda/quantize/params.cuh"
#include "cuda/quantize/two_factors.cuh"

namespace zeroulp::cuda {

inline constexpr unsigned all_lanes = 0xffffffff;

/// Returns the first column of this lane's vec8 of a group.
__device__ inline std::ptrdiff_t column_of_vec8(std::ptrdiff_t group) {
  return group * tile_edge + 8 * (threadIdx.x % 16);
}

/// The work that quantize_vec8s leaves to finish_vec8s.
struct unfinished_vec8s {
  bool by_core = false;     ///< the core must quantize all groups
  unsigned undecided = 0;   ///< this lane's vec8s to be divided, one bit each
  std::uint32_t scale = 0;  ///< scale of group lane % count
};

namespace detail {

/// Returns element k, an index known only at run time.
template <int Bytes>
__device__ std::uint32_t pick(const vec8<Bytes>& x, int k) {
  std::uint32_t element = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (i == k) element = x.element(i);
  }
  return element;
}

/// Quantizes the groups by the core's own functions: right for all of them, but
/// slow. Called by half a warp, in step with the other half.
template <class Out, class Vec8s>
__device__ __noinline__ void quantize_by_core(const quantizer& q,
                                              const amax_matrix& given,
                                              Vec8s vec8s) {
  using In = typename Vec8s::elements;
#pragma unroll 1
  for (int i = 0; i < Vec8s::count; ++i) {
    const bool inside = vec8s.is_inside(i);
    vec8<In::bytes> x{};
    if (inside) x = vec8s.again(i);
    const quantized_target& to = vec8s.target(i);
    const std::ptrdiff_t row = vec8s.row(i), group = vec8s.group(i);
    const std::ptrdiff_t at = column_of_vec8(group);
    std::uint32_t amax = 0;
#pragma unroll 1
    for (int k = 0; k < 8 && at + k < to.codes.cols; ++k) {
      const std::uint32_t element = pick(x, k);
      amax =
          max(amax,
              group_amax(q, matrix_view<const std::uint32_t>(&element, 1, 1)));
    }
    for (int lanes = 1; lanes < 16; lanes *= 2) {
      amax = max(amax, __shfl_xor_sync(all_lanes, amax, lanes));
    }
    if (!inside) continue;
    if (given.data != nullptr) amax = given.at(row, group);
    const group_scale s = make_scale(q, amax);
    if (threadIdx.x % 16 == 0) to.scales.put(row, group, s.scale);
#pragma unroll 1
    for (int k = 0; k < 8 && at + k < to.codes.cols; ++k) {
      const float number = value_of<In>(pick(x, k));
      const auto code = quantize_element(q, s, __float_as_uint(number));
      set_element<Out::bytes>(to.codes, row, at + k,
                              static_cast<std::uint32_t>(code));
    }
  }
}

/// Computes the scale and factors of group lane % count, given its `largest`
/// magnitude, and writes the scale. Returns false, for the whole warp, iff a
/// group inside the target needs the core.
template <class Vec8s>
__device__ __forceinline__ bool find_groups(const quantizer_plan& plan,
                                            const amax_matrix& given,
                                            const Vec8s& vec8s,
                                            std::uint32_t largest,
                                            group_factors& mine) {
  using In = typename Vec8s::elements;
  const int lane = static_cast<int>(threadIdx.x % 16);
  const int my_group = lane % Vec8s::count;
  const bool is_inside = vec8s.is_inside(my_group);
  std::uint32_t amax = In::as_format == bf16 ? largest : amax_of(plan, largest);
  if (given.data != nullptr && is_inside) {
    amax = given.at(vec8s.row(my_group), vec8s.group(my_group));
  }
  const bool of_bf16 = In::as_format == bf16 && given.data == nullptr;
  const bool ordinary = find_factors(plan, amax, of_bf16, mine);
  const bool is_core = (is_inside && !ordinary) || largest >= plan.special;
  if (__any_sync(all_lanes, is_core)) return false;
  if (lane < Vec8s::count && is_inside) {
    put_kept(vec8s.scales(my_group), vec8s.row(my_group), vec8s.group(my_group),
             mine.scale);
  }
  return true;
}

/// Returns the codes of this lane's vec8 x of group i; called by the whole
/// warp. Sets bit i of `undecided` iff the factors leave them undecided.
/// `untied`: where one factor is used, there are no ties.
template <class Out, class In>
__device__ __forceinline__ vec8<Out::bytes> codes_of_vec8(
    const group_factors& mine, int i, const vec8<In::bytes>& x, bool untied,
    unsigned& undecided) {
  const float low = __shfl_sync(all_lanes, mine.low, i, 16);
  const float high = __shfl_sync(all_lanes, mine.high, i, 16);
  if constexpr (In::as_format == bf16 && Out::as_format == e5m6) {
    if (untied && low == high) {
      return encode_eight<Out, true>(
          [&](int k) { return __fmul_rn(value_of<In>(x.element(k)), low); });
    }
  }
  return quantize_eight<Out>([&](int k) { return value_of<In>(x.element(k)); },
                             [&](int) { return low; },
                             [&](int) { return high; }, low == high, high < 0,
                             1u << i, undecided);
}

/// Makes the codes of BF16 groups that have amaxes of their own.
///
/// put(codes_of) writes the codes of all groups: codes_of(i, x) gives those of
/// this lane's vec8 x of group i. put_one(i, codes_of) rewrites group i where
/// one factor does not decide it, in either half of the warp. In the other half
/// the codes do not change.
///
/// Returns false, with nothing written, iff the core must quantize the groups.
/// `largest`: as in find_groups.
template <class Out, int Groups, class Put, class PutOne>
__device__ __forceinline__ bool by_factors(const quantizer_plan& plan,
                                           const group_factors& mine,
                                           std::uint32_t largest, Put put,
                                           PutOne put_one) {
  // For zeros any factor decides.
  unsigned undecided =
      __ballot_sync(all_lanes, mine.low != mine.high && largest != 0);
  factor_pair pair{};
  const auto by_pairs = [&]<bool Rounds>() {
    return [&](int i, const vec8<2>& x) {
      const factor_pair by = {__shfl_sync(all_lanes, pair.high, i, 16),
                              __shfl_sync(all_lanes, pair.low, i, 16)};
      return encode_eight<Out>([&](int k) {
        return scaled<Rounds>(value_of<bf16_elements>(x.element(k)), by);
      });
    };
  };
  if (undecided != 0) {
    const bool has_pair = pair_of(plan, mine, pair);
    if (!__all_sync(all_lanes, has_pair)) return false;
    // Not only divided groups are undecided. A group that is not wanted may
    // have the factor NaN while those beside it have one factor each.
    if (plan.divides && !plan.rounds_once) {
      put(by_pairs.template operator()<true>());
      return true;
    }
  }
  put([&](int i, const vec8<2>& x) {
    const float factor = __shfl_sync(all_lanes, mine.low, i, 16);
    return encode_eight<Out>([&](int k) {
      return __fmul_rn(value_of<bf16_elements>(x.element(k)), factor);
    });
  });
  undecided = (undecided | undecided >> 16) & ((1u << Groups) - 1);
#pragma unroll 1
  for (; undecided != 0; undecided &= undecided - 1) {
    put_one(__ffs(static_cast<int>(undecided)) - 1,
            by_pairs.template operator()<false>());
  }
  return true;
}

/// Returns the writer for the codes of groups from `first` on, all of one
/// target.
template <class Out, class Vec8s>
__device__ vec8_writer<Out::bytes> writer_of(const Vec8s& vec8s, int first) {
  const quantized_target& to = vec8s.target(first);
  return {to.codes, vec8s.row(first), column_of_vec8(vec8s.group(first)),
          to.groups != grouping::none};
}

}  // namespace detail

/// Quantizes `x`, this lane's vec8s. Returns what is left for finish_vec8s,
/// normally nothing.
template <class Out, class Vec8s, int Bytes>
__device__ __forceinline__ unfinished_vec8s
quantize_vec8s(const quantizer_plan& plan, const amax_matrix& given,
               const Vec8s& vec8s, const vec8<Bytes> (&x)[Vec8s::count]) {
  using In = typename Vec8s::elements;
  constexpr int count = Vec8s::count;
  // Lane i holds the amax, scale and factors of group i % count.
  std::uint32_t keys[count];
#pragma unroll
  for (int i = 0; i < count; ++i) keys[i] = detail::largest_of<In>(x[i]);
  const std::uint32_t largest =
      __float_as_uint(value_of<In>(detail::largest_of_rows<count>(keys)));
  group_factors mine;
  if (!detail::find_groups(plan, given, vec8s, largest, mine)) {
    return {true};
  }
  unsigned undecided = 0;
  const bool is_full = vec8s.is_full();
  const bool untied = plan.rounds_once && given.data == nullptr;
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const auto codes =
        detail::codes_of_vec8<Out, In>(mine, i, x[i], untied, undecided);
    const device_rows& to = vec8s.target(i).codes;
    const std::ptrdiff_t at = column_of_vec8(vec8s.group(i));
    if (is_full) {
      store<Out::bytes>(to.row<Out::bytes>(vec8s.row(i)), at, at + 8, true,
                        codes);
    } else if (vec8s.is_inside(i)) {
      store<Out::bytes>(to.row<Out::bytes>(vec8s.row(i)), at, to.cols,
                        to.vectorized, codes);
    }
  }
  return {false, undecided, mine.scale};
}

/// Does what quantize_vec8s left. Called by the whole warp.
template <class Out, class Vec8s>
__device__ __forceinline__ void finish_vec8s(const quantizer_plan& plan,
                                             const amax_matrix& given,
                                             const Vec8s& vec8s,
                                             unfinished_vec8s left) {
  using In = typename Vec8s::elements;
  if (left.by_core) {
    detail::quantize_by_core<Out>(plan.q, given, vec8s);
    return;
  }
  // Every lane takes part in the shuffles of scales.
  while (__any_sync(all_lanes, left.undecided != 0)) {
    const int i =
        left.undecided == 0 ? 0 : __ffs(static_cast<int>(left.undecided)) - 1;
    const std::uint32_t scale = __shfl_sync(all_lanes, left.scale, i, 16);
    if (left.undecided != 0 && vec8s.is_inside(i)) {
      const device_rows& to = vec8s.target(i).codes;
      const auto x = vec8s.again(i);
      store<Out::bytes>(
          to.row<Out::bytes>(vec8s.row(i)), column_of_vec8(vec8s.group(i)),
          to.cols, to.vectorized, encode_eight<Out>([&](int k) {
            return detail::divided(plan, value_of<In>(x.element(k)), scale);
          }));
    }
    left.undecided &= left.undecided - 1;
  }
}

/// Rows per half warp, and threads per block.
template <class In>
inline constexpr int rows_of_half_warp = In::bytes == 4 ? 4 : 8;
inline constexpr int row_threads = 128;

/// Half warps needed for an m x n matrix.
template <class In>
std::ptrdiff_t half_warps_of(std::ptrdiff_t m, std::ptrdiff_t n) {
  return ceil_div(m, rows_of_half_warp<In>) * ceil_div(n, tile_edge);
}

/// The rows and the group of columns that a half warp takes.
struct half_warp_position {
  std::ptrdiff_t row0, group;

  half_warp_position() = default;
  __device__ half_warp_position(std::ptrdiff_t first_row,
                                std::ptrdiff_t of_group)
      : row0(first_row), group(of_group) {}
  __device__ half_warp_position(int rows, const device_rows& x)
      : half_warp_position(rows, x, threadIdx.x) {}
  /// The place of another thread of the block.
  __device__ half_warp_position(int rows, const device_rows& x,
                                unsigned thread) {
    const auto at =
        x.tiles.divide(blockIdx.x * (row_threads / 16) + thread / 16);
    row0 = std::ptrdiff_t{at.quotient} * rows;
    group = at.rest;
  }
};

/// The `Vec8s` of a matrix: its rows.
template <class In>
struct matrix_vec8s {
  using elements = In;
  static constexpr int count = rows_of_half_warp<In>;

  const quantize_params& params;
  half_warp_position at;

  __device__ const quantized_target& target(int) const { return params.y; }
  __device__ const scale_target& scales(int) const { return params.y.scales; }
  __device__ std::ptrdiff_t row(int i) const { return at.row0 + i; }
  __device__ std::ptrdiff_t group(int) const { return at.group; }
  __device__ bool is_inside(int i) const { return row(i) < params.x.rows; }
  __device__ bool is_full() const {
    return params.y.codes.vectorized && at.row0 + count <= params.x.rows &&
           column_of_vec8(at.group) + 8 <= params.x.cols;
  }
  __device__ vec8<In::bytes> again(int i) const {
    return load<In::bytes>(params.x.row<In::bytes>(row(i)),
                           column_of_vec8(at.group), params.x.cols,
                           params.x.vectorized);
  }
};

template <class In, class Out>
__global__ void __launch_bounds__(row_threads, 6)
    quantize_rows(const __grid_constant__ quantize_params params) {
  const matrix_vec8s<In> vec8s{
      params, half_warp_position(rows_of_half_warp<In>, params.x)};
  static_assert(rows_of_half_warp<In> * In::bytes == 16);  // pieces
  prefetch_piece<In::bytes>(params.x, vec8s.at.row0, vec8s.at.group * tile_edge,
                            threadIdx.x % 16);
  ptx::wait_for_kernels_before();
  vec8<In::bytes> x[rows_of_half_warp<In>];
  load_rows<In::bytes>(params.x, vec8s.at.row0, column_of_vec8(vec8s.at.group),
                       x);
  const auto left = quantize_vec8s<Out>(params.plan, params.given, vec8s, x);
  finish_vec8s<Out>(params.plan, params.given, vec8s, left);
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_QUANTIZE_ROWS_1X128_CUH_
