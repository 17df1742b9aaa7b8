// Defines the parameters of the quantizing kernels, and how numbers become
// codes by the factors of their groups, eight at a time.

#ifndef ZEROULP_CUDA_QUANTIZE_PARAMS_CUH_
#define ZEROULP_CUDA_QUANTIZE_PARAMS_CUH_

#include <cstring>

#include "cuda/common/quantizer_plan.cuh"
#include "cuda/common/rows.cuh"
#include "cuda/common/scales.cuh"
#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/memory.cuh"

namespace zeroulp::cuda {

/// Which elements of a tile share a scale.
enum class grouping : std::uint8_t { none, row, column, tile, matrix };

/// Codes and scales to be written.
struct quantized_target {
  device_rows codes;
  scale_target scales;
  grouping groups;  ///< groups of the tile as it is read; none: not wanted
};

/// Amaxes, as input or output.
struct amax_matrix {
  std::uint32_t* data;
  std::ptrdiff_t row_stride, col_stride;

  __device__ std::uint32_t& at(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return data[i * row_stride + j * col_stride];
  }
};

struct quantize_params {
  quantizer_plan plan;
  device_rows x;
  quantized_target y;   ///< in the orientation of x
  quantized_target yt;  ///< transposed
  amax_matrix given;    ///< null data: groups use their own amaxes
  amax_matrix amaxes;   ///< output instead of codes; null data: not wanted
  grouping amax_groups;
};

namespace detail {

/// Writes a scale as scale_target::put does. In the row-major layout a tile
/// writes four bytes here and there. The L2 is asked to keep them until
/// neighbouring tiles have filled their sectors: partial sectors reach memory
/// slowly.
__device__ inline void put_kept(const scale_target& scales, std::ptrdiff_t i,
                                std::ptrdiff_t g, std::uint32_t bits) {
  if (scales.to.layout != scale_layout::row_major) {
    scales.put(i, g, bits);
    return;
  }
  ptx::store_evict_last(scales.to.data + i * scales.to.stride + g, bits);
}

/// Returns where the scales of one of two targets of the same shape go.
__device__ inline scale_target scales_of_either(bool first,
                                                const quantized_target& a,
                                                const quantized_target& b) {
  // A target that is not wanted has no shape, hence the maxima.
  return {either_scales(first, a.scales.to, b.scales.to),
          max(a.scales.mn, b.scales.mn), max(a.scales.k, b.scales.k)};
}

/// Bits of the largest magnitudes among a vec8's even and odd elements.
__device__ inline std::uint32_t largest_pair_of(const vec8<2>& x) {
  std::uint32_t most = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    most = __vmaxu2(most, x.words[j] & 0x7fff7fff);
  }
  return most;
}

/// Bits of the largest magnitudes of two BF16 vec8s: that of a in the low
/// half, that of b in the high half. NaN if there is one.
__device__ inline std::uint32_t two_largest(const vec8<2>& a,
                                            const vec8<2>& b) {
  const auto larger = [](std::uint32_t v, std::uint32_t w) {
    return ptx::max_nan_xorsign_abs_bf16x2(v, w);
  };
  const auto of = [&](const vec8<2>& x) {
    return larger(larger(x.words[0], x.words[1]),
                  larger(x.words[2], x.words[3]));
  };
  const std::uint32_t x = of(a), y = of(b);
  return larger(__byte_perm(x, y, 0x5410), __byte_perm(x, y, 0x7632)) &
         0x7fff7fff;
}

/// The largest magnitude of a vec8, as bits of an element.
template <class In>
__device__ std::uint32_t largest_of(const vec8<In::bytes>& x) {
  if constexpr (In::bytes == 4) {
    std::uint32_t most = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j) most = max(most, x.words[j] & 0x7fffffff);
    return most;
  } else {
    const std::uint32_t most = largest_pair_of(x);
    return max(most & 0xffff, most >> 16);
  }
}

/// The largest magnitude of a thread's elements of a tile as a key: bits of an
/// element of 4 bytes; of 2 bytes, of the even and of the odd elements.
template <class In>
__device__ std::uint32_t largest_key(const vec8<In::bytes> (&x)[8]) {
  std::uint32_t most = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if constexpr (In::bytes == 4) {
      most = max(most, largest_of<In>(x[i]));
    } else {
      most = __vmaxu2(most, largest_pair_of(x[i]));
    }
  }
  return most;
}

