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
/// threads otherwise: then the other partial sums are +0, which change a sum of
/// -0 alone.
inline constexpr std::ptrdiff_t row_of_warp = 32 * rms_run;

/// The distance of two neighbouring runs of a thread.
inline constexpr std::ptrdiff_t run_step = rms_run * rms_lanes;

/// The first run of this thread.
template <int Threads>
__device__ std::ptrdiff_t first_run() {
  return rms_run * static_cast<std::ptrdiff_t>(threadIdx.x % Threads);
}

/// Calls use(first) for the runs of eight elements of this thread's partial
/// sum, in order; the last may be shorter.
template <int Threads, class Use>
__device__ void for_runs(std::ptrdiff_t n, Use use) {
  for (auto first = first_run<Threads>(); first < n; first += run_step) {
    use(first);
  }
}

/// Values of this thread's first `Kept` runs, in registers, and how to get
/// those of the runs beyond.
template <int Threads, int Kept, class Value>
struct kept_runs {
  std::ptrdiff_t n;
  Value values[Kept];

  /// read(inside, first): the value of a run, if it is inside.
  template <class Read>
  __device__ kept_runs(std::ptrdiff_t n, Read read) : n(n) {
#pragma unroll
    for (int k = 0; k < Kept; ++k) {
      const std::ptrdiff_t first = first_run<Threads>() + k * run_step;
      values[k] = read(first < n, first);
    }
  }
  /// Calls use(first, value) for the runs that are kept, in order.
  template <class Use>
  __device__ void for_kept(Use use) {
#pragma unroll
    for (int k = 0; k < Kept; ++k) {
      const std::ptrdiff_t first = first_run<Threads>() + k * run_step;
      if (first < n) use(first, values[k]);
    }
  }
  /// The same for all runs; use_beyond(first) for those that are not kept.
  template <class Use, class Beyond>
  __device__ void for_all(Use use, Beyond use_beyond) {
    for_kept(use);
    for (auto first = first_run<Threads>() + Kept * run_step; first < n;
         first += run_step) {
      use_beyond(first);
    }
  }
};

/// Calls use(first, read(true, first)) for the runs of this thread, in order;
/// `Batch` at a time are read before the first of these is used.
template <int Threads, int Batch, class Read, class Use>
__device__ void for_loaded_runs(std::ptrdiff_t n, Read read, Use use) {
  using value = decltype(read(true, n));
  for (std::ptrdiff_t at = 0; at < n; at += Batch * run_step) {
    kept_runs<Threads, Batch, value> batch(
        n - at, [&](bool inside, std::ptrdiff_t first) {
          return read(inside, at + first);
        });
    batch.for_kept(
        [&](std::ptrdiff_t first, const value& x) { use(at + first, x); });
  }
}

/// The trees of neighbours over the threads' partial sums, `Count` of each
/// thread: afterwards all threads have the sums. A warp's threads, or all of a
/// block's, call it.
template <int Threads, class A, int Count>
__device__ void trees_of_threads(typename A::number (&p)[Count]) {
  const auto add_lanes = [&](int most) {
#pragma unroll
    for (int lanes = 1; lanes < most; lanes *= 2) {
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        p[i] = A::add(p[i], __shfl_xor_sync(0xffffffff, p[i], lanes));
      }
    }
  };
  add_lanes(32);
  if constexpr (Threads > 32) {
    constexpr int warps = Threads / 32;
    __shared__ typename A::number sums[Count][warps];
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (int i = 0; i < Count; ++i) sums[i][threadIdx.x / 32] = p[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Count; ++i) p[i] = sums[i][threadIdx.x % warps];
    add_lanes(warps);
    __syncthreads();
  } else {
    // The partial sums of rows this short that no thread has.
#pragma unroll
    for (int i = 0; i < Count; ++i) p[i] = A::add(p[i], 0);
  }
}
template <int Threads, class A>
__device__ typename A::number tree_of_threads(typename A::number x) {
  typename A::number p[] = {x};
  trees_of_threads<Threads, A>(p);
  return p[0];
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

/// Rows of n elements that a block of 256 threads has.
constexpr std::ptrdiff_t rows_of_block(std::ptrdiff_t n) {
  return n <= row_of_warp ? 8 : 1;
}

/// The kernel for rows of n elements, of those that of<Threads, Kept, Whole>()
/// returns: `Kept` runs of a thread are in registers, `Most` of long rows.
template <int Most, class Of>
auto kernel_for_rows(std::ptrdiff_t n, bool whole, Of of) {
  const auto choose = [&]<bool Whole>() {
    return n <= row_of_warp ? of.template operator()<32, 1, Whole>()
           : n <= run_step  ? of.template operator()<256, 1, Whole>()
                            : of.template operator()<256, Most, Whole>();
  };
  return whole ? choose.template operator()<true>()
               : choose.template operator()<false>();
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_MODEL_ROW_SUM_CUH_
