// Defines the kernel of AdamW. A warp takes 128 elements of a row, a thread
// four of them, so that each access of a warp covers whole lines.
//
//   load -> the equations by fast_fp32 -> store; if a number is not sure,
//   those four elements again by device_fp32
//
// Source: SPEC clauses S6 and S8.

#ifndef ZEROULP_CUDA_TRAINING_ADAMW_CUH_
#define ZEROULP_CUDA_TRAINING_ADAMW_CUH_

#include "cuda/common/arithmetic.cuh"
#include "cuda/common/bf16.cuh"
#include "cuda/common/quantizer_plan.cuh"
#include "cuda/common/tile.cuh"
#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/warp.cuh"

namespace zeroulp::cuda {

/// The arithmetic of core/elementary.hpp without branches. A number that
/// division or square root may get wrong is not `sure`, nor is any result
/// computed from it. Both operations scale by powers of two, so that moments of
/// any small magnitude are sure.
struct fast_fp32 {
  struct number {
    float value;
    bool sure;
  };

  static __device__ number from_bits(std::uint32_t b) {
    return {__uint_as_float(b), true};
  }
  static __device__ number negate(number a) { return {-a.value, a.sure}; }
  static __device__ number add(number a, number b) {
    return {__fadd_rn(a.value, b.value), a.sure && b.sure};
  }
  static __device__ number subtract(number a, number b) {
    return {__fsub_rn(a.value, b.value), a.sure && b.sure};
  }
  static __device__ number multiply(number a, number b) {
    return {__fmul_rn(a.value, b.value), a.sure && b.sure};
  }
  static __device__ number fma(number a, number b, number c) {
    return {__fmaf_rn(a.value, b.value, c.value), a.sure && b.sure && c.sure};
  }

  /// a / b, computed as 2^80 a / b by detail::quotient. The result is sure if b
  /// and the scaled quotient are within these bounds, or a = 0. Then all steps,
  /// and a / b, are far from subnormal.
  static __device__ number divide(number a, number b) {
    const float q = detail::quotient(__fmul_rn(a.value, 0x1p80f), b.value);
    const bool sure = between(b.value, 0x1p-70f, 0x1p70f) &&
                      (between(fabsf(q), 0x1p-46f, 0x1p120f) || a.value == 0);
    return {__fmul_rn(q, 0x1p-80f), sure && a.sure && b.sure};
  }
  /// sqrt(a) by the steps of __fsqrt_rn, valid from 2^-101 up. They are applied
  /// to 2^64 a, which is at least 2^-85 or 0.
  static __device__ number square_root(number a) {
    const float x = __fmul_rn(a.value, 0x1p64f);
    const float y = ptx::rsqrt_approx(fmaxf(x, 0x1p-100f));
    const float r = __fmul_rn(x, y);
    const float half = __fmul_rn(y, 0.5f);
    const float root = __fmaf_rn(__fmaf_rn(-r, r, x), half, r);
    return {__fmul_rn(root, 0x1p-32f),
            __float_as_uint(x) < fp32_infinity && a.sure};
  }

 private:
  /// True iff low <= x < high. Handles NaN, Inf and negative x: all are
  /// outside.
  static __device__ bool between(float x, float low, float high) {
    const std::uint32_t first = __float_as_uint(low);
    return __float_as_uint(x) - first < __float_as_uint(high) - first;
  }
};

/// A matrix of the state.
struct state_matrix {
  void* data;
  std::ptrdiff_t stride;

  template <int Bytes>
  __device__ char* at(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return static_cast<char*>(data) + (i * stride + j) * Bytes;
  }
};

struct adamw_params {
  adamw_factors factors;
  std::uint64_t seed, first;
  std::ptrdiff_t rows, cols;
  unsigned warps_a_row;
  bool vectorized;  ///< four neighbours can be accessed at once
  state_matrix g, m, v, w, copy;
};

inline constexpr int adamw_threads = 256;
inline constexpr int adamw_warp_columns = 128;

namespace detail {

/// Four neighbouring elements of `Bytes` bytes.
template <int Bytes>
struct alignas(4 * Bytes) quad {
  std::uint32_t words[Bytes];

