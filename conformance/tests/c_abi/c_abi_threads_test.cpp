// What the C ABI refuses, by name: NULL, unknown names, too much memory; and
// that threads do not disturb each other.

#include <thread>

#include "conformance/tests/c_abi/c_abi_arguments.hpp"

namespace zeroulp {
namespace {

TEST(CAbiErrors, NullIsRefusedByName) {
  arguments a;
  zeroulp_comparison comparison;
  zeroulp_errors errors;
  std::uint32_t amax = 0;
  std::int64_t n = 0;
  char name[16];
  const zeroulp_format* no_format = nullptr;
  const zeroulp_const_matrix* none = nullptr;
  const zeroulp_matrix* nowhere = nullptr;
  const struct {
    zeroulp_status status;
    std::string text;
  } calls[] = {
#define ZEROULP_REFUSED(CALL) {CALL, last_error()}
      ZEROULP_REFUSED(zeroulp_value_from_name(0, nullptr, &a.set)),
      ZEROULP_REFUSED(zeroulp_value_from_name(0, "up", nullptr)),
      ZEROULP_REFUSED(zeroulp_format_from_name(nullptr, &a.fp32_format)),
      ZEROULP_REFUSED(zeroulp_format_from_name("e4m3", nullptr)),
      ZEROULP_REFUSED(zeroulp_format_name(no_format, name, 16)),
      ZEROULP_REFUSED(zeroulp_format_name(&a.e4m3_format, nullptr, 16)),
      ZEROULP_REFUSED(zeroulp_policy_from_name("cuda_nosat", nullptr)),
      ZEROULP_REFUSED(zeroulp_group_from_name("1x1", nullptr)),
      ZEROULP_REFUSED(zeroulp_convention_from_name("vllm", nullptr)),
      ZEROULP_REFUSED(zeroulp_path_from_name(nullptr, &a.path)),
      ZEROULP_REFUSED(zeroulp_recipe_from_name("exact", nullptr)),
      ZEROULP_REFUSED(zeroulp_quantizer_from_names(
          nullptr, "e4m3", "vllm", nullptr, "1x1", &a.quantizer)),
      ZEROULP_REFUSED(zeroulp_quantizer_from_names(
          "fp32", nullptr, "vllm", nullptr, "1x1", &a.quantizer)),
      ZEROULP_REFUSED(zeroulp_quantizer_from_names(
          "fp32", "e4m3", nullptr, nullptr, "1x1", &a.quantizer)),
      ZEROULP_REFUSED(zeroulp_quantizer_from_names(
          "fp32", "e4m3", "vllm", nullptr, nullptr, &a.quantizer)),
      ZEROULP_REFUSED(zeroulp_quantizer_from_names("fp32", "e4m3", "vllm",
                                                   nullptr, "1x1", nullptr)),
      ZEROULP_REFUSED(zeroulp_recipe_for_operands(nullptr, &a.e4m3_format,
                                                  &a.e4m3_format, &a.recipe)),
      ZEROULP_REFUSED(zeroulp_recipe_for_operands(&a.recipe, &a.e4m3_format,
                                                  &a.e4m3_format, nullptr)),
      ZEROULP_REFUSED(zeroulp_recode(no_format, &a.in_x, &a.e4m3_format,
                                     &a.to_codes, 0, nullptr, nullptr)),
      ZEROULP_REFUSED(zeroulp_recode(&a.fp32_format, none, &a.e4m3_format,
                                     &a.to_codes, 0, nullptr, nullptr)),
      ZEROULP_REFUSED(zeroulp_recode(&a.fp32_format, &a.in_x, &a.e4m3_format,
                                     nowhere, 0, nullptr, nullptr)),
      ZEROULP_REFUSED(zeroulp_recode(&a.fp32_format, &a.in_x, &a.e4m3_format,
                                     &a.to_codes, ZEROULP_STOCHASTIC, nullptr,
                                     nullptr)),
      ZEROULP_REFUSED(zeroulp_arithmetic(ZEROULP_ADD, &a.fp32_format, &a.in_x,
                                         none, none, &a.to_words, 0, nullptr,
                                         nullptr)),
      ZEROULP_REFUSED(zeroulp_arithmetic(ZEROULP_FMA, &a.fp32_format, &a.in_x,
                                         &a.in_x, none, &a.to_words, 0, nullptr,
                                         nullptr)),
      ZEROULP_REFUSED(
          zeroulp_quantize(nullptr, &a.in_x, &a.to_codes, &a.to_scales)),
      ZEROULP_REFUSED(
          zeroulp_quantize(&a.quantizer, none, &a.to_codes, &a.to_scales)),
      ZEROULP_REFUSED(
          zeroulp_quantize(&a.quantizer, &a.in_x, nowhere, &a.to_scales)),
      ZEROULP_REFUSED(
          zeroulp_quantize(&a.quantizer, &a.in_x, &a.to_codes, nowhere)),
      ZEROULP_REFUSED(zeroulp_quantize_by_amax(&a.quantizer, &a.in_x, none,
                                               &a.to_codes, &a.to_scales)),
      ZEROULP_REFUSED(
          zeroulp_quantize_by_scale(&a.quantizer, &a.in_x, none, &a.to_codes)),
      ZEROULP_REFUSED(zeroulp_group_amaxes(&a.quantizer, &a.in_x, nowhere)),
      ZEROULP_REFUSED(
          zeroulp_make_scales(&a.quantizer, none, &a.to_scales, nullptr)),
      ZEROULP_REFUSED(zeroulp_dequantize(&a.e4m3_format, nullptr, &a.in_codes,
                                         &a.in_scales, &a.to_words)),
      ZEROULP_REFUSED(zeroulp_retile(nullptr, &a.in_codes, &a.in_scales,
                                     &a.to_transposed, &a.to_out_scales)),
      ZEROULP_REFUSED(zeroulp_delayed_amax(nullptr, 1, 0, 0, 0, &amax)),
      ZEROULP_REFUSED(zeroulp_delayed_amax(&amax, 1, 0, 0, 0, nullptr)),
      ZEROULP_REFUSED(zeroulp_layout_shape(0, 1, 1, nullptr, &n)),
      ZEROULP_REFUSED(zeroulp_layout_shape(0, 1, 1, &n, nullptr)),
      ZEROULP_REFUSED(zeroulp_lay_out_scales(0, none, &a.to_stored)),
      ZEROULP_REFUSED(zeroulp_read_scales(0, &a.in_scales, nowhere)),
      ZEROULP_REFUSED(zeroulp_packed_bytes(0, 1, nullptr)),
      ZEROULP_REFUSED(zeroulp_pack(0, &a.in_wide, nowhere)),
      ZEROULP_REFUSED(zeroulp_unpack(0, none, &a.to_packed)),
      ZEROULP_REFUSED(
          zeroulp_step(nullptr, &a.in_codes, &a.in_codes, &a.in_c, &a.to_d)),
      ZEROULP_REFUSED(
          zeroulp_step(&a.path, &a.in_codes, none, &a.in_c, &a.to_d)),
      ZEROULP_REFUSED(
          zeroulp_gemm(nullptr, &a.left, &a.right, nullptr, &a.to_outputs)),
      ZEROULP_REFUSED(
          zeroulp_gemm(&a.recipe, nullptr, &a.right, nullptr, &a.to_outputs)),
      ZEROULP_REFUSED(
          zeroulp_gemm(&a.recipe, &a.left, nullptr, nullptr, &a.to_outputs)),
      ZEROULP_REFUSED(
          zeroulp_gemm(&a.recipe, &a.left, &a.right, nullptr, nowhere)),
      ZEROULP_REFUSED(
          zeroulp_multiply(nullptr, &a.left, &a.right, nullptr, &a.to_outputs)),
      ZEROULP_REFUSED(zeroulp_exact_products(&a.left, &a.right, nowhere)),
      ZEROULP_REFUSED(zeroulp_compare(nullptr, none, &a.in_x, &comparison)),
      ZEROULP_REFUSED(zeroulp_compare(nullptr, &a.in_x, &a.in_x, nullptr)),
      ZEROULP_REFUSED(
          zeroulp_measure_errors(none, &a.in_doubles, nullptr, &errors)),
      ZEROULP_REFUSED(zeroulp_measure_errors(&a.in_doubles, &a.in_doubles,
                                             nullptr, nullptr)),
      ZEROULP_REFUSED(zeroulp_simd_in_use(nullptr)),
      ZEROULP_REFUSED(zeroulp_simd_is_supported(0, nullptr)),
#undef ZEROULP_REFUSED
  };
  for (const auto& [status, text] : calls) {
    EXPECT_EQ(status, ZEROULP_INVALID_ARGUMENT) << text;
    EXPECT_NE(text.find(" is NULL"), std::string::npos) << text;
  }
}

TEST(CAbiErrors, NamesThatAreUnknownAreListed) {
  zeroulp_format f;
  EXPECT_EQ(zeroulp_format_from_name("e4m4x", &f), ZEROULP_INVALID_ARGUMENT);
  EXPECT_NE(last_error().find("unknown format 'e4m4x': use one of e4m3"),
            std::string::npos);
  EXPECT_EQ(zeroulp_format_from_name("E4-M4", &f), ZEROULP_INVALID_ARGUMENT);
  EXPECT_NE(last_error().find("'E4-M4': use one of e4m3"), std::string::npos);
  zeroulp_path p;
  EXPECT_EQ(zeroulp_path_from_name("hopper", &p), ZEROULP_INVALID_ARGUMENT);
  zeroulp_recipe r;
  EXPECT_EQ(zeroulp_recipe_from_name("", &r), ZEROULP_INVALID_ARGUMENT);
  zeroulp_group g;
  EXPECT_EQ(zeroulp_group_from_name("-1x1", &g), ZEROULP_INVALID_ARGUMENT);
  std::int32_t value = -5;
  EXPECT_EQ(zeroulp_value_from_name(ZEROULP_ROUNDINGS, "nearest", &value),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(value, -5);
  zeroulp_quantizer q;
  EXPECT_EQ(zeroulp_quantizer_from_names("fp32", "ue8m0", "vllm", nullptr,
                                         "1x128", &q),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(zeroulp_use_simd(4), ZEROULP_INVALID_ARGUMENT);
  zeroulp_format odd = c_format(ue8m0);
  odd.bias = 100;
  char name[16] = "as it was";
  EXPECT_EQ(zeroulp_format_name(&odd, name, sizeof name),
            ZEROULP_INVALID_ARGUMENT);
  odd = c_format(e4m3fnuz);
  EXPECT_EQ(zeroulp_format_name(&odd, name, 8), ZEROULP_INVALID_ARGUMENT);
  EXPECT_STREQ(name, "as it was");
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ZEROULP_STOPS_AT_LARGE_REQUESTS
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ZEROULP_STOPS_AT_LARGE_REQUESTS
#endif

TEST(CAbiErrors, MemoryThatThereIsNotIsItsOwnStatus) {
#ifdef ZEROULP_STOPS_AT_LARGE_REQUESTS
  GTEST_SKIP() << "the sanitizer stops at such a request";
#endif
  zeroulp_recipe r;
  ZEROULP_CALLS(zeroulp_recipe_from_name("exact", &r));
  const std::uint8_t one = 0x38;
  // 2^56 elements that are one and the same byte.
  const zeroulp_operand a{
      c_format(e4m3), {&one, std::int64_t{1} << 56, 1, 0, 0, 1}, {}};
  const zeroulp_operand b{c_format(e4m3), {&one, 0, 1, 0, 0, 1}, {}};
  const zeroulp_matrix d{nullptr, std::int64_t{1} << 56, 0, 0, 0, 4};
  EXPECT_EQ(zeroulp_gemm(&r, &a, &b, nullptr, &d), ZEROULP_OUT_OF_MEMORY);
  EXPECT_EQ(last_error(), "zeroulp_gemm: out of memory");
}

TEST(CAbiErrors, EachThreadHasItsOwnText) {
  zeroulp_format f;
  EXPECT_EQ(zeroulp_format_from_name("here", &f), ZEROULP_INVALID_ARGUMENT);
  const std::string here = last_error();
  std::string before, there;
  std::thread([&] {
    before = last_error();
    zeroulp_group g;
    (void)zeroulp_group_from_name("there", &g);
    there = last_error();
  }).join();
  EXPECT_EQ(before, "");
  EXPECT_NE(there.find("'there'"), std::string::npos);
  EXPECT_EQ(last_error(), here);
  // Success leaves it.
  ZEROULP_CALLS(zeroulp_format_from_name("e4m3", &f));
  EXPECT_EQ(last_error(), here);
}

TEST(CAbiErrors, ThreadsDoNotDisturbEachOther) {
  std::vector<std::thread> threads;
  std::vector<std::string> failures(4);
  for (std::size_t t = 0; t < failures.size(); ++t) {
    threads.emplace_back([t, &failure = failures[t]] {
      const auto name = "thread" + std::to_string(t);
      for (int i = 0; i < 200 && failure.empty(); ++i) {
        zeroulp_recipe r;
        if (zeroulp_recipe_from_name(name.c_str(), &r) !=
                ZEROULP_INVALID_ARGUMENT ||
            last_error().find("'" + name + "'") == std::string::npos) {
          failure = last_error();
        }
        arguments a;
        table<std::uint32_t> expected(4, 2);
        zeroulp::quantize<std::uint32_t, std::uint8_t>(
            {fp32,
             e4m3,
             parse_convention("vllm").value,
             scale_kind::float32,
             {1, 4}},
            a.x.view(), a.codes.view(), expected.view());
        if (quantize_call(a) != ZEROULP_OK || !(a.scales == expected)) {
          failure = "quantize";
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& failure : failures) EXPECT_EQ(failure, "");
}

}  // namespace
}  // namespace zeroulp
