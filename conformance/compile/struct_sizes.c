// The sizes of the structs of the C ABI and the plug-in, in bytes, at
// ZEROULP_ABI_VERSION 2 and ZEROULP_PLUGIN_VERSION 2. Whoever changes one makes
// a new version. CTest compiles this file.

#include "zeroulp/plugin.h"
#include "zeroulp/zeroulp.h"
#include "zeroulp/zeroulp_cuda_model.h"
#include "zeroulp/zeroulp_suite.h"

#define HAS_SIZE(type, bytes) \
  _Static_assert(sizeof(type) == (bytes), "the size of " #type " has changed")

_Static_assert(ZEROULP_ABI_VERSION == 2, "new sizes for a new version");
_Static_assert(ZEROULP_PLUGIN_VERSION == 3, "new sizes for a new version");
HAS_SIZE(zeroulp_status, 4);
HAS_SIZE(zeroulp_format, 16);
HAS_SIZE(zeroulp_policy, 20);
HAS_SIZE(zeroulp_convention, 96);
HAS_SIZE(zeroulp_group, 8);
HAS_SIZE(zeroulp_quantizer, 160);
HAS_SIZE(zeroulp_retiling, 64);
HAS_SIZE(zeroulp_accumulator, 60);
HAS_SIZE(zeroulp_path, 128);
HAS_SIZE(zeroulp_block_scaled_path, 160);
HAS_SIZE(zeroulp_recipe, 128);
HAS_SIZE(zeroulp_matrix, 48);
HAS_SIZE(zeroulp_const_matrix, 48);
HAS_SIZE(zeroulp_named_matrix, 56);
HAS_SIZE(zeroulp_operand, 112);
HAS_SIZE(zeroulp_block_quantizer, 72);
HAS_SIZE(zeroulp_hadamard_transform, 56);
HAS_SIZE(zeroulp_comparison, 616);
HAS_SIZE(zeroulp_errors, 120);
HAS_SIZE(zeroulp_quantized, 96);
HAS_SIZE(zeroulp_const_quantized, 96);
HAS_SIZE(zeroulp_swiglu, 320);
HAS_SIZE(zeroulp_rms_layer, 196);
HAS_SIZE(zeroulp_adamw_settings, 48);
HAS_SIZE(zeroulp_adamw_factors, 24);
HAS_SIZE(zeroulp_adamw_step, 60);
HAS_SIZE(zeroulp_attention, 16);
HAS_SIZE(zeroulp_router, 28);
HAS_SIZE(zeroulp_rate_schedule, 40);
HAS_SIZE(zeroulp_tensor, 56);
HAS_SIZE(zeroulp_cuda_matrix, 32);
HAS_SIZE(zeroulp_cuda_const_matrix, 32);
HAS_SIZE(zeroulp_cuda_scales, 24);
HAS_SIZE(zeroulp_cuda_const_scales, 24);
HAS_SIZE(zeroulp_cuda_quantized, 56);
HAS_SIZE(zeroulp_cuda_const_quantized, 56);
HAS_SIZE(zeroulp_cuda_operand, 96);
HAS_SIZE(zeroulp_cuda_gemm_groups, 24);
HAS_SIZE(zeroulp_cuda_batch_strides, 16);
HAS_SIZE(zeroulp_cuda_bf16_gemm, 248);
HAS_SIZE(zeroulp_cuda_mla, 40);
HAS_SIZE(zeroulp_plugin_matrix, 48);
HAS_SIZE(zeroulp_plugin_quantize, 200);
HAS_SIZE(zeroulp_plugin_dequantize, 176);
HAS_SIZE(zeroulp_plugin_retile, 240);
HAS_SIZE(zeroulp_plugin_gemm, 376);
HAS_SIZE(zeroulp_plugin_swiglu, 168);
HAS_SIZE(zeroulp_plugin_adamw, 336);
HAS_SIZE(zeroulp_plugin_combine, 208);
HAS_SIZE(zeroulp_plugin_rms_norm_backward, 344);
HAS_SIZE(zeroulp_plugin_route, 304);
HAS_SIZE(zeroulp_plugin_route_backward, 256);
HAS_SIZE(zeroulp_plugin_attention_forward, 320);
HAS_SIZE(zeroulp_plugin_attention_backward, 512);
HAS_SIZE(zeroulp_plugin_claim, 40);
HAS_SIZE(zeroulp_plugin, 128);
