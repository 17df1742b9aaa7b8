// Defines how kernels read eight elements of a row and write eight codes: in
// one access if rows are aligned, else one by one.

#ifndef ZEROULP_CUDA_COMMON_VEC8_CUH_
#define ZEROULP_CUDA_COMMON_VEC8_CUH_

#include <cuda_fp16.h>

#include <cstdint>

#include "cuda/common/alignment.hpp"
#include "cuda/ptx/arithmetic.cuh"
#include "zeroulp/core/format.hpp"

namespace zeroulp::cuda {

/// The element formats of a matrix as types for kernels: the format, and the
/// bytes of an element in memory.
struct fp32_elements {
  static constexpr format as_format = fp32;
  static constexpr int bytes = 4;
};
struct bf16_elements {
  static constexpr format as_format = bf16;
  static constexpr int bytes = 2;
};
struct fp16_elements {
  static constexpr format as_format = fp16;
  static constexpr int bytes = 2;
};
struct e4m3_elements {
  static constexpr format as_format = e4m3;
  static constexpr int bytes = 1;
};
struct e5m2_elements {
  static constexpr format as_format = e5m2;
  static constexpr int bytes = 1;
};
struct e5m6_elements {
  static constexpr format as_format = e5m6;
  static constexpr int bytes = 2;
};

/// A vec8 (a vector of 8): eight elements of `Bytes` bytes, in order, little
/// end first.
template <int Bytes>
struct alignas(Bytes == 1 ? 8 : 16) vec8 {
  static constexpr int count = 2 * Bytes;
  std::uint32_t words[count];

