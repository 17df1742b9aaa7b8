// The C ABI of the suite: explanations, cases, shrinking, errors.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "zeroulp/zeroulp_suite.h"

namespace {

using nlohmann::json;

template <class T>
zeroulp_named_matrix named(const char* name, const std::vector<T>& x,
                           std::int64_t rows, std::int64_t cols) {
  return {name, {x.data(), rows, cols, cols, 1, sizeof(T)}};
}

json answer() { return json::parse(zeroulp_suite_text()); }

bool says(const char* text) {
  const std::string error = zeroulp_last_error();
  return error.find(text) != std::string::npos
             ? true
             : (ADD_FAILURE() << error, false);
}

/// 2 x 128 elements of BF16, in turn 1 and 3, and an amax of 448.
struct quantized {
  std::vector<std::uint16_t> x = std::vector<std::uint16_t>(256, 0x3f80);
  std::vector<std::uint8_t> codes = std::vector<std::uint8_t>(256, 0x38);
  std::vector<float> scales = {1, 1};

  quantized() {
    for (std::size_t i = 0; i < x.size(); i += 128) {
      x[i] = 0x43e0;
      codes[i] = 0x7e;
    }
  }
  zeroulp_status explain(const char* settings, const char* ignored = nullptr) {
    const auto in = named("x", x, 2, 128);
    const zeroulp_named_matrix made[] = {named("codes", codes, 2, 128),
                                         named("scales", scales, 2, 1)};
    return zeroulp_suite_explain("quantize", settings, &in, 1, made, 2,
                                 ignored);
  }
};

TEST(SuiteCAbi, TakesTheRightBits) {
  quantized q;
  ASSERT_EQ(q.explain("convention=vllm"), ZEROULP_OK) << zeroulp_last_error();
  EXPECT_TRUE(answer()["same"]);
  EXPECT_TRUE(answer()["likely"].empty());
}

TEST(SuiteCAbi, SaysWhatDiffers) {
  quantized q;
  for (std::size_t i = 129; i < 256; ++i) q.codes[i] = 0;
  ASSERT_EQ(q.explain("convention=vllm,from=bf16"), ZEROULP_OK);
  const json found = answer();
  EXPECT_FALSE(found["same"]);
  EXPECT_EQ(found["outputs"][0]["name"], "scales");
  EXPECT_EQ(found["outputs"][0]["different"], 0);
  EXPECT_EQ(found["outputs"][1]["different"], 127);
  EXPECT_EQ(found["outputs"][1]["first"]["index"], json({1, 1}));
  EXPECT_NE(found["text"].get<std::string>().find("only row 1"),
            std::string::npos);
}

TEST(SuiteCAbi, RefusesWhatItCannotRead) {
  quantized q;
  EXPECT_EQ(q.explain("convention=vlm"), ZEROULP_INVALID_ARGUMENT);
  EXPECT_TRUE(says("unknown convention 'vlm'"));
  EXPECT_EQ(q.explain("convention"), ZEROULP_INVALID_ARGUMENT);
  EXPECT_TRUE(says("settings: 'convention': use name=value"));
  EXPECT_EQ(q.explain("colour=red"), ZEROULP_INVALID_ARGUMENT);
  EXPECT_TRUE(says("quantize has no setting 'colour'"));
  EXPECT_EQ(q.explain(nullptr, "nan-bit"), ZEROULP_INVALID_ARGUMENT);
  EXPECT_TRUE(says("ignored: there is no 'nan-bit'"));
  EXPECT_EQ(zeroulp_suite_explain(nullptr, "", nullptr, 0, nullptr, 0, nullptr),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_TRUE(says("target is NULL"));
  const auto in = named("x", q.x, 2, 128);
  const auto codes = named("codes", q.codes, 2, 64);
  EXPECT_EQ(zeroulp_suite_explain("quantize", "", &in, 1, &codes, 1, nullptr),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_TRUE(says("codes: 2 x 64 were given, quantize makes 2 x 128"));
  const auto other = named("y", q.codes, 2, 128);
  EXPECT_EQ(zeroulp_suite_explain("quantize", "", &in, 1, &other, 1, nullptr),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_TRUE(says("made: there is no 'y'"));
  EXPECT_EQ(zeroulp_suite_explain("quantize", "", &in, 1, nullptr, 1, nullptr),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(zeroulp_suite_explain("quantize", "", &in, -1, &codes, 1, nullptr),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(
      zeroulp_suite_explain("quantize", "", nullptr, 0, &codes, 1, nullptr),
      ZEROULP_INVALID_ARGUMENT);
  const std::vector<std::uint32_t> wide(256, 0x10000);
  const auto beyond = named("x", wide, 2, 128);
  EXPECT_EQ(
      zeroulp_suite_explain("quantize", "", &beyond, 1, &codes, 1, nullptr),
      ZEROULP_INVALID_ARGUMENT);
  EXPECT_TRUE(says("x: element (0, 0) is 0x10000, no code of bf16"));
}

TEST(SuiteCAbi, GivesCasesThatReplay) {
  ASSERT_EQ(zeroulp_suite_case("quantize", "ties", "to=e4m3", 1, 7), ZEROULP_OK)
      << zeroulp_last_error();
  const std::string token = zeroulp_suite_text();
  ASSERT_EQ(zeroulp_suite_case("quantize", "ties", "to=e4m3", 1, 7),
            ZEROULP_OK);
  EXPECT_EQ(token, zeroulp_suite_text());
  ASSERT_EQ(zeroulp_suite_replay(token.c_str()), ZEROULP_OK);
  const json held = answer();
  EXPECT_EQ(held["target"], "quantize");
  EXPECT_EQ(held["settings"]["to"], "e4m3");
  EXPECT_EQ(held["operands"][0]["name"], "x");
  EXPECT_EQ(held["outputs"][1]["name"], "codes");
  EXPECT_EQ(held["outputs"][1]["words"].size(),
            held["operands"][0]["words"].size());

  EXPECT_EQ(zeroulp_suite_case("quantise", nullptr, nullptr, 1, 0),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(zeroulp_suite_case("quantize", "tie", nullptr, 1, 0),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(zeroulp_suite_replay((token + "x").c_str()),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(zeroulp_suite_replay(nullptr), ZEROULP_INVALID_ARGUMENT);
}

TEST(SuiteCAbi, Shrinks) {
  ASSERT_EQ(zeroulp_suite_case("quantize", "normal", "from=fp32,to=e4m3", 1, 3),
            ZEROULP_OK);
  const std::string token = zeroulp_suite_text();
  // Fails where there are two elements.
  const auto fails = [](void* calls, const char* text) -> std::int32_t {
    ++*static_cast<int*>(calls);
    if (zeroulp_suite_replay(text) != ZEROULP_OK) return 0;
    return answer()["operands"][0]["words"].size() >= 2 ? 1 : 0;
  };
  int calls = 0;
  ASSERT_EQ(zeroulp_suite_shrink(token.c_str(), fails, &calls), ZEROULP_OK)
      << zeroulp_last_error();
  EXPECT_GT(calls, 1);
  const std::string small = zeroulp_suite_text();
  ASSERT_EQ(zeroulp_suite_replay(small.c_str()), ZEROULP_OK);
  EXPECT_EQ(answer()["operands"][0]["words"].size(), 2u);
  const auto never = [](void*, const char*) -> std::int32_t { return 0; };
  EXPECT_EQ(zeroulp_suite_shrink(token.c_str(), never, nullptr),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_TRUE(says("this case does not fail"));
  EXPECT_EQ(zeroulp_suite_shrink(token.c_str(), nullptr, nullptr),
            ZEROULP_INVALID_ARGUMENT);
}

TEST(SuiteCAbi, IdentifiesAQuantizer) {
  quantized q;
  const zeroulp_named_matrix all[] = {named("x", q.x, 2, 128),
                                      named("codes", q.codes, 2, 128),
                                      named("scales", q.scales, 2, 1)};
  const char* how = "from=bf16,to=e4m3,group=1x128";
  ASSERT_EQ(zeroulp_suite_identify("quantizer", how, all, 3), ZEROULP_OK)
      << zeroulp_last_error();
  const json found = answer();
  EXPECT_EQ(found["exact"], true);
  EXPECT_EQ(found["codes"]["count"], 256);
  EXPECT_NE(found["names"].dump().find("\"vllm\""), std::string::npos);
}

TEST(SuiteCAbi, IdentifiesAProduct) {
  // 1 + 2^-14 a product: bits that a sum of 14 loses.
  std::vector<std::uint8_t> a(4 * 32, 0x38);
  for (std::size_t i = 1; i < a.size(); i += 2) a[i] = 0x01;
  const std::vector<float> d(16, 16);
  const zeroulp_named_matrix all[] = {
      named("a", a, 4, 32), named("b", a, 4, 32), named("d", d, 4, 4)};
  ASSERT_EQ(zeroulp_suite_identify("gemm", "a=e4m3,b=e4m3,output=fp32", all, 3),
            ZEROULP_OK)
      << zeroulp_last_error();
  EXPECT_EQ(answer()["outputs"]["count"], 16);
}

TEST(SuiteCAbi, IdentifiesNothingThatDoesNotFit) {
  quantized q;
  const zeroulp_named_matrix all[] = {named("x", q.x, 2, 128),
                                      named("codes", q.codes, 2, 128),
                                      named("scales", q.scales, 2, 1)};
  const auto refused = [&](const char* target, const char* settings,
                           std::int64_t count, const char* why) {
    EXPECT_EQ(zeroulp_suite_identify(target, settings, all, count),
              ZEROULP_INVALID_ARGUMENT);
    EXPECT_TRUE(says(why));
  };
  refused(nullptr, nullptr, 3, "target is NULL");
  refused("quantize", nullptr, 3, "use quantizer or gemm");
  refused("quantizer", nullptr, 2, "there is no 'scales'");
  refused("quantizer", nullptr, -1, "there are -1");
  refused("quantizer", "from=e4m3", 3, "use fp32, fp16, bf16");
  refused("quantizer", "colour=red", 3, "quantizer has no 'colour'");
  refused("quantizer", "to=e2m1", 3, "no code of e2m1");
  refused("quantizer", "to=ue8m0", 3, "nothing is quantized to it");
  refused("quantizer", "scales=ue8m0", 3, "scales");
  refused("quantizer", "from=fp32", 3, "x");
  refused("gemm", nullptr, 3, "there is no 'x'");
  const std::vector<float> one(1, 1);
  const std::vector<std::uint8_t> codes(64);
  const zeroulp_named_matrix plain[] = {
      named("a", codes, 2, 32), named("b", codes, 2, 32), named("d", one, 1, 1),
      named("a_second", one, 1, 1)};
  EXPECT_EQ(zeroulp_suite_identify("gemm", nullptr, plain, 4),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_TRUE(
      says("a_second: a second level goes with scales that are a byte"));
  EXPECT_EQ(zeroulp_suite_identify("quantizer", nullptr, nullptr, 3),
            ZEROULP_INVALID_ARGUMENT);
}

TEST(SuiteCAbi, KeepsATextAThread) {
  ASSERT_EQ(zeroulp_suite_case("step", nullptr, nullptr, 1, 0), ZEROULP_OK);
  const std::string mine = zeroulp_suite_text();
  std::thread([] { EXPECT_STREQ(zeroulp_suite_text(), ""); }).join();
  EXPECT_EQ(mine, zeroulp_suite_text());
}

}  // namespace
