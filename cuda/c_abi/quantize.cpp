// The C ABI of the kernels: quantization, re-tiling, packing.

#include "cuda/c_abi/c_abi.hpp"

namespace zeroulp::c_abi {
namespace {

static_assert(ZEROULP_PACKING_BYTES == static_cast<int>(cuda::packing::bytes) &&
              ZEROULP_PACKING_WORDS == static_cast<int>(cuda::packing::words));

cuda::packing packing_of(std::int32_t packing) {
  return enum_of(packing, cuda::packing::words, "packing");
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;
namespace cuda = zeroulp::cuda;

zeroulp_status zeroulp_cuda_quantize(const zeroulp_quantizer* quantizer,
                                     const zeroulp_cuda_const_matrix* x,
                                     const zeroulp_cuda_quantized* y,
                                     const zeroulp_cuda_quantized* yt,
                                     void* stream) {
  return guarded(__func__, [&] {
    cuda::quantize(quantizer_of(quantizer), matrix_of(x, "x"),
                   optional_quantized_of(y, "y"),
                   optional_quantized_of(yt, "yt"), stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_quantize_by_amax(
    const zeroulp_quantizer* quantizer, const zeroulp_cuda_const_matrix* x,
    const zeroulp_cuda_const_matrix* amaxes, const zeroulp_cuda_quantized* y,
    const zeroulp_cuda_quantized* yt, void* stream) {
  return guarded(__func__, [&] {
    cuda::quantize(quantizer_of(quantizer), matrix_of(x, "x"),
                   word_view_of(amaxes, "amaxes"),
                   optional_quantized_of(y, "y"),
                   optional_quantized_of(yt, "yt"), stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_group_amaxes(const zeroulp_quantizer* quantizer,
                                         const zeroulp_cuda_const_matrix* x,
                                         const zeroulp_cuda_matrix* amaxes,
                                         void* stream) {
  return guarded(__func__, [&] {
    cuda::group_amaxes(quantizer_of(quantizer), matrix_of(x, "x"),
                       word_view_of(amaxes, "amaxes"), stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_dequantize(const zeroulp_format* from,
                                       const zeroulp_group* group,
                                       const zeroulp_cuda_const_matrix* codes,
                                       const zeroulp_cuda_const_scales* scales,
                                       const zeroulp_format* to,
                                       const zeroulp_cuda_matrix* out,
                                       void* stream) {
  return guarded(__func__, [&] {
    cuda::dequantize(
        format_of(from, "from"), group_of(needed(group, "group"), "group"),
        matrix_of(codes, "codes"),
        scales_of(needed(scales, "scales"), "scales"), format_of(to, "to"),
        matrix_of(out, "out"), stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_retile(const zeroulp_retiling* retiling,
                                   const zeroulp_cuda_const_matrix* codes,
                                   const zeroulp_cuda_const_scales* scales,
                                   const zeroulp_cuda_quantized* out,
                                   void* stream) {
  return guarded(__func__, [&] {
    cuda::retile(retiling_of(retiling), matrix_of(codes, "codes"),
                 scales_of(needed(scales, "scales"), "scales"),
                 quantized_of(out, "out"), stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_transpose(const zeroulp_format* element,
                                      const zeroulp_cuda_const_matrix* codes,
                                      const zeroulp_cuda_const_scales* scales,
                                      const zeroulp_cuda_quantized* out,
                                      void* stream) {
  return guarded(__func__, [&] {
    cuda::transpose(format_of(element, "element"), matrix_of(codes, "codes"),
                    scales_of(needed(scales, "scales"), "scales"),
                    quantized_of(out, "out"), stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_pack(std::int32_t packing,
                                 const zeroulp_cuda_const_matrix* codes,
                                 const zeroulp_cuda_matrix* packed,
                                 void* stream) {
  return guarded(__func__, [&] {
    cuda::pack(packing_of(packing), matrix_of(codes, "codes"),
               matrix_of(packed, "packed"), stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_unpack(std::int32_t packing,
                                   const zeroulp_cuda_const_matrix* packed,
                                   const zeroulp_cuda_matrix* codes,
                                   void* stream) {
  return guarded(__func__, [&] {
    cuda::unpack(packing_of(packing), matrix_of(packed, "packed"),
                 matrix_of(codes, "codes"), stream_of(stream));
  });
}
