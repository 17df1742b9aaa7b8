// Defines SwiGLU of a vec8 by fast approximate arithmetic (sigmoid.cuh). A
// warp has undecided elements computed by the core's arithmetic, one thread an
// element.
//
// Source: SPEC clauses S2, S3.

#ifndef ZEROULP_CUDA_TRAINING_SWIGLU_FAST_MATH_CUH_
#define ZEROULP_CUDA_TRAINING_SWIGLU_FAST_MATH_CUH_

#include <cstring>

#include "cuda/common/arithmetic.cuh"
#include "cuda/common/bf16.cuh"
#include "cuda/common/decode.cuh"
#include "cuda/ptx/arithmetic.cuh"
#include "cuda/quantize/rows_1x128.cuh"
#include "cuda/training/sigmoid.cuh"

namespace zeroulp::cuda {

/// Rows per half warp.
inline constexpr int swiglu_rows = 4;

/// Outputs without data, or without groups, are not wanted.
struct swiglu_params {
  quantizer_plan out, cache;
  device_rows g, u, h;
  quantized_target h_out, g_cache, u_cache;
};

struct swiglu_gradient_params {
  quantizer_plan out;
  device_rows dh, g, u;  ///< g and u are codes
  scale_source g_scales, u_scales;
  device_rows h, dg, du;
  quantized_target dg_out, du_out;
};

namespace detail {

using bf16_vec8 = vec8<bf16_elements::bytes>;

/// h of gates g(k) and of u(k), valid if `is_decided`, and only for gates from
/// -fast_limit on.
struct fast_hidden {
  bf16_vec8 h;
  bool is_decided;

  template <class Gate, class Up>
  __device__ fast_hidden(Gate g, Up u) {
    near_midpoints near;
#pragma unroll
    for (int k = 0; k < 8; k += 2) {
      const auto value = [&](int i) {
        const float gate = g(i);
        return __fmul_rn(__fmul_rn(gate, fast_sigmoid(gate)), u(i));
      };
      const float first = value(k), second = value(k + 1);
      h.words[k / 2] = ptx::cvt_bf16x2(first, second);
      near.add(first, second);
    }
    is_decided = near.any() == 0;
  }
};

/// True iff no element is below -fast_limit or a negative NaN.
__device__ inline bool is_fast(const bf16_vec8& g) {
  std::uint32_t most = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) most = __vmaxu2(most, g.words[k]);
  constexpr std::uint32_t limit = 0x8000 | (127 + 3) << 7;
  return max(most & 0xffff, most >> 16) <= limit;
}

/// The smallest nonzero magnitude of codes.
template <class Cache>
inline constexpr float smallest_code = Cache::as_format == e4m3   ? 0x1p-9f
                                       : Cache::as_format == e5m2 ? 0x1p-16f
                                                                  : 0x1p-20f;

/// The largest finite code.
template <class Cache>
inline constexpr float largest_code = Cache::as_format == e4m3   ? 448
                                      : Cache::as_format == e5m2 ? 57344
                                                                 : 65024;

/// True iff numbers under this scale are 0 or have magnitudes in [2^-31, 2^46).
template <class Cache>
__device__ bool is_fast_scale(float scale) {
  return scale >= 0x1p-31f / smallest_code<Cache> && scale <= 0x1p30f;
}

/// True iff a code under this scale gives a gate near flat_gate.
template <class Cache>
__device__ bool has_flat_gate(float scale) {
  const std::uint32_t nearest =
      encode_two<Cache>(__fmul_rn(flat_gate, ptx::rcp_approx(scale)), 0);
  const float gate = __fmul_rn(decoded<Cache>(&nearest, 0), scale);
  return fabsf(__fsub_rn(gate, flat_gate)) <= flat_reach;
}

/// The scales of a group of g and u, and the slope bound of its gates.
/// bound.of_group < 0: the bound depends on the vec8. bound.of_square < 0: the
/// core computes everything.
struct alignas(16) gate_group {
  float g_scale, u_scale;
  slope_bound bound;
};
template <class Cache>
__device__ gate_group gate_group_of(float g_scale, float u_scale) {
  const float limit = __fmul_rn(largest_code<Cache>, g_scale);
  gate_group group{g_scale, u_scale, slope_bound::of_gates(limit, g_scale)};
  if (!(is_fast_scale<Cache>(g_scale) && is_fast_scale<Cache>(u_scale) &&
        limit <= fast_limit)) {
    group.bound.of_group = -1;
  }
  if (has_flat_gate<Cache>(g_scale)) {
    group.bound = {-1, -1};
  }
  return group;
}

/// dg and du of a vec8, valid if `is_decided` and dh are_near_or_zero. The
/// bounds hold for products, in any order, that are not subnormal and do not
/// overflow. That is so for dh that is 0 or in [2^-50, 2^78), and for g and u
/// under an is_fast_scale.
///
/// `ByVec8s`: bounds of groups may be below 0.
template <class Cache, bool ByVec8s = true>
struct fast_gradient {
  bf16_vec8 dg, du;
  bool is_decided;

