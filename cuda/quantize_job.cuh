// Defines what a quantizing kernel is asked, and how it turns numbers into
// codes: by the factors of their groups, eight at a time.

#ifndef ZEROULP_CUDA_QUANTIZE_JOB_CUH_
#define ZEROULP_CUDA_QUANTIZE_JOB_CUH_

#include <cstring>

#include "cuda/plan.cuh"
#include "cuda/rows.cuh"
#include "cuda/scales.cuh"

namespace zeroulp::cuda {

/// What the elements of a tile share a scale with.
enum class grouping : std::uint8_t { none, row, column, tile, matrix };

/// Codes and scales to be written.
struct quantized_target {
  device_rows codes;
  scale_target scales;
  grouping groups;  ///< of the tile as it is read; none: not wanted
};

/// Amaxes that are given, or wanted.
struct amax_matrix {
  std::uint32_t* data;
  std::ptrdiff_t row_stride, col_stride;

  __device__ std::uint32_t& at(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return data[i * row_stride + j * col_stride];
  }
};

struct quantize_job {
  quantizer_plan plan;
  device_rows x;
  quantized_target y;   ///< as x lies
  quantized_target yt;  ///< transposed
  amax_matrix given;    ///< null data: the groups' own
  amax_matrix amaxes;   ///< wanted, instead of codes; null data: none
  grouping amax_groups;
};

namespace detail {

/// Writes a scale as scale_target::put does. In rows of scales a tile writes
/// four bytes here and there; the L2 is asked to keep them until the tiles
/// beside it have filled their sectors: memory takes parts of them slowly.
__device__ inline void put_kept(const scale_target& scales, std::ptrdiff_t i,
                                std::ptrdiff_t g, std::uint32_t bits) {
  if (scales.to.layout != scale_layout::row_major) {
    scales.put(i, g, bits);
    return;
  }
  asm volatile(
      "{ .reg .b64 policy; "
      "createpolicy.fractional.L2::evict_last.b64 policy, 1.0; "
      "st.global.L2::cache_hint.u32 [%0], %1, policy; }" ::"l"(
          scales.to.data + i * scales.to.stride + g),
      "r"(bits)
      : "memory");
}

/// Where the scales of one of two targets of the same shape go.
__device__ inline scale_target scales_of_either(bool first,
                                                const quantized_target& a,
                                                const quantized_target& b) {
  // One that is not wanted has no shape.
  return {either_scales(first, a.scales.to, b.scales.to),
          max(a.scales.mn, b.scales.mn), max(a.scales.k, b.scales.k)};
}

/// The largest magnitudes of an octet's even and odd elements, as bits.
__device__ inline std::uint32_t largest_pair_of(const octet<2>& x) {
  std::uint32_t most = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    most = __vmaxu2(most, x.words[j] & 0x7fff7fff);
  }
  return most;
}

/// The largest magnitudes of two octets of BF16: of a in the low half, of b in
/// the high. NaN if there is one.
__device__ inline std::uint32_t two_largest(const octet<2>& a,
                                            const octet<2>& b) {
  const auto larger = [](std::uint32_t v, std::uint32_t w) {
    std::uint32_t most;  // of any sign
    asm("max.NaN.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(most) : "r"(v), "r"(w));
    return most;
  };
  const auto of = [&](const octet<2>& x) {
    return larger(larger(x.words[0], x.words[1]),
                  larger(x.words[2], x.words[3]));
  };
  const std::uint32_t x = of(a), y = of(b);
  return larger(__byte_perm(x, y, 0x5410), __byte_perm(x, y, 0x7632)) &
         0x7fff7fff;
}

/// The largest magnitude of an octet, as bits of an element.
template <class In>
__device__ std::uint32_t largest_of(const octet<In::bytes>& x) {
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

/// Returns the largest of key[r] over 16 neighbouring lanes, in the lanes whose
/// number is r, modulo Rows.
template <int Rows>
__device__ std::uint32_t largest_of_rows(std::uint32_t (&key)[Rows]) {
  constexpr unsigned all = 0xffffffff;
#pragma unroll
  for (int half = Rows / 2; half > 0; half /= 2) {
    const bool upper = (threadIdx.x & half) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const std::uint32_t kept = upper ? key[i + half] : key[i];
      const std::uint32_t sent = upper ? key[i] : key[i + half];
      key[i] = max(kept, __shfl_xor_sync(all, sent, half));
    }
  }
#pragma unroll
  for (int lanes = Rows; lanes < 16; lanes *= 2) {
    key[0] = max(key[0], __shfl_xor_sync(all, key[0], lanes));
  }
  return key[0];
}

/// The same of words of two keys each, half by half.
template <int Rows>
__device__ std::uint32_t largest_pair_of_rows(std::uint32_t (&two)[Rows]) {
  constexpr unsigned all = 0xffffffff;
#pragma unroll
  for (int half = Rows / 2; half > 0; half /= 2) {
    const bool upper = (threadIdx.x & half) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const std::uint32_t kept = upper ? two[i + half] : two[i];
      const std::uint32_t sent = upper ? two[i] : two[i + half];
      two[i] = __vmaxu2(kept, __shfl_xor_sync(all, sent, half));
    }
  }
#pragma unroll
  for (int lanes = Rows; lanes < 16; lanes *= 2) {
    two[0] = __vmaxu2(two[0], __shfl_xor_sync(all, two[0], lanes));
  }
  return two[0];
}

/// Quantizes the numbers value(0) to value(7) by factors low(k) and high(k):
/// see plan.cuh. Sets `bit` of `open` iff they do not decide. `one`: each low =
/// high.
template <class Out, class Value, class Low, class High>
__device__ octet<Out::bytes> quantize_eight(Value value, Low low, High high,
                                            bool one, bool quotients,
                                            unsigned bit, unsigned& open) {
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
  for (int w = 0; w < octet<Out::bytes>::count; ++w) {
    differ |= codes.words[w] ^ others.words[w];
  }
  if (differ != 0) open |= bit;
  return codes;
}

/// A number whose code is that of x by scale s: x / s, rounded to FP32 or,
/// where it is not to be rounded, moved to the odd neighbour, which no midpoint
/// is. A quotient beside a midpoint is far above FP32's subnormals, so that
/// what division loses is a number; of others, one beyond FP32 alone needs
/// care: its correction is NaN.
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

/// Element (i, j) of x again, by a thread that no longer has it at hand.
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

#endif  // ZEROULP_CUDA_QUANTIZE_JOB_CUH_
