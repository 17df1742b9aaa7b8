// Defines `with_nvidia`: the conversions of NVIDIA's headers on the host, where
// the toolkit is found.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_NVIDIA_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_NVIDIA_HPP_

#include <cstdint>

#include "zeroulp/core/config.hpp"
#include "zeroulp/core/format.hpp"

#ifdef ZEROULP_HAVE_CUDA_HEADERS
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#endif

namespace zeroulp::program {

#ifdef ZEROULP_HAVE_CUDA_HEADERS
inline constexpr bool have_nvidia = true;

template <__nv_fp8_interpretation_t Kind, class Use>
void with_nvidia_fp8_encoder(format from, Use use) {
  if (from == fp32) {
    use([](std::uint32_t x) {
      return std::uint32_t{
          __nv_cvt_float_to_fp8(bit_cast<float>(x), __NV_SATFINITE, Kind)};
    });
  } else if (from == bf16) {
    use([](std::uint32_t x) {
      __nv_bfloat16_raw raw;
      raw.x = static_cast<unsigned short>(x);
      return std::uint32_t{
          __nv_cvt_bfloat16raw_to_fp8(raw, __NV_SATFINITE, Kind)};
    });
  }
}

template <__nv_fp8_interpretation_t Kind, class Use>
void with_nvidia_fp8_decoder(Use use) {
  use([](std::uint32_t x) {
    return bit_cast<std::uint32_t>(__half2float(__half(
        __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x), Kind))));
  });
}

/// Calls `use` with the header's conversion of one code, if it has one.
template <class Use>
void with_nvidia(format from, format to, Use use) {
  if (to == e4m3) return with_nvidia_fp8_encoder<__NV_E4M3>(from, use);
  if (to == e5m2) return with_nvidia_fp8_encoder<__NV_E5M2>(from, use);
  if (from == e4m3 && to == fp32)
    return with_nvidia_fp8_decoder<__NV_E4M3>(use);
  if (from == e5m2 && to == fp32)
    return with_nvidia_fp8_decoder<__NV_E5M2>(use);
  if (from == fp32 && to == bf16) {
    use([](std::uint32_t x) {
      return std::uint32_t{
          __nv_bfloat16_raw(__float2bfloat16_rn(bit_cast<float>(x))).x};
    });
  } else if (from == fp32 && to == fp16) {
    use([](std::uint32_t x) {
      return std::uint32_t{__half_raw(__float2half_rn(bit_cast<float>(x))).x};
    });
  }
}
#else
inline constexpr bool have_nvidia = false;

template <class Use>
void with_nvidia(format, format, Use) {}
#endif

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_NVIDIA_HPP_
