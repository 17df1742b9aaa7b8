#include "tools/checkpoint/weights/families.hpp"

namespace zeroulp::checkpoint {
namespace {

constexpr group_shape by_declaration{-1, -1};
constexpr group_shape of_16{1, 16};
constexpr group_shape of_32{1, 32};
constexpr group_shape whole_tensor{0, 0};

constexpr element_set number_types = {element::f32, element::bf16,
                                      element::f16};
constexpr element_set exponent_types = {element::f8_e8m0, element::u8};
constexpr element_set e4m3_types = {element::f8_e4m3};

constexpr family_row family_rows[] = {
    {.name = "deepseek_v3",
     .weight = "",
     .scale = "_scale_inv",
     .weights = fp8_types,
     .scales = number_types | element_set{element::f8_e8m0},
     .group = by_declaration,
     .lonely = number_types | element_set{element::f8_e8m0}},
    {.name = "mxfp8_scale_inv",
     .weight = "",
     .scale = "_scale_inv",
     .weights = fp8_types,
     .scales = {element::u8},
     .group = of_32,
     .lonely = {element::u8}},
    {.name = "deepseek_v4",
     .weight = ".weight",
     .scale = ".scale",
     .weights = fp8_types,
     .scales = {element::f8_e8m0, element::f32},
     .group = by_declaration,
     .lonely = {element::f8_e8m0}},
    {.name = "deepseek_v4_fp4",
     .weight = ".weight",
     .scale = ".scale",
     .weights = fp4_types,
     .scales = exponent_types,
     .group = of_32,
     .packed = packing::pairs},
    {.name = "compressed_tensors",
     .weight = ".weight",
     .scale = ".weight_scale",
     .weights = fp8_types,
     .scales = number_types,
     .group = by_declaration,
     .lonely = number_types | exponent_types | e4m3_types},
    {.name = "mxfp8",
     .weight = ".weight",
     .scale = ".weight_scale",
     .weights = fp8_types,
     .scales = exponent_types,
     .group = of_32},
    {.name = "modelopt_nvfp4",
     .weight = ".weight",
     .scale = ".weight_scale",
     .weights = fp4_types,
     .scales = e4m3_types,
     .group = of_16,
     .packed = packing::pairs,
     .second = ".weight_scale_2",
     .use = second_use::multiply},
    {.name = "mxfp4",
     .weight = ".weight",
     .scale = ".weight_scale",
     .weights = fp4_types,
     .scales = exponent_types,
     .group = of_32,
     .packed = packing::pairs},
    {.name = "compressed_tensors_nvfp4",
     .weight = ".weight_packed",
     .scale = ".weight_scale",
     .weights = fp4_types,
     .scales = e4m3_types,
     .group = of_16,
     .packed = packing::pairs,
     .second = ".weight_global_scale",
     .use = second_use::divide},
    {.name = "compressed_tensors_mxfp4",
     .weight = ".weight_packed",
     .scale = ".weight_scale",
     .weights = fp4_types,
     .scales = exponent_types,
     .group = of_32,
     .packed = packing::pairs},
    {.name = "gpt_oss",
     .weight = "_blocks",
     .scale = "_scales",
     .weights = {element::u8},
     .scales = exponent_types,
     .group = of_32,
     .packed = packing::blocks},
    {.name = "mxfp8_scales",
     .weight = "",
     .scale = "_scales",
     .weights = fp8_types,
     .scales = exponent_types,
     .group = of_32},
    {.name = "scaled_fp8",
     .weight = ".weight",
     .scale = ".scale_weight",
     .weights = fp8_types,
     .scales = number_types,
     .group = whole_tensor,
     .lonely = number_types},
    {.name = "fused_experts",
     .weight = "",
     .scale = "_scale",
     .weights = fp8_types,
     .scales = number_types | exponent_types,
     .group = by_declaration},
};

constexpr const char* companions[] = {
    "input_scale",  "input_scale_inv", "activation_scale", "k_scale",
    "v_scale",      "q_scale",         "kv_scale",         "input_global_scale",
    "output_scale", "prob_scale",      "scale_input",      "comfy_quant",
};

}  // namespace

std::span<const family_row> families() { return family_rows; }

bool is_companion(std::string_view name) {
  const auto dot = name.rfind('.');
  const auto last = dot == name.npos ? name : name.substr(dot + 1);
  for (const char* each : companions) {
    if (last == each) return true;
  }
  return false;
}

format scale_format(element type) { return row_of(type).holds.value_or(ue8m0); }

}  // namespace zeroulp::checkpoint