  __device__ fast_gradient(const bf16_vec8& dh, const vec8<Cache::bytes>& g,
                           const vec8<Cache::bytes>& u, const gate_group& of) {
    slope_bound bound_of = of.bound;
    if (ByVec8s && bound_of.of_group < 0) {
      const float limit = limit_of(g, of.g_scale);
      if (!(is_fast_scale<Cache>(of.g_scale) &&
            is_fast_scale<Cache>(of.u_scale) && limit <= fast_limit &&
            bound_of.of_square >= 0)) {
        differ_ = 1;
      }
      bound_of = slope_bound::of_gates(limit, of.g_scale);
    }
    const float bound = bound_of(least_of(g));
    const float below = 1 - bound, width = slope_width(bound);
    near_midpoints near;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      float low[2], high[2], by_gate[2];
      const std::uint32_t g2 = fp16x2_of<Cache>(g.words, k);
      const std::uint32_t u2 = fp16x2_of<Cache>(u.words, k);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float gate = __fmul_rn(fp16_value(g2, i), of.g_scale);
        const float up = __fmul_rn(fp16_value(u2, i), of.u_scale);
        const float s = fast_sigmoid(gate);
        const float by_s =
            __fmul_rn(value_of<bf16_elements>(dh.element(2 * k + i)), s);
        const float by_up = __fmul_rn(by_s, up);
        const float rest = __fsub_rn(1, s);
        low[i] = __fmul_rn(by_up, __fmaf_rn(gate, rest, below));
        high[i] = __fmaf_rn(by_up, width, low[i]);
        by_gate[i] = __fmul_rn(by_s, gate);
      }
      dg.words[k] = ptx::cvt_bf16x2(low[0], low[1]);
      differ_ |= dg.words[k] ^ ptx::cvt_bf16x2(high[0], high[1]);
      du.words[k] = ptx::cvt_bf16x2(by_gate[0], by_gate[1]);
      near.add(by_gate[0], by_gate[1]);
    }
    // Ignore signs: both ends have the same one, except that a sum of zeros has
    // a wrong sign.
    differ_ &= 0x7fff7fff;
    differ_ |= near.any();
    is_decided = differ_ == 0;
  }
  /// True iff a magnitude is outside the range; zero counts as outside.
  __device__ static bool has_far_ones(const bf16_vec8& dh) {
    // A magnitude less than `range` above the smallest, in 15 bits, leaves the
    // top bit clear. A half that borrows from the other is itself outside.
    static_assert(range == 0x4000);
    std::uint32_t above = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      above |= dh.words[k] - (smallest | smallest << 16);
    }
    return (above & (range | range << 16)) != 0;
  }
  /// True iff each magnitude is within the range or 0.
  __device__ static bool are_near_or_zero(const bf16_vec8& dh) {
    bool are = true;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const std::uint32_t magnitude = dh.element(k) & 0x7fff;
      are = are && (magnitude == 0 || magnitude - smallest < range);
    }
    return are;
  }

 private:
  std::uint32_t differ_ = 0;

  /// The BF16 bits of 2^-50.
  static constexpr std::uint32_t smallest = (127 - 50) << 7;

  /// The distance in BF16 bits from 2^-50 to 2^78.
  static constexpr std::uint32_t range = 0x4000;

  /// The least finite code; NaN is ignored.
  __device__ static float least_of(const vec8<Cache::bytes>& g) {
    std::uint32_t two[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) two[k] = fp16x2_of<Cache>(g.words, k);
    const std::uint32_t least = ptx::min_f16x2(ptx::min_f16x2(two[0], two[1]),
                                               ptx::min_f16x2(two[2], two[3]));
    const float code = fminf(fp16_value(least, 0), fp16_value(least, 1));
    // -Inf itself gives NaN; the other elements are computed as if it were
    // absent.
    return Cache::as_format == e4m3 ? code : fmaxf(code, -largest_code<Cache>);
  }
  /// The largest magnitude of the vec8's gates.
  __device__ static float limit_of(const vec8<Cache::bytes>& g, float scale) {
    std::uint32_t most = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      most = __vmaxu2(most, fp16x2_of<Cache>(g.words, k) & 0x7fff7fff);
    }
    return __fmul_rn(fp16_value(max(most & 0xffff, most >> 16), 0), scale);
  }
};

/// Element k, read from memory.
__device__ inline float read_element(const bf16_vec8& x, int k) {
  std::uint16_t element;
  std::memcpy(&element, reinterpret_cast<const char*>(&x) + 2 * k, 2);
  return value_of<bf16_elements>(element);
}
template <int Bytes>
__device__ void put_element(vec8<Bytes>& x, int k, float number) {
  const auto element = static_cast<std::uint16_t>(ptx::cvt_bf16x2(number, 0));
  std::memcpy(reinterpret_cast<char*>(&x) + 2 * k, &element, 2);
}