/// FP32 bits of the magnitude that a key stands for.
template <class In>
__device__ std::uint32_t magnitude_of(std::uint32_t key) {
  if constexpr (In::bytes == 2) key = max(key & 0xffff, key >> 16);
  return __float_as_uint(value_of<In>(key));
}

/// Returns larger(...) of all key[r] over 16 neighbouring lanes, in the lanes
/// whose number is r modulo Rows.
template <int Rows, class Larger>
__device__ std::uint32_t reduce_rows(std::uint32_t (&key)[Rows],
                                     Larger larger) {
  constexpr unsigned all = 0xffffffff;
#pragma unroll
  for (int half = Rows / 2; half > 0; half /= 2) {
    const bool upper = (threadIdx.x & half) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const std::uint32_t kept = upper ? key[i + half] : key[i];
      const std::uint32_t sent = upper ? key[i] : key[i + half];
      key[i] = larger(kept, __shfl_xor_sync(all, sent, half));
    }
  }
#pragma unroll
  for (int lanes = Rows; lanes < 16; lanes *= 2) {
    key[0] = larger(key[0], __shfl_xor_sync(all, key[0], lanes));
  }
  return key[0];
}

/// The largest key of each row.
template <int Rows>
__device__ std::uint32_t largest_of_rows(std::uint32_t (&key)[Rows]) {
  return reduce_rows(
      key, [](std::uint32_t a, std::uint32_t b) { return max(a, b); });
}

/// The same for words of two keys each; the halves are reduced separately.
template <int Rows>
__device__ std::uint32_t largest_pair_of_rows(std::uint32_t (&two)[Rows]) {
  return reduce_rows(
      two, [](std::uint32_t a, std::uint32_t b) { return __vmaxu2(a, b); });
}

/// Quantizes the numbers value(0) to value(7) by factors low(k) and high(k):
/// see quantizer_plan.cuh. Sets `bit` of `undecided` iff the factors leave a
/// code undecided. `one`: each low = high.
template <class Out, class Value, class Low, class High>
__device__ vec8<Out::bytes> quantize_eight(Value value, Low low, High high,
                                           bool one, bool quotients,
                                           unsigned bit, unsigned& undecided) {
  if (one) {
    return encode_eight<Out>(
        [&](int k) { return __fmul_rn(value(k), low(k)); });
  }
  if (quotients) {
    return encode_eight<Out>([&](int k) {
      return high(k) < 0 ? quotient(value(k), low(k), high(k))
                         : __fmul_rn(value(k), low(k));
    });
  }
  const auto codes =
      encode_eight<Out>([&](int k) { return __fmul_rn(value(k), low(k)); });
  const auto others =
      encode_eight<Out>([&](int k) { return __fmul_rn(value(k), high(k)); });
  std::uint32_t differ = 0;
#pragma unroll
  for (int w = 0; w < vec8<Out::bytes>::count; ++w) {
    differ |= codes.words[w] ^ others.words[w];
  }
  if (differ != 0) undecided |= bit;
  return codes;
}

/// Returns a number with the same code as x / s: the quotient rounded to FP32
/// or, if it must be rounded only once, rounded to odd. No midpoint has an odd
/// FP32 significand.
///
/// A quotient beside a midpoint is far above FP32's subnormals, so the
/// remainder of its division is a number. Among other quotients only overflow
/// needs care: its correction is NaN.
__device__ inline float divided(const quantizer_plan& p, float x,
                                std::uint32_t scale) {
  const float s = __uint_as_float(scale);
  const float v = quotient(x, s);
  if (isnan(v)) return signed_as(__uint_as_float(fp32_infinity), x);
  if (!p.rounds_once) return v;
  const float rest = __fmaf_rn(-v, s, x);
  if (rest == 0) return v;
  const bool is_less = signbit(rest) != signbit(v);
  return __uint_as_float((__float_as_uint(v) - (is_less ? 1 : 0)) | 1);
}

/// Rereads element (i, j) of x, which a thread no longer holds.
template <int Bytes>
__device__ std::uint32_t element_at(const device_rows& x, std::ptrdiff_t i,
                                    std::ptrdiff_t j) {
  std::uint32_t element = 0;
  std::memcpy(&element, x.row<Bytes>(i) + j * Bytes, Bytes);
  return element;
}
template <int Bytes>
__device__ void set_element(const device_rows& x, std::ptrdiff_t i,
                            std::ptrdiff_t j, std::uint32_t code) {
  std::memcpy(x.row<Bytes>(i) + j * Bytes, &code, Bytes);
}

}  // namespace detail
}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_QUANTIZE_PARAMS_CUH_
