// Defines those functions of gpu_implementation that take codes and run on the
// GPU.

#ifndef ZEROULP_CONFORMANCE_DEVICE_IMPLEMENTATION_PARTS_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_IMPLEMENTATION_PARTS_HPP_

#include "conformance/contract/implementation.hpp"

namespace zeroulp::conformance::device {

void retile_on_gpu(const retiling& r, codes_in codes, codes_in scales,
                   codes_out out, codes_out out_scales);
void dequantize_on_gpu(format from, group_shape group, codes_in codes,
                       codes_in scales, codes_out out);
void pack_on_gpu(pack_layout how, codes_in codes, bytes_out out);
void unpack_on_gpu(pack_layout how, bytes_in packed, codes_out codes);
void gemm_on_gpu(const recipe& r, const gemm_operand<std::uint32_t>& a,
                 const gemm_operand<std::uint32_t>& b, codes_in c, codes_out d);

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_IMPLEMENTATION_PARTS_HPP_