/// Vec8s of a block's threads that the core has decided.
template <int Rows>
struct resolved_vec8s {
  bf16_vec8 x[Rows][row_threads];

  /// Replaces this thread's vec8 i if it was `undecided`.
  __device__ void take(int i, unsigned undecided, bf16_vec8& to) const {
    if ((undecided >> i & 1) != 0) to = x[i][threadIdx.x];
  }
  __device__ void put(int i, unsigned thread, int k, float number) {
    put_element(x[i][thread], k, number);
  }
};

/// Calls put(thread, i, k, find(thread, i, k)) for all elements k of each vec8
/// that is undecided in a thread of the warp: bit i of that thread's
/// `undecided`. One thread handles one element. All elements of a vec8 are
/// found before any is put.
template <class Find, class Put>
__device__ void for_undecided_elements(unsigned undecided, Find find, Put put) {
  const unsigned mine = threadIdx.x % 32;
  unsigned lanes = __ballot_sync(all_lanes, undecided != 0);
  while (lanes != 0) {
    // Eight threads for each of the first four undecided lanes.
    unsigned left = lanes;
#pragma unroll
    for (unsigned i = 0; i < 3; ++i) {
      if (i < mine / 8) left &= left - 1;
    }
    const int owner = left == 0 ? 0 : __ffs(static_cast<int>(left)) - 1;
    const int i =
        __shfl_sync(all_lanes, __ffs(static_cast<int>(undecided)) - 1, owner);
    const unsigned thread = threadIdx.x - mine + static_cast<unsigned>(owner);
    const int k = static_cast<int>(mine % 8);
    decltype(find(thread, i, k)) x{};
    if (left != 0) x = find(thread, i, k);
    __syncwarp();
    if (left != 0) put(thread, i, k, x);
    if (__popc(lanes & ((1u << mine) - 1)) < 4) undecided &= undecided - 1;
    lanes = __ballot_sync(all_lanes, undecided != 0);
  }
  __syncwarp();
}

/// h of the undecided vec8s, by the core's arithmetic.
template <int Rows>
__device__ __noinline__ void resolve_hidden(const swiglu_params& params,
                                            unsigned undecided,
                                            resolved_vec8s<Rows>& h) {
  const auto find = [&](unsigned thread, int i, int k) {
    const half_warp_position at(Rows, params.g, thread);
    const std::ptrdiff_t row = at.row0 + i;
    const std::ptrdiff_t col = at.group * tile_edge + 8 * (thread % 16) + k;
    if (row >= params.g.rows || col >= params.g.cols) return 0.0f;
    return swiglu_value<device_fp32>(
        value_of<bf16_elements>(element_at<2>(params.g, row, col)),
        value_of<bf16_elements>(element_at<2>(params.u, row, col)));
  };
  for_undecided_elements(undecided, find,
                         [&](unsigned thread, int i, int k, float value) {
                           h.put(i, thread, k, value);
                         });
}

/// dg and du of the undecided vec8s, by the core's arithmetic. Also writes h,
/// if it is wanted.
template <class Cache, int Rows>
__device__ __noinline__ void resolve_gradients(
    const swiglu_gradient_params& params, unsigned undecided,
    resolved_vec8s<Rows>& dg, resolved_vec8s<Rows>& du) {
  const auto find = [&](unsigned thread, int i, int k) {
    const half_warp_position at(Rows, params.dh, thread);
    const std::ptrdiff_t row = at.row0 + i;
    const std::ptrdiff_t col = at.group * tile_edge + 8 * (thread % 16) + k;
    swiglu_gradients<device_fp32> x{};
    if (row >= params.dh.rows || col >= params.dh.cols) return x;
    const auto number = [&](const device_rows& codes,
                            const scale_source& scales) {
      const std::uint32_t code = element_at<Cache::bytes>(codes, row, col);
      return __fmul_rn(decoded<Cache>(&code, 0),
                       __uint_as_float(scales.at(row, at.group)));
    };
    x = swiglu_gradient<device_fp32>(
        number(params.g, params.g_scales), number(params.u, params.u_scales),
        value_of<bf16_elements>(element_at<2>(params.dh, row, col)));
    if (params.h.data != nullptr) {
      set_element<2>(params.h, row, col, ptx::cvt_bf16x2(x.h, 0));
    }
    return x;
  };
  for_undecided_elements(undecided, find,
                         [&](unsigned thread, int i, int k, const auto& x) {
                           dg.put(i, thread, k, x.dg);
                           du.put(i, thread, k, x.du);
                         });
}

}  // namespace detail

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_TRAINING_SWIGLU_FAST_MATH_CUH_
