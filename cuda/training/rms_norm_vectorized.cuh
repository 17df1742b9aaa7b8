// Defines the kernel of RMSNorm for rows of BF16 whose vec8s are whole and fit
// the registers of a block. Each of 128 threads takes two of a row's 256 lanes:
// its own number, and 128 more. All vec8s are loaded before any is waited for.
// There is one barrier: each warp computes rstd itself.
//
// Source: SPEC clauses S1, S4, S5.

#ifndef ZEROULP_CUDA_TRAINING_RMS_NORM_VECTORIZED_CUH_
#define ZEROULP_CUDA_TRAINING_RMS_NORM_VECTORIZED_CUH_

#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/memory.cuh"
#include "cuda/ptx/warp.cuh"
#include "cuda/training/rms_norm.cuh"

namespace zeroulp::cuda {

/// A thread's vec8s, the columns between them, and the columns of a row.
inline constexpr int rms_vectorized_vec8s = 8;
inline constexpr int rms_vectorized_stride = rms_run * row_threads;
inline constexpr int rms_vectorized_columns =
    rms_vectorized_vec8s * rms_vectorized_stride;

namespace detail {

/// The `Vec8s` of y (rows_1x128.cuh): a thread's, in `Rows` rows.
template <int Rows>
struct local_vec8s {
  using elements = bf16_elements;
  static constexpr int count = rms_vectorized_vec8s;
  static constexpr int of_row = count / Rows;

  const rms_params& params;
  const float* rstd;

  __device__ const quantized_target& target(int) const { return params.out; }
  __device__ const scale_target& scales(int) const { return params.out.scales; }
  __device__ std::ptrdiff_t row(int i) const {
    return std::ptrdiff_t{blockIdx.x} * Rows + i / of_row;
  }
  __device__ std::ptrdiff_t group(int i) const {
    return i % of_row * (rms_vectorized_stride / tile_edge) +
           static_cast<int>(threadIdx.x / 16);
  }
  __device__ bool is_inside(int i) const {
    return row(i) < params.x.rows.rows &&
           group(i) * tile_edge < params.x.rows.cols;
  }
  __device__ rms_vec8 again(int i) const {
    const device_rows& x = params.x.rows;
    const std::ptrdiff_t col = column_of_vec8(group(i));
    return rms_value_vec8(load<2>(x.row<2>(row(i)), col, x.cols, true),
                          rstd[i / of_row], {params.w, col});
  }
};

/// Loads 16 bytes at `from` if `inside`, else returns zeros.
__device__ inline rms_vec8 load_if(bool inside, const char* from) {
  rms_vec8 x;
  ptx::load_if(x.words, inside, from);
  return x;
}

template <class Out, int Rows>
__device__ __noinline__ void finish_row_vec8s(const rms_params& params,
                                              float rstd) {
  // Lane 8 i holds rstd of row i.
  __shared__ float of_warp[row_threads / 32][Rows];
  const unsigned lane = threadIdx.x % 32;
  float* const here = of_warp[threadIdx.x / 32];
  if (lane % 8 == 0 && lane / 8 < Rows) here[lane / 8] = rstd;
  __syncwarp();
  finish_vec8s<Out>(params.plan, {}, local_vec8s<Rows>{params, here}, {true});
}

}  // namespace detail

/// x, y and w are of BF16 and aligned (`vectorized`), with a multiple of eight
/// columns, at most rms_vectorized_columns / Rows. `Steps`: x has Steps *
/// rms_vectorized_stride columns, and all threads have as many vec8s. 0: any
/// number of columns.
template <class Out, int Rows, int Steps>
__global__ void __launch_bounds__(row_threads, 8)
    rms_norm_vectorized(const __grid_constant__ rms_params params) {
  using detail::rms_vec8;
  constexpr int count = rms_vectorized_vec8s, of_row = count / Rows;
  constexpr int warps = row_threads / 32;
  __shared__ float sums[Rows][2 * warps];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::ptrdiff_t row0 = std::ptrdiff_t{blockIdx.x} * Rows;
  const device_rows& in = params.x.rows;
  const int cols = static_cast<int>(in.cols);
  const int col0 = rms_run * static_cast<int>(threadIdx.x);
  const auto has = [&](int c) {
    return Steps != 0 ? c < Steps : col0 + c * rms_vectorized_stride < cols;
  };
  const auto vec8_at = [&](const char* row, int c) {
    return Steps != 0 && c >= Steps
               ? rms_vec8{}
               : detail::load_if(has(c), row + c * rms_vectorized_stride * 2);
  };

  const char* first[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    first[r] = in.row<2>(min(row0 + r, in.rows - 1)) + col0 * 2;
    asm volatile("" : "+l"(first[r]));  // computed while preceding kernels run
  }
  if (begins_early() && threadIdx.x % 8 == 0) {  // a line has eight vec8s
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int c = i % of_row;
      if ((Steps == 0 || c < Steps) && has(c)) {
        ptx::prefetch_l2(first[i / of_row] + c * rms_vectorized_stride * 2);
      }
    }
  }
  ptx::wait_for_kernels_before();
  rms_vec8 x[count];
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const int c = i % of_row;
    x[i] = vec8_at(first[i / of_row], c);
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    float p[2] = {};
#pragma unroll
    for (int c = 0; c < of_row; ++c) {
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        const float v = value_of<bf16_elements>(x[r * of_row + c].element(k));
        p[c % 2] = __fmaf_rn(v, v, p[c % 2]);
      }
    }
