// Defines the one PTX instruction of emulator.cuh for the host.

#ifndef ZEROULP_CONFORMANCE_PROOFS_HOST_CUDA_PTX_ARITHMETIC_CUH_
#define ZEROULP_CONFORMANCE_PROOFS_HOST_CUDA_PTX_ARITHMETIC_CUH_

#include "zeroulp/core/convert.hpp"

namespace zeroulp::cuda::ptx {

/// cvt.rn.f16.f64, which is recode under cuda_nosat: SPEC C10.
inline std::uint16_t cvt_f16(double x) {
  return static_cast<std::uint16_t>(encode(fp16, decode(x), {}, cuda_nosat));
}

}  // namespace zeroulp::cuda::ptx

#endif  // ZEROULP_CONFORMANCE_PROOFS_HOST_CUDA_PTX_ARITHMETIC_CUH_
