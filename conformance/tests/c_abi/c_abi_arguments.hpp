// Defines `arguments` and `expect_refused`: valid calls of the C ABI, and what
// becomes of one whose arguments a test spoils.

#ifndef ZEROULP_CONFORMANCE_TESTS_C_ABI_C_ABI_ARGUMENTS_HPP_
#define ZEROULP_CONFORMANCE_TESTS_C_ABI_C_ABI_ARGUMENTS_HPP_

#include <functional>
#include <tuple>

#include "conformance/tests/c_abi/c_abi_parts.hpp"

namespace zeroulp {

/// Arguments of every function that writes to matrices, all valid. A test
/// spoils one, or some, and says what the text must hold.
struct arguments {
  table<std::uint32_t> x = any_data(4, 8, 1);
  table<std::uint8_t> codes{4, 8, 0xa5}, transposed{8, 4, 0xa5};
  table<std::uint16_t> wide{4, 8, 0x3a5}, narrow_d{4, 4, 0xa5a5};
  table<std::uint8_t> packed{4, 12, 0xa5};
  table<std::uint32_t> scales{4, 2, 0x3f800000}, out_scales{8, 1, 0xa5a5a5a5};
  table<std::uint32_t> words{4, 8, 0xa5a5a5a5}, c{4, 1, 0}, d{4, 1, 0xa5a5a5a5};
  table<std::uint32_t> outputs{4, 4, 0xa5a5a5a5}, stored{4, 4, 0xa5a5a5a5};
  table<double> doubles{4, 4, 1};

  zeroulp_format fp32_format = c_format(fp32), e4m3_format = c_format(e4m3);
  zeroulp_quantizer quantizer{};
  zeroulp_retiling retiling{c_format(e4m3), c_format(e5m2), 0, 4, 0, {}};
  zeroulp_path path{};
  zeroulp_recipe recipe{};
  zeroulp_policy policy{};
  zeroulp_group group{1, 4};
  int rounding = 0, operation = ZEROULP_ADD, layout = 0, packing = 0, set = 0;

  zeroulp_const_matrix in_x = x.in(), in_codes = codes.in(),
                       in_scales = scales.in(), in_random = x.in(),
                       in_c = c.in(), in_wide = wide.in(),
                       in_doubles = doubles.in();
  zeroulp_matrix to_codes = codes.out(), to_scales = scales.out(),
                 to_words = words.out(), to_transposed = transposed.out(),
                 to_out_scales = out_scales.out(), to_d = d.out(),
                 to_outputs = outputs.out(), to_packed = packed.out(),
                 to_doubles = doubles.out(), to_stored = stored.out();
  zeroulp_operand left{c_format(e4m3), codes.in(), {}};
  zeroulp_operand right = left;

  arguments() {
    EXPECT_EQ(zeroulp_quantizer_from_names("fp32", "e4m3", "vllm", nullptr,
                                           "1x4", &quantizer),
              ZEROULP_OK);
    EXPECT_EQ(zeroulp_path_from_name("hopper.wgmma.e4m3.e4m3.f32", &path),
              ZEROULP_OK);
    EXPECT_EQ(zeroulp_recipe_from_name("unpromoted", &recipe), ZEROULP_OK);
    EXPECT_EQ(zeroulp_policy_from_name("cuda_nosat", &policy), ZEROULP_OK);
  }
  arguments(const arguments&) = delete;

  auto everything() const {
    return std::tuple(codes, transposed, wide, narrow_d, packed, scales,
                      out_scales, words, d, outputs, stored, doubles);
  }
};

using call = std::function<zeroulp_status(arguments&)>;
using spoil = std::function<void(arguments&)>;

inline const call recode_call = [](arguments& a) {
  return zeroulp_recode(&a.fp32_format, &a.in_x, &a.e4m3_format, &a.to_codes,
                        a.rounding, &a.policy, &a.in_random);
};
inline const call arithmetic_call = [](arguments& a) {
  return zeroulp_arithmetic(a.operation, &a.fp32_format, &a.in_x, &a.in_x,
                            &a.in_x, &a.to_words, a.rounding, &a.policy,
                            &a.in_random);
};
inline const call quantize_call = [](arguments& a) {
  return zeroulp_quantize(&a.quantizer, &a.in_x, &a.to_codes, &a.to_scales);
};
inline const call by_amax_call = [](arguments& a) {
  return zeroulp_quantize_by_amax(&a.quantizer, &a.in_x, &a.in_scales,
                                  &a.to_codes, &a.to_scales);
};
inline const call by_scale_call = [](arguments& a) {
  return zeroulp_quantize_by_scale(&a.quantizer, &a.in_x, &a.in_scales,
                                   &a.to_codes);
};
inline const call amaxes_call = [](arguments& a) {
  return zeroulp_group_amaxes(&a.quantizer, &a.in_x, &a.to_scales);
};
inline const call make_scales_call = [](arguments& a) {
  return zeroulp_make_scales(&a.quantizer, &a.in_x, &a.to_words, &a.to_words);
};
inline const call dequantize_call = [](arguments& a) {
  return zeroulp_dequantize(&a.e4m3_format, &a.group, &a.in_codes, &a.in_scales,
                            &a.to_words);
};
inline const call dequantize_to_call = [](arguments& a) {
  return zeroulp_dequantize_to(&a.e4m3_format, &a.group, &a.in_codes,
                               &a.in_scales, &a.fp32_format, &a.to_words);
};
inline const call retile_call = [](arguments& a) {
  return zeroulp_retile(&a.retiling, &a.in_codes, &a.in_scales,
                        &a.to_transposed, &a.to_out_scales);
};
inline const call pack_call = [](arguments& a) {
  return zeroulp_pack(a.packing, &a.in_wide, &a.to_packed);
};
inline const call step_call = [](arguments& a) {
  return zeroulp_step(&a.path, &a.in_codes, &a.in_codes, &a.in_c, &a.to_d);
};
inline const call gemm_call = [](arguments& a) {
  return zeroulp_gemm(&a.recipe, &a.left, &a.right, &a.in_c, &a.to_outputs);
};
inline const call exact_call = [](arguments& a) {
  return zeroulp_exact_products(&a.left, &a.right, &a.to_doubles);
};
inline const call layout_call = [](arguments& a) {
  return zeroulp_lay_out_scales(a.layout, &a.in_scales, &a.to_stored);
};
inline const call compare_call = [](arguments& a) {
  zeroulp_comparison c;
  return zeroulp_compare(&a.e4m3_format, &a.in_codes, &a.in_codes, &c);
};

/// The call as it is succeeds; spoilt, it is refused with this text, and
/// writes nothing.
inline void expect_refused(const call& run, const spoil& change,
                           const std::string& text) {
  arguments a;
  const auto before = a.everything();
  change(a);
  EXPECT_EQ(run(a), ZEROULP_INVALID_ARGUMENT) << text;
  EXPECT_NE(last_error().find(text), std::string::npos)
      << "want " << text << "\ngot " << last_error();
  EXPECT_EQ(a.everything(), before) << text;
}

}  // namespace zeroulp

#endif  // ZEROULP_CONFORMANCE_TESTS_C_ABI_C_ABI_ARGUMENTS_HPP_