#pragma unroll
    for (int lanes = 1; lanes < 32; lanes *= 2) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        p[i] = __fadd_rn(p[i], __shfl_xor_sync(all_lanes, p[i], lanes));
      }
    }
    if (lane == 0) sums[r][warp] = p[0], sums[r][warps + warp] = p[1];
  }
  __syncthreads();

  // Lane 8 r + i has warp sum i of row r.
  using A = device_fp32;
  float sum = sums[lane / 8 % Rows][lane % 8];
#pragma unroll
  for (int lanes = 1; lanes < 8; lanes *= 2) {
    sum = __fadd_rn(sum, __shfl_xor_sync(all_lanes, sum, lanes));
  }
  const float my_rstd =
      rms_rstd<A>(sum, A::from_bits(params.count), A::from_bits(params.eps));
  if (params.rstd.data != nullptr && threadIdx.x % 8 == 0 &&
      threadIdx.x < 8 * Rows && row0 + lane / 8 < in.rows) {
    params.rstd(row0 + lane / 8, 0) = __float_as_uint(my_rstd);
  }
  const bool makes_codes = params.out.groups != grouping::none;
  const device_rows& y = params.y.rows;
  const int rows = static_cast<int>(min(in.rows - row0, std::ptrdiff_t{Rows}));
  if (!makes_codes && y.data == nullptr) return;
  float rstd[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    rstd[r] = __shfl_sync(all_lanes, my_rstd, 8 * r);
  }
  const char* w_at = params.w.rows.row<2>(0) + col0 * 2;
  asm volatile("" : "+l"(w_at));  // otherwise recomputed for each vec8
  const auto weights = [&](int c) { return vec8_at(w_at, c); };
  rms_vec8 next = weights(0);
#pragma unroll
  for (int c = 0; c < of_row; ++c) {
    // Weights are loaded one step ahead.
    const rms_vec8 w = next;
    if (c + 1 < of_row) next = weights(c + 1);
    if (!has(c)) continue;
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      rms_vec8& v = x[r * of_row + c];
      const auto value = [&](int k) {
        return rms_value<A>(value_of<bf16_elements>(v.element(k)), rstd[r],
                            value_of<bf16_elements>(w.element(k)));
      };
#pragma unroll
      for (int k = 0; k < 8; k += 2) {
        v.words[k / 2] = ptx::cvt_bf16x2(value(k), value(k + 1));
      }
    }
  }
  if (y.data != nullptr) {
    char* const y_at = y.row<2>(row0) + col0 * 2;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int r = i / of_row, c = i % of_row;
      if (!has(c) || r >= rows) continue;
      store<2>(y_at + r * y.stride * 2, c * rms_vectorized_stride,
               (c + 1) * rms_vectorized_stride, true, x[i]);
    }
  }
  if (!makes_codes) return;

  // Two amaxes in a word: vec8 i and vec8 i + count / 2.
  std::uint32_t keys[count / 2];
#pragma unroll
  for (int i = 0; i < count / 2; ++i) {
    keys[i] = detail::two_largest(x[i], x[i + count / 2]);
  }
  const std::uint32_t two = detail::largest_pair_of_rows(keys);
  const std::uint32_t largest =
      lane % count < count / 2 ? two << 16 : two & 0xffff0000;
  const detail::local_vec8s<Rows> vec8s{params, nullptr};
  group_factors mine;
  bool done = detail::find_groups(params.plan, {}, vec8s, largest, mine);
  if (done) {
    const device_rows& codes_out = params.out.codes;
    char* const codes_at = codes_out.row<Out::bytes>(row0) + col0 * Out::bytes;
    const auto put = [&](int i, const vec8<Out::bytes>& codes) {
      const int r = i / of_row, c = i % of_row;
      if (!has(c) || r >= rows) return;
      store<Out::bytes>(codes_at + r * codes_out.stride * Out::bytes,
                        c * rms_vectorized_stride,
                        (c + 1) * rms_vectorized_stride, true, codes);
    };
    const auto put_codes = [&](auto codes_of) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const int c = i % of_row;
        const bool is_wanted =  // by some lane of the warp
            Steps != 0 ? has(c) : c * rms_vectorized_stride < cols;
        if (is_wanted) put(i, codes_of(i, x[i]));
      }
    };
    const auto put_group = [&](int group, auto codes_of) {
      rms_vec8 v = x[0];
#pragma unroll
      for (int i = 1; i < count; ++i) {
        if (i == group) v = x[i];
      }
      put(group, codes_of(group, v));
    };
    done = detail::by_factors<Out, count>(params.plan, mine, largest, put_codes,
                                          put_group);
  }
  if (!done) detail::finish_row_vec8s<Out, Rows>(params, my_rstd);
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_TRAINING_RMS_NORM_VECTORIZED_CUH_