  __device__ std::uint32_t element(int i) const {
    if constexpr (Bytes == 4) return words[i];
    return words[i / 2] >> i % 2 * 16 & 0xffff;
  }
};

/// Loads four neighbours. Not by the read-only path: this kernel writes m and
/// v.
template <int Bytes>
__device__ quad<Bytes> load_quad(const char* from) {
  if constexpr (Bytes == 2) {
    const auto x = *reinterpret_cast<const uint2*>(from);
    return {{x.x, x.y}};
  } else {
    const auto x = *reinterpret_cast<const uint4*>(from);
    return {{x.x, x.y, x.z, x.w}};
  }
}

template <int Bytes>
__device__ void store_quad(char* to, const quad<Bytes>& x) {
  if constexpr (Bytes == 2) {
    *reinterpret_cast<uint2*>(to) = {x.words[0], x.words[1]};
  } else {
    *reinterpret_cast<uint4*>(to) = {x.words[0], x.words[1], x.words[2],
                                     x.words[3]};
  }
}

template <class Element>
__device__ float load_element(const char* from) {
  if constexpr (Element::bytes == 2) {
    return value_of<Element>(*reinterpret_cast<const std::uint16_t*>(from));
  } else {
    return *reinterpret_cast<const float*>(from);
  }
}

template <class Element>
__device__ void store_element(char* to, std::uint32_t code) {
  if constexpr (Element::bytes == 2) {
    *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(code);
  } else {
    *reinterpret_cast<std::uint32_t*>(to) = code;
  }
}

template <class Moment, bool Stochastic>
__device__ std::uint32_t moment_of(float x, std::uint32_t random) {
  if constexpr (Moment::bytes == 4) return __float_as_uint(x);
  if constexpr (Stochastic) return to_bf16_stochastic(x, random);
  return ptx::cvt_bf16x2(x, 0.0f) & 0xffff;
}

__device__ inline std::uint64_t random_of(const adamw_params& params,
                                          std::ptrdiff_t i, std::ptrdiff_t j) {
  return adamw_random(params.seed, params.first + static_cast<std::uint64_t>(
                                                      i * params.cols + j));
}

/// Updates those of elements (i, j) to (i, j + 3) that exist, one by one.
template <class Gradient, class Moment, bool Stochastic>
__device__ __noinline__ void update_elements(const adamw_params& params,
                                             std::ptrdiff_t i,
                                             std::ptrdiff_t j) {
  const std::ptrdiff_t end = min(j + 4, params.cols);
  for (; j < end; ++j) {
    char* const m = params.m.at<Moment::bytes>(i, j);
    char* const v = params.v.at<Moment::bytes>(i, j);
    char* const w = params.w.at<4>(i, j);
    const auto next = adamw_update<device_fp32>(
        params.factors,
        {load_element<Moment>(m), load_element<Moment>(v),
         load_element<fp32_elements>(w)},
        load_element<Gradient>(params.g.at<Gradient::bytes>(i, j)));
    const std::uint64_t random = Stochastic ? random_of(params, i, j) : 0;
    store_element<Moment>(m, moment_of<Moment, Stochastic>(
                                 next.m, static_cast<std::uint32_t>(random)));
    store_element<Moment>(
        v, moment_of<Moment, Stochastic>(
               next.v, static_cast<std::uint32_t>(random >> 32)));
    store_element<fp32_elements>(w, __float_as_uint(next.w));
    if (params.copy.data != nullptr) {
      store_element<bf16_elements>(params.copy.at<2>(i, j),
                                   ptx::cvt_bf16x2(next.w, 0.0f) & 0xffff);
    }
  }
}

template <class Gradient, class Moment>
struct adamw_quad {
  quad<Gradient::bytes> g;
  quad<Moment::bytes> m, v;
  quad<4> w;

