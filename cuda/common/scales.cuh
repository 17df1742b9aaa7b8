// Defines how kernels access a matrix of scales in its layout: SPEC, Q11.

#ifndef ZEROULP_CUDA_COMMON_SCALES_CUH_
#define ZEROULP_CUDA_COMMON_SCALES_CUH_

#include "cuda/ptx/cp_async.cuh"
#include "zeroulp/cuda.hpp"

namespace zeroulp::cuda {

/// The scales of mn x k groups, as an output.
struct scale_target {
  cuda::scales to;
  std::ptrdiff_t mn;
  std::ptrdiff_t k;

  /// Writes the scale of group (i, g), and next to the last groups also the
  /// padding.
  __device__ void put(std::ptrdiff_t i, std::ptrdiff_t g,
                      std::uint32_t bits) const {
    put_word(i, g, bits);
    if (to.layout == scale_layout::row_major) return;
    const std::ptrdiff_t padded_mn = pads_mn() ? ceil_div(mn, 4) * 4 : mn;
    const std::ptrdiff_t padded_k = pads_k() ? ceil_div(k, 4) * 4 : k;
    if (i == mn - 1 || g == k - 1) {
      const std::ptrdiff_t last_i = i == mn - 1 ? padded_mn : i + 1;
      const std::ptrdiff_t last_g = g == k - 1 ? padded_k : g + 1;
      for (std::ptrdiff_t a = i; a < last_i; ++a) {
        for (std::ptrdiff_t b = g; b < last_g; ++b) {
          if (a != i || b != g) put_word(a, b, padding());
        }
      }
    }
  }

 private:
  __device__ bool pads_mn() const {
    return to.layout == scale_layout::mn_major ||
           to.layout == scale_layout::packed_ue8m0;
  }
  __device__ bool pads_k() const {
    return to.layout == scale_layout::blk128 ||
           to.layout == scale_layout::packed_ue8m0;
  }
  __device__ std::uint32_t padding() const {
    return to.layout == scale_layout::packed_ue8m0 ? fp32_one : 0;
  }
  __device__ void put_word(std::ptrdiff_t i, std::ptrdiff_t g,
                           std::uint32_t bits) const {
    switch (to.layout) {
      case scale_layout::row_major:
      case scale_layout::blk128:
        to.data[i * to.stride + g] = bits;
        return;
      case scale_layout::mn_major:
        to.data[g * to.stride + i] = bits;
        return;
      case scale_layout::packed_ue8m0:
        break;
    }
    auto* bytes =
        reinterpret_cast<std::uint8_t*>(to.data + g / 4 * to.stride + i);
    bytes[g % 4] = exponent_byte(bits);
  }
  /// The UE8M0 byte of a scale; 0xff unless it is a power of two in [2^-127,
  /// 2^127].
  static __device__ std::uint8_t exponent_byte(std::uint32_t bits) {
    if (bits == 0x00400000) return 0;
    const bool power = (bits & 0x807fffff) == 0 && bits != 0;
    return static_cast<std::uint8_t>(power ? bits >> 23 : 0xff);
  }
};

/// Scales as an input.
struct scale_source {
  const_scales from;

  __device__ std::uint32_t at(std::ptrdiff_t i, std::ptrdiff_t g) const {
    return of(stored(i, g));
  }

  /// Returns a scale as it is stored. It can be loaded early; of() converts it.
  __device__ std::uint32_t stored(std::ptrdiff_t i, std::ptrdiff_t g) const {
    const std::uint32_t* word = word_of(i, g);
    return is_packed() ? reinterpret_cast<const std::uint8_t*>(word)[g % 4]
                       : *word;
  }
  __device__ void prefetch(std::ptrdiff_t i, std::ptrdiff_t g) const {
    ptx::prefetch_l2(word_of(i, g));
  }
  __device__ std::uint32_t of(std::uint32_t stored) const {
    if (!is_packed()) return stored;
    return stored == 0 ? 0x00400000 : stored == 0xff ? fp32_nan : stored << 23;
  }

 private:
  __device__ const std::uint32_t* word_of(std::ptrdiff_t i,
                                          std::ptrdiff_t g) const {
    const bool by_rows = from.layout == scale_layout::row_major ||
                         from.layout == scale_layout::blk128;
    const std::ptrdiff_t line = by_rows ? i : is_packed() ? g / 4 : g;
    return from.data + line * from.stride + (by_rows ? g : i);
  }
  __device__ bool is_packed() const {
    return from.layout == scale_layout::packed_ue8m0;
  }
};

namespace detail {

/// Returns one of two values. Both are read: a thread-dependent address into a
/// kernel's parameters would make slow reads.
template <class T>
__device__ T either(bool first, T a, T b) {
  if constexpr (sizeof(T) == 8) {
    asm("" : "+l"(a), "+l"(b));
    return first ? a : b;
  } else {
    int x = static_cast<int>(a), y = static_cast<int>(b);
    asm("" : "+r"(x), "+r"(y));
    return static_cast<T>(first ? x : y);
  }
}

/// Returns one of two matrices of scales, input or output.
template <class Scales>
__device__ Scales either_scales(bool first, const Scales& a, const Scales& b) {
  Scales x;
  x.data = either(first, a.data, b.data);
  x.stride = either(first, a.stride, b.stride);
  x.layout = either(first, a.layout, b.layout);
  __builtin_assume(__isGlobal(x.data));
  return x;
}

}  // namespace detail

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_SCALES_CUH_