  __device__ std::uint32_t element(int i) const {
    if constexpr (Bytes == 4) return words[i];
    if constexpr (Bytes == 2) return words[i / 2] >> i % 2 * 16 & 0xffff;
    if constexpr (Bytes == 1) return words[i / 4] >> i % 4 * 8 & 0xff;
    return 0;
  }
  __device__ void set(int i, std::uint32_t code) {
    if constexpr (Bytes == 4) {
      words[i] = code;
    } else {
      constexpr int bits = 8 * Bytes, per_word = 4 / Bytes;
      constexpr std::uint32_t mask = (1u << bits) - 1;
      const int at = i % per_word * bits;
      auto& word = words[i / per_word];
      word = (word & ~(mask << at)) | code << at;
    }
  }
};

/// Reads elements [at, at + 8) of a row; zeros from `end` on. `vectorized`: the
/// row satisfies is_vectorized.
template <int Bytes>
__device__ vec8<Bytes> load(const void* row, std::ptrdiff_t at,
                            std::ptrdiff_t end, bool vectorized) {
  vec8<Bytes> x{};
  const auto* from = static_cast<const char*>(row) + at * Bytes;
  if (vectorized && at + 8 <= end) {
    if constexpr (Bytes == 1) {
      const auto v = *reinterpret_cast<const uint2*>(from);
      x.words[0] = v.x, x.words[1] = v.y;
    } else {
#pragma unroll
      for (int i = 0; i < vec8<Bytes>::count; i += 4) {
        const auto v = reinterpret_cast<const uint4*>(from)[i / 4];
        x.words[i] = v.x, x.words[i + 1] = v.y;
        x.words[i + 2] = v.z, x.words[i + 3] = v.w;
      }
    }
    return x;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (at + i >= end) continue;
    if constexpr (Bytes == 1) x.set(i, static_cast<std::uint8_t>(from[i]));
    if constexpr (Bytes == 2) {
      x.set(i, reinterpret_cast<const std::uint16_t*>(from)[i]);
    }
    if constexpr (Bytes == 4) {
      x.set(i, reinterpret_cast<const std::uint32_t*>(from)[i]);
    }
  }
  return x;
}

/// Writes elements [at, at + 8) of a row that are below `end`.
template <int Bytes>
__device__ void store(void* row, std::ptrdiff_t at, std::ptrdiff_t end,
                      bool vectorized, const vec8<Bytes>& x) {
  auto* to = static_cast<char*>(row) + at * Bytes;
  if (vectorized && at + 8 <= end) {
    if constexpr (Bytes == 1) {
      *reinterpret_cast<uint2*>(to) = {x.words[0], x.words[1]};
    } else {
#pragma unroll
      for (int i = 0; i < vec8<Bytes>::count; i += 4) {
        reinterpret_cast<uint4*>(to)[i / 4] = {x.words[i], x.words[i + 1],
                                               x.words[i + 2], x.words[i + 3]};
      }
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (at + i >= end) continue;
    const std::uint32_t code = x.element(i);
    if constexpr (Bytes == 1) to[i] = static_cast<char>(code);
    if constexpr (Bytes == 2) {
      reinterpret_cast<std::uint16_t*>(to)[i] =
          static_cast<std::uint16_t>(code);
    }
    if constexpr (Bytes == 4) reinterpret_cast<std::uint32_t*>(to)[i] = code;
  }
}

/// The FP32 number of an FP32, BF16 or FP16 element.
template <class In>
__device__ float value_of(std::uint32_t element) {
  if constexpr (In::as_format == fp32) return __uint_as_float(element);
  if constexpr (In::as_format == bf16) return __uint_as_float(element << 16);
  return __half2float(__ushort_as_half(static_cast<unsigned short>(element)));
}

namespace detail {

/// Rounds two numbers to FP16 toward zero, at most to the largest. E5M6 is FP16
/// without its last four fraction bits, also for subnormals.
__device__ inline std::uint32_t two_toward_zero(float first, float second) {
  return ptx::cvt_rz_f16x2(first, second);
}

/// FP16 -> E5M6, twice: adds `half`, half a unit of the four bits, then drops
/// these.
__device__ inline std::uint32_t without_four_bits(std::uint32_t halves,
                                                  std::uint32_t half) {
  return (halves + half) >> 4 & 0x0fff0fff;
}

/// FP32 -> E5M6, nearest-even, twice. Not for Inf and NaN.
__device__ inline std::uint32_t two_e5m6(float first, float second) {
  const std::uint32_t halves = two_toward_zero(first, second);
  const auto number = [&](int i) {
    return __half2float(
        __ushort_as_half(static_cast<unsigned short>(halves >> 16 * i)));
  };
  // Where the rounding to FP16 lost bits, there is no tie.
  const std::uint32_t lost =
      (number(0) != first ? 1u : 0u) | (number(1) != second ? 1u << 16 : 0u);
  const std::uint32_t kept = ptx::min_xorsign_abs_f16x2(halves, 0x7bf07bf0);
  return without_four_bits(kept,
                           0x00070007 + ((kept >> 4 & 0x00010001) | lost));
}

}  // namespace detail

/// The codes of two numbers, saturated, nearest-even: the first in the low
/// half of the result's 2 * Out::bytes bytes. Not for Inf and NaN.
template <class Out>
__device__ std::uint32_t encode_two(float first, float second) {
  if constexpr (Out::as_format == e5m6) {
    return detail::two_e5m6(first, second);
  } else {
    return Out::as_format == e4m3 ? ptx::cvt_e4m3x2(first, second)
                                  : ptx::cvt_e5m2x2(first, second);
  }
}

/// As encode_two. No number may be a midpoint, or beyond the largest code by
/// more than half a unit in the last place.
template <class Out>
__device__ std::uint32_t encode_untied(float first, float second) {
  if constexpr (Out::as_format == e5m6) {
    return detail::without_four_bits(detail::two_toward_zero(first, second),
                                     0x00080008);
  } else {
    return encode_two<Out>(first, second);
  }
}

/// The codes of eight numbers, value(0) to value(7). `Untied`: they satisfy the
/// conditions of encode_untied.
template <class Out, bool Untied = false, class Value>
__device__ vec8<Out::bytes> encode_eight(Value value) {
  vec8<Out::bytes> codes{};
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    const std::uint32_t two = Untied
                                  ? encode_untied<Out>(value(i), value(i + 1))
                                  : encode_two<Out>(value(i), value(i + 1));
    if constexpr (Out::bytes == 1) {
      codes.words[i / 4] |= two << i % 4 * 8;
    } else {
      codes.words[i / 2] = two;
    }
  }
  return codes;
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_VEC8_CUH_
