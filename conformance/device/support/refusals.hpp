// Defines the tools of refusal checks: requests that must be refused before any
// kernel is launched.

#ifndef ZEROULP_CONFORMANCE_DEVICE_SUPPORT_REFUSALS_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SUPPORT_REFUSALS_HPP_

#include "conformance/device/support/test.hpp"
#include "zeroulp/cuda.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::conformance::device {

using cuda::const_matrix;
using cuda::const_scales;
using cuda::matrix;
using cuda::quantized;
using cuda::scales;

/// Refusals by swiglu_forward, swiglu_backward and rms_norm.
check_list fused_refusal_checks();
/// Refusals by adamw, combine and dispatch; and what combine and dispatch do
/// with row numbers that no row has.
check_list training_refusal_checks();

/// An aligned address that no kernel can access.
inline char* nowhere() { return reinterpret_cast<char*>(std::uintptr_t{4096}); }
inline std::uint32_t* words() {
  return reinterpret_cast<std::uint32_t*>(nowhere());
}

inline matrix codes(std::ptrdiff_t m, std::ptrdiff_t n) {
  return {nowhere(), m, n};
}
inline scales scales_of(std::ptrdiff_t stride,
                        scale_layout layout = scale_layout::row_major) {
  return {words(), stride, layout};
}

inline void must_refuse(const char* what, verdict& v,
                        const std::function<void()>& request) {
  std::string heard = "served";
  try {
    request();
  } catch (const input_error&) {
    heard.clear();
  } catch (const std::exception& e) {
    heard = e.what();
  }
  v.count(heard.empty(), [&] { return std::string(what) + ": " + heard; });
  v.count(cudaGetLastError() == cudaSuccess,
          [&] { return std::string(what) + ": CUDA was asked"; });
}

inline constexpr std::ptrdiff_t huge = std::ptrdiff_t{1} << 40;

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_SUPPORT_REFUSALS_HPP_
