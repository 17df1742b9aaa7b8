// Defines sums over a row by the threads of a warp or of a block, in the order
// of SPEC N1, the exact maximum of a row, and FP64 arithmetic.

#ifndef ZEROULP_CUDA_MODEL_ROW_SUM_CUH_
#define ZEROULP_CUDA_MODEL_ROW_SUM_CUH_

#include "cuda/common/arithmetic.cuh"
#include "zeroulp/core/model/cross_entropy.hpp"
#include "zeroulp/core/model/row_sums.hpp"

namespace zeroulp::cuda {

/// The arithmetic of core/model/elementary_fp64.hpp by the GPU's FP64.
struct device_fp64 {
  using number = double;

#ifdef __CUDA_ARCH__
#define ZEROULP_DEVICE_RETURN(value) return value
#else
#define ZEROULP_DEVICE_RETURN(value) \
  return {}
#endif
  static ZEROULP_HD double from_bits(std::uint64_t b) {
    ZEROULP_DEVICE_RETURN(__longlong_as_double(static_cast<long long>(b)));
  }
  static ZEROULP_HD std::uint64_t bits(double a) {
    ZEROULP_DEVICE_RETURN(
        a != a ? 0x7fffffffffffffff
               : static_cast<std::uint64_t>(__double_as_longlong(a)));
  }
  static ZEROULP_HD double widen(std::uint32_t b) {
    ZEROULP_DEVICE_RETURN(static_cast<double>(__uint_as_float(b)));
  }
  static ZEROULP_HD std::uint32_t narrow(double a) {
    ZEROULP_DEVICE_RETURN(a != a ? 0x7fffffffu
                                 : __float_as_uint(__double2float_rn(a)));
  }
  static ZEROULP_HD double add(double a, double b) {
    ZEROULP_DEVICE_RETURN(__dadd_rn(a, b));
  }
  static ZEROULP_HD double subtract(double a, double b) {
    ZEROULP_DEVICE_RETURN(__dsub_rn(a, b));
  }
  static ZEROULP_HD double multiply(double a, double b) {
    ZEROULP_DEVICE_RETURN(__dmul_rn(a, b));
  }
  static ZEROULP_HD double fma(double a, double b, double c) {
    ZEROULP_DEVICE_RETURN(__fma_rn(a, b, c));
  }
  static ZEROULP_HD double divide(double a, double b) {
    ZEROULP_DEVICE_RETURN(__ddiv_rn(a, b));
  }
#undef ZEROULP_DEVICE_RETURN
};

/// A row is summed by a warp if it has at most 256 elements, by a block of 256
/// threads otherwise: then the other partial sums are +0, which change none.
inline constexpr std::ptrdiff_t row_of_warp = 32 * rms_run;

/// Calls use(first) for the runs of eight elements of this thread's partial
/// sum, in order; the last may be shorter.
template <int Threads, class Use>
__device__ void for_runs(std::ptrdiff_t n, Use use) {
  const auto lane = static_cast<std::ptrdiff_t>(threadIdx.x % Threads);
  for (std::ptrdiff_t first = rms_run * lane; first < n;
       first += rms_run * rms_lanes) {
    use(first);
  }
}
/// Calls use(first, load(first)) for them; `Batch` at a time are loaded before
/// the first of these is used.
template <int Threads, int Batch, class Load, class Use>
__device__ void for_loaded_runs(std::ptrdiff_t n, Load load, Use use) {
  constexpr std::ptrdiff_t step = rms_run * rms_lanes;
  const auto lane = static_cast<std::ptrdiff_t>(threadIdx.x % Threads);
  for (auto first = rms_run * lane; first < n; first += Batch * step) {
    decltype(load(first)) loaded[Batch];
#pragma unroll
    for (int b = 0; b < Batch; ++b) {
      if (first + b * step < n) loaded[b] = load(first + b * step);
    }
#pragma unroll
    for (int b = 0; b < Batch; ++b) {
      if (first + b * step < n) use(first + b * step, loaded[b]);
    }
  }
}

/// The tree of neighbours over the threads' partial sums, for all of them. A
/// warp's threads, or all of a block's, call it.
template <int Threads, class A>
__device__ typename A::number tree_of_threads(typename A::number p) {
#pragma unroll
  for (int lanes = 1; lanes < 32; lanes *= 2) {
    p = A::add(p, __shfl_xor_sync(0xffffffff, p, lanes));
  }
  if constexpr (Threads > 32) {
    constexpr int warps = Threads / 32;
    __shared__ typename A::number sums[warps];
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = p;
    __syncthreads();
    p = sums[threadIdx.x % warps];
#pragma unroll
    for (int lanes = 1; lanes < warps; lanes *= 2) {
      p = A::add(p, __shfl_xor_sync(0xffffffff, p, lanes));
    }
    __syncthreads();
  }
  return p;
}

/// The largest x of a warp's threads, or of all of a block's, as row_maximum of
/// row_sums.hpp: max.NaN returns its NaN, and +0 of zeros of both signs.
template <int Threads>
__device__ float maximum_of_threads(float x) {
#pragma unroll
  for (int lanes = 1; lanes < 32; lanes *= 2) {
    x = ptx::max_nan(x, __shfl_xor_sync(0xffffffff, x, lanes));
  }
  if constexpr (Threads > 32) {
    constexpr int warps = Threads / 32;
    __shared__ float all[warps];
    if (threadIdx.x % 32 == 0) all[threadIdx.x / 32] = x;
    __syncthreads();
    x = all[threadIdx.x % warps];
#pragma unroll
    for (int lanes = 1; lanes < warps; lanes *= 2) {
      x = ptx::max_nan(x, __shfl_xor_sync(0xffffffff, x, lanes));
    }
    __syncthreads();
  }
  return x;
}
inline constexpr std::uint32_t minus_infinity = 0xff800000;

/// The row of this thread, of rows that a warp or a block has each.
template <int Threads>
__device__ std::ptrdiff_t row_of_thread() {
  return static_cast<std::ptrdiff_t>(blockIdx.x) * (blockDim.x / Threads) +
         threadIdx.x / Threads;
}

/// kernel<32> or kernel<256> for rows of n elements, `rows` of them.
#define ZEROULP_LAUNCH_ROWS(checks, kernel, rows, n, stream, ...)             \
  do {                                                                        \
    if ((n) <= row_of_warp) {                                                 \
      kernel<32><<<(checks).blocks(ceil_div((rows), 8)), 256, 0, (stream)>>>( \
          __VA_ARGS__);                                                       \
    } else {                                                                  \
      kernel<256><<<(checks).blocks(rows), 256, 0, (stream)>>>(__VA_ARGS__);  \
    }                                                                         \
    (checks).launched();                                                      \
  } while (false)

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_MODEL_ROW_SUM_CUH_