  __device__ void load(const adamw_params& params, std::ptrdiff_t i,
                       std::ptrdiff_t j) {
    g = load_quad<Gradient::bytes>(params.g.at<Gradient::bytes>(i, j));
    m = load_quad<Moment::bytes>(params.m.at<Moment::bytes>(i, j));
    v = load_quad<Moment::bytes>(params.v.at<Moment::bytes>(i, j));
    w = load_quad<4>(params.w.at<4>(i, j));
  }

  /// Updates the state by fast_fp32. Returns false, with no usable contents,
  /// iff a number is not sure.
  template <bool Stochastic>
  __device__ bool update(const adamw_params& params, std::ptrdiff_t i,
                         std::ptrdiff_t j) {
    float next_m[4], next_v[4];
    bool sure = true;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const auto next =
          adamw_update<fast_fp32>(params.factors,
                                  {{value_of<Moment>(m.element(k)), true},
                                   {value_of<Moment>(v.element(k)), true},
                                   {__uint_as_float(w.words[k]), true}},
                                  {value_of<Gradient>(g.element(k)), true});
      next_m[k] = next.m.value, next_v[k] = next.v.value;
      w.words[k] = __float_as_uint(next.w.value);
      sure = sure && next.w.sure;
    }
    if constexpr (Moment::bytes == 4) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        m.words[k] = __float_as_uint(next_m[k]);
        v.words[k] = __float_as_uint(next_v[k]);
      }
    } else if constexpr (Stochastic) {
      m = v = {};
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const std::uint64_t random = random_of(params, i, j + k);
        const auto low = static_cast<std::uint32_t>(random);
        const auto high = static_cast<std::uint32_t>(random >> 32);
        m.words[k / 2] |= to_bf16_stochastic(next_m[k], low) << k % 2 * 16;
        v.words[k / 2] |= to_bf16_stochastic(next_v[k], high) << k % 2 * 16;
      }
    } else {
#pragma unroll
      for (int k = 0; k < 4; k += 2) {
        m.words[k / 2] = ptx::cvt_bf16x2(next_m[k], next_m[k + 1]);
        v.words[k / 2] = ptx::cvt_bf16x2(next_v[k], next_v[k + 1]);
      }
    }
    return sure;
  }

  __device__ void store(const adamw_params& params, std::ptrdiff_t i,
                        std::ptrdiff_t j) const {
    store_quad<Moment::bytes>(params.m.at<Moment::bytes>(i, j), m);
    store_quad<Moment::bytes>(params.v.at<Moment::bytes>(i, j), v);
    store_quad<4>(params.w.at<4>(i, j), w);
    if (params.copy.data == nullptr) return;
    const auto two = [this](int k) {
      return ptx::cvt_bf16x2(__uint_as_float(w.words[k]),
                             __uint_as_float(w.words[k + 1]));
    };
    store_quad<2>(params.copy.at<2>(i, j), {{two(0), two(2)}});
  }
};

}  // namespace detail

/// The launch bounds leave enough registers to have every load before the
/// arithmetic.
template <class Gradient, class Moment, bool Stochastic>
__global__ void __launch_bounds__(adamw_threads, Stochastic ? 4 : 5)
    update_state(const __grid_constant__ adamw_params params) {
  ptx::wait_for_kernels_before();
  const unsigned warp = blockIdx.x * (adamw_threads / 32) + threadIdx.x / 32;
  const std::ptrdiff_t i = warp / params.warps_a_row;
  const std::ptrdiff_t j =
      std::ptrdiff_t{warp % params.warps_a_row} * adamw_warp_columns +
      4 * (threadIdx.x % 32);
  if (i >= params.rows) return;
  if (params.vectorized && j + 4 <= params.cols) {
    detail::adamw_quad<Gradient, Moment> x;
    x.load(params, i, j);
    if (x.template update<Stochastic>(params, i, j)) {
      x.store(params, i, j);
      return;
    }
  }
  // Called last, so that no registers are kept across it.
  detail::update_elements<Gradient, Moment, Stochastic>(params, i, j);
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_TRAINING_ADAMW_CUH_
