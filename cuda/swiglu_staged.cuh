// Defines the kernel of SwiGLU's backward pass for whole octets of caches in
// E4M3: half a warp has four rows of 128 columns, in shared memory, a lane its
// octets.
//
//   copy the inputs -> a row at a time: quick values (sigmoid.cuh), and, where
//   they do not decide, the core's; amaxes (shuffles) -> a lane a group: scale
//   and factors -> a row at a time: codes
//
// Results take the place of inputs. The loops are not unrolled: instructions
// that run once come slower than those at hand.
//
// Source: SPEC clauses S1, S3.

#ifndef ZEROULP_CUDA_SWIGLU_STAGED_CUH_
#define ZEROULP_CUDA_SWIGLU_STAGED_CUH_

#include <cuda_pipeline_primitives.h>

#include "cuda/swiglu_backward.cuh"

namespace zeroulp::cuda {
namespace detail {

/// Octets of a block's threads.
struct gradient_tile {
  bf16_octet dh[swiglu_rows][row_threads];     ///< then dg
  bf16_octet codes[swiglu_rows][row_threads];  ///< of g, of u; then du
};

/// Copies this lane's octets of four rows, from word `first` of their places;
/// rows and octets beyond the matrix repeat the last, which adds nothing to an
/// amax.
template <int Bytes>
__device__ void copy_octets(const device_rows& from, const half_warp_place& at,
                            int first,
                            bf16_octet (&to)[swiglu_rows][row_threads]) {
  const std::ptrdiff_t col = min(column_of_octet(at.group), from.cols - 8);
  const std::ptrdiff_t last = from.rows - 1 - at.row0;
  const char* from_row =
      from.row<Bytes>(last < 0 ? from.rows - 1 : at.row0) + col * Bytes;
#pragma unroll
  for (int i = 0; i < swiglu_rows; ++i) {
    __pipeline_memcpy_async(&to[i][threadIdx.x].words[first], from_row,
                            8 * Bytes);
    if (i < last) from_row += from.stride * Bytes;
  }
}

/// By the core's arithmetic, by a thread an element: dg and du of row i of
/// these lanes, whose scales each of them has.
static __device__ __noinline__ void settle_row(gradient_tile& tile, int i,
                                               float g_scale, float u_scale,
                                               unsigned lanes) {
  const unsigned mine = threadIdx.x % 32;
  const unsigned k = mine % 8;
  while (lanes != 0) {
    // Eight threads for each of the first four.
    unsigned left = lanes;
#pragma unroll
    for (unsigned n = 0; n < 4; ++n) {
      if (n < mine / 8) left &= left - 1;
      lanes &= lanes - 1;
    }
    const int owner = left == 0 ? 0 : __ffs(static_cast<int>(left)) - 1;
    const unsigned t = threadIdx.x - mine + static_cast<unsigned>(owner);
    bf16_octet& dh = tile.dh[i][t];
    bf16_octet& codes = tile.codes[i][t];
    const auto number = [&](unsigned first, float scale) {
      const std::uint32_t code = codes.words[first + k / 4] >> k % 4 * 8 & 0xff;
      return __fmul_rn(decoded<e4m3_elements>(&code, 0),
                       __shfl_sync(all_lanes, scale, owner));
    };
    const float g = number(0, g_scale), u = number(2, u_scale);
    const std::uint32_t d = dh.words[k / 2] >> k % 2 * 16 & 0xffff;
    const auto x =
        swiglu_gradient<device_fp32>(g, u, value_of<bf16_elements>(d));
    __syncwarp();
    if (left != 0) {
      const auto put = [&](bf16_octet& to, float value) {
        reinterpret_cast<std::uint16_t*>(&to)[k] =
            static_cast<std::uint16_t>(to_bf16(value, 0));
      };
      put(dh, x.dg);
      put(codes, x.du);
    }
  }
  __syncwarp();
}

/// The largest magnitudes of two octets in half a warp: of a in the low half,
/// of b in the high.
__device__ inline std::uint32_t two_amaxes(const bf16_octet& a,
                                           const bf16_octet& b) {
  std::uint32_t most =
      largest_of<bf16_elements>(a) | largest_of<bf16_elements>(b) << 16;
#pragma unroll
  for (int lanes = 1; lanes < 16; lanes *= 2) {
    most = __vmaxu2(most, __shfl_xor_sync(all_lanes, most, lanes));
  }
  return most;
}

}  // namespace detail

/// All matrices are whole, of a multiple of eight columns; h is not wanted.
template <class Out>
__global__ void __launch_bounds__(row_threads, 6)
    swiglu_backward_staged(const __grid_constant__ swiglu_gradient_job job) {
  constexpr int rows = swiglu_rows;
  __shared__ detail::gradient_tile tile;
  const half_warp_place at(rows, job.dh.cols);
  const std::ptrdiff_t col0 = column_of_octet(at.group);
  const unsigned t = threadIdx.x;
  detail::copy_octets<2>(job.dh, at, 0, tile.dh);
  detail::copy_octets<1>(job.g, at, 0, tile.codes);
  detail::copy_octets<1>(job.u, at, 2, tile.codes);
  __pipeline_commit();

  // Lane i has the scale of row i % 4, of g if i % 8 < 4, else of u.
  const int of_lane = static_cast<int>(t % (2 * rows));
  const float my_scale = __uint_as_float(
      (of_lane < rows ? job.g_scales : job.u_scales)
          .at(min(at.row0 + of_lane % rows, job.dh.rows - 1), at.group));
  __pipeline_wait_prior(0);
  __syncwarp();

  // Lane i has the amaxes of rows i % 4: of dg, of du.
  std::uint32_t my_amaxes = 0;
  octet_writer<2> to_dg(job.dg, at.row0, col0, job.dg.data != nullptr);
  octet_writer<2> to_du(job.du, at.row0, col0, job.du.data != nullptr);
#pragma unroll 1
  for (int i = 0; i < rows; ++i) {
    const float g_scale = __shfl_sync(all_lanes, my_scale, i, 16);
    const float u_scale = __shfl_sync(all_lanes, my_scale, rows + i, 16);
    const detail::bf16_octet codes = tile.codes[i][t];
    const detail::quick_gradient<e4m3_elements> quick(
        tile.dh[i][t], {{codes.words[0], codes.words[1]}}, g_scale,
        {{codes.words[2], codes.words[3]}}, u_scale);
    const unsigned open = __ballot_sync(all_lanes, !quick.decided);
    if (open != 0) detail::settle_row(tile, i, g_scale, u_scale, open);
    detail::bf16_octet dg = quick.dg, du = quick.du;
    if (quick.decided) {
      tile.dh[i][t] = dg, tile.codes[i][t] = du;
    } else {
      dg = tile.dh[i][t], du = tile.codes[i][t];
    }
    to_dg.put(i, dg);
    to_du.put(i, du);
    const std::uint32_t amaxes = detail::two_amaxes(dg, du);
    if (of_lane % rows == i) my_amaxes = amaxes;
  }
  if (job.dg_out.groups == grouping::none &&
      job.du_out.groups == grouping::none) {
    return;
  }

  const detail::gradient_rows<e4m3_elements> octets{job, at};
  const std::uint32_t largest =
      of_lane < rows ? my_amaxes << 16 : my_amaxes & 0xffff0000;
  group_factors mine;
  unfinished_octets left{true, 0, 0};
  if (detail::find_groups(job.out, {}, octets, largest, mine)) {
    left = {false, 0, mine.scale};
    const auto quantize = [&](const auto& x, int first) {
      auto to = detail::writer_of<Out>(octets, first);
#pragma unroll 1
      for (int i = 0; i < rows; ++i) {
        to.put(i, detail::codes_of_octet<Out, bf16_elements>(
                      mine, first + i, x[i][t], left.open));
      }
    };
    quantize(tile.dh, 0);
    quantize(tile.codes, rows);
  }
  if (__any_sync(all_lanes, left.by_core || left.open != 0)) {
    detail::finish_gradients<Out, e4m3_elements>(job, left);
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_SWIGLU_STAGED_CUH_
