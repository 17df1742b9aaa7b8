// Identification finds, in products made by the core, the recipe that made
// them; names the nearest where a bit is wrong; and says what data do not tell.

#include <gtest/gtest.h>

#include <vector>

#include "conformance/tests/fuzz/identify_gemm_parts.hpp"
#include "conformance/tests/level.hpp"
#include "fuzz/identify/gemm.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

/// Every named recipe; at level 0, which sanitizers run, every third.
std::vector<named_recipe> recipes_to_try() {
  std::vector<named_recipe> list;
  const std::size_t every = test::level() > 0 ? 1 : 3;
  for (std::size_t i = 0; i < std::size(named_recipes); i += every) {
    list.push_back(named_recipes[i]);
  }
  return list;
}

TEST(IdentifyGemm, EveryNamedRecipeIsFound) {
  for (const auto& named : recipes_to_try()) {
    const bool scaled = named.value.update != promotion::add;
    const conformance::gemm_shape shape{4, 130, scaled ? 1032 : 264};
    auto a =
        identify_gemm(multiplied(named.value, e4m3, e5m2, shape, scaled, 5));
    EXPECT_TRUE(a.exact) << named.name;
    EXPECT_TRUE(has(a.found.names, named.name)) << named.name;
    // BF16 hides much; FP32 tells the rest.
    recipe r = named.value;
    r.output = fp32;
    a = identify_gemm(multiplied(r, e4m3, e5m2, shape, scaled, 5));
    EXPECT_TRUE(a.exact) << named.name;
    if (r.acc == hopper_fp8_f32) {
      EXPECT_EQ(values(a.found, "accumulator").size(), 1u) << named.name;
    }
    if (!scaled) continue;  // sums of small numbers are exact anyhow
    EXPECT_EQ(values(a.found, "update").size(), 1u) << named.name;
    EXPECT_EQ(values(a.found, "splits of K").size(), 1u) << named.name;
    EXPECT_EQ(values(a.found, "interval").size(), 1u) << named.name;
  }
}

TEST(IdentifyGemm, EveryAccumulatorIsFound) {
  recipe r = cublaslt_tensorwise_recipe;
  const auto found = [&r](format f) {
    const auto a = identify_gemm(multiplied(r, f, f, {24, 24, 512}, false, 6));
    EXPECT_TRUE(a.exact);
    return values(a.found, "accumulator");
  };
  using names = std::vector<std::string>;
  r.acc = what_if_sign_fill;
  EXPECT_EQ(found(e4m3), names{"whatif.sign_fill (L 32, F 13)"});
  r.acc = what_if_top14;
  EXPECT_EQ(found(e4m3), names{"whatif.top14 (L 32, F 13)"});
  r.acc = what_if_c_last;
  EXPECT_EQ(found(e4m3), names{"whatif.c_last (L 32, F 13)"});
  r.acc = ada_fp8_f32;
  EXPECT_EQ(found(e4m3), names{"ada.mma (L 16, F 13)"});
  r.acc = what_if_fraction(12);
  EXPECT_EQ(found(e4m3), names{"whatif.f12 (L 32, F 12)"});
  r.acc = what_if_fraction(14);
  EXPECT_EQ(found(e5m2), names{"whatif.f14 (L 32, F 14)"});
  r.acc = hopper_half_f32;
  EXPECT_TRUE(has(found(bf16), "hopper.wgmma (L 16, F 25)"));
}

TEST(IdentifyGemm, SplitsAndTheOrderOfScalesAreFound) {
  recipe r = cublaslt_1x128_1x128_recipe;  // one_then_other, 1x128 both
  r.splits = 3;
  r.interval = 64;
  r.output = fp32;
  auto e = multiplied(r, e4m3, e4m3, {20, 16, 1024}, true, 7);
  e.a.scales = oracle::flipped(*e.a.scales);
  auto a = identify_gemm(e);
  EXPECT_TRUE(a.exact);
  EXPECT_EQ(a.how.splits, 3);
  EXPECT_EQ(a.how.interval, 64);
  EXPECT_EQ(a.how.update, promotion::one_then_other);
  EXPECT_EQ(values(a.found, "scales of A"),
            std::vector<std::string>{"1x128, transposed"});

  // Of four intervals where scales are shared by rows.
  recipe by_blocks = cublaslt_1x128_128x128_recipe;
  by_blocks.splits = 2;
  by_blocks.output = fp32;
  a = identify_gemm(multiplied(by_blocks, e4m3, e4m3, {4, 130, 1032}, true, 9));
  EXPECT_TRUE(a.exact);
  EXPECT_EQ(a.how.splits, 2);
  EXPECT_EQ(values(a.found, "splits of K"), (std::vector<std::string>{"2"}));

  // The first with the operands swapped: D is its transpose.
  e = multiplied(r, e4m3, e4m3, {16, 20, 1024}, true, 8);
  std::swap(e.a, e.b);
  e.d = oracle::flipped(e.d);
  a = identify_gemm(e);
  EXPECT_TRUE(a.exact);
  EXPECT_EQ(a.how.update, promotion::other_then_one);
  EXPECT_EQ(values(a.found, "update"),
            std::vector<std::string>{"fma(fl(p*sb), sa, acc)"});
}

TEST(IdentifyGemm, AWrongOutputIsTheFirstDifferenceOfTheNearest) {
  for (const auto& named : recipes_to_try()) {
    const bool scaled = named.value.update != promotion::add;
    auto e = multiplied(named.value, e4m3, e4m3, {40, 30, 1032}, scaled, 9);
    const auto right = e.d(4, 2);
    e.d(4, 2) ^= 1;
    const auto a = identify_gemm(e);
    EXPECT_FALSE(a.exact) << named.name;
    EXPECT_TRUE(a.is_near) << named.name;
    EXPECT_EQ(a.best.agree, 1199u) << named.name;
    EXPECT_EQ(a.best.count, 1200u) << named.name;
    ASSERT_TRUE(a.first);
    EXPECT_EQ(a.first->i, 4);
    EXPECT_EQ(a.first->j, 2);
    EXPECT_EQ(a.first->expected, right);
    EXPECT_EQ(a.first->given, right ^ 1);
    EXPECT_TRUE(has(a.found.names, named.name)) << named.name;
  }
}

TEST(IdentifyGemm, WhatNothingGivesIsNotFound) {
  auto e = multiplied(unpromoted_recipe, e4m3, e4m3, {30, 30, 256}, false, 10);
  for (auto& word : e.d.words) word = 0x40490fdb;
  const auto a = identify_gemm(e);
  EXPECT_FALSE(a.exact);
  EXPECT_FALSE(a.is_near);
  EXPECT_FALSE(a.fp32_sum);
  EXPECT_EQ(a.best.agree, 0u);
  EXPECT_EQ(a.best.count, 900u);
  EXPECT_TRUE(a.found.names.empty());
  EXPECT_FALSE(a.first);
}

TEST(IdentifyGemm, ZerosAndNanDoNotTellTheAccumulator) {
  for (const std::uint32_t code : {0u, 0x7fu}) {
    gemm_evidence e;
    e.a.codes = grid(3, 64, code);
    e.b.codes = grid(2, 64, code);
    e.d = grid(3, 2, code == 0 ? 0 : 0x7fffffff);
    const auto a = identify_gemm(e);
    EXPECT_TRUE(a.exact);
    EXPECT_GT(values(a.found, "accumulator").size(), 30u);
    EXPECT_EQ(values(a.found, "splits of K").size(), 9u);
    EXPECT_TRUE(has(a.found.names, "exact"));
  }
}

// What cuBLASLt 13 does with 1x128 by 1x128 at the edges, on an H200.
TEST(IdentifyGemm, CublasltIsFoundWithOneIntervalAndWithOneRow) {
  recipe r = parse_recipe("cublaslt.1x128_1x128").value;
  r.output = fp32;
  // K = 128: the scale of B first.
  auto e = multiplied(r, e4m3, e4m3, {40, 24, 128}, true, 13);
  std::swap(e.a, e.b);
  e.d = oracle::flipped(e.d);
  auto a = identify_gemm(e);
  EXPECT_TRUE(a.exact && a.tells);
  EXPECT_TRUE(has(values(a.found, "update"), "fma(fl(p*sb), sa, acc)"));
  EXPECT_FALSE(has(values(a.found, "update"), "fma(fl(p*sa), sb, acc)"));

  // M = 1: the product of the scales, and splits at multiples of 512.
  r.update = promotion::product_of_scales;
  r.a = block_128x128;
  r.splits = 3;
  a = identify_gemm(multiplied(r, e4m3, e4m3, {1, 512, 4096}, true, 14));
  EXPECT_TRUE(a.exact && a.tells);
  EXPECT_EQ(values(a.found, "update"),
            std::vector<std::string>{"fma(p, fl(sa*sb), acc)"});
  EXPECT_EQ(values(a.found, "splits of K"), std::vector<std::string>{"3"});
}

TEST(IdentifyGemm, WhereEverythingFitsSomeOutputsAreEnough) {
  gemm_evidence e;
  e.a.codes = grid(96, 256);
  e.b.codes = grid(256, 256);
  e.d = grid(96, 256);
  const auto a = identify_gemm(e, {}, 1e6);
  EXPECT_FALSE(a.exact);
  EXPECT_FALSE(a.tells);
  EXPECT_TRUE(a.is_near);
  EXPECT_EQ(a.best.differ(), 0u);
  EXPECT_LT(a.best.count, e.d.words.size());
  EXPECT_GT(a.found.members, 2000u);
  EXPECT_TRUE(has(a.found.names, "unpromoted"));
}

TEST(IdentifyGemm, TheOneThatFitsIsHeldAgainstEveryOutput) {
  const recipe r = parse_recipe("deepgemm.1d2d").value;
  auto e = multiplied(r, e4m3, e4m3, {96, 256, 512}, true, 16);
  EXPECT_TRUE(identify_gemm(e, {}, 1).exact);
  e.d(95, 255) ^= 1;
  const auto a = identify_gemm(e, {}, 1);
  EXPECT_FALSE(a.exact);
  EXPECT_EQ(a.best.differ(), 1u);
  EXPECT_EQ(a.best.count, e.d.words.size());
}

/// Row 5 of A and row 9 of B hold a NaN.
gemm_evidence with_nan_rows() {
  const recipe r = parse_recipe("cublaslt.tensorwise").value;
  auto e = operands_for(r, e4m3, e4m3, {40, 30, 512}, true, 12);
  e.a.codes(5, 100) = 0x7f;
  e.b.codes(9, 3) = 0xff;
  engine::gemm(r, {e4m3, in(e.a.codes)}, in(*e.a.scales), {e4m3, in(e.b.codes)},
               in(*e.b.scales), {}, out(e.d));
  return e;
}

TEST(IdentifyGemm, RowsOfNanMustGiveNan) {
  auto e = with_nan_rows();
  EXPECT_TRUE(identify_gemm(e).exact);
  e.d(5, 7) = 0;
  const auto a = identify_gemm(e);
  EXPECT_FALSE(a.exact);
  EXPECT_TRUE(has(a.found.names, "cublaslt.tensorwise"));
  ASSERT_TRUE(a.first);
  EXPECT_EQ(a.first->i, 5);
  EXPECT_EQ(a.first->j, 7);
  EXPECT_EQ(a.first->expected, fp32_nan);
}

TEST(IdentifyGemm, RowsOfInfinityAreTriedAsTheyAre) {
  recipe r = parse_recipe("cublaslt.tensorwise").value;
  r.interval = 64;
  auto e = operands_for(r, e5m2, e5m2, {40, 30, 512}, false, 15);
  e.a.codes(5, 100) = 0x7c;
  e.b.codes(9, 3) = 0xfc;
  engine::gemm(r, {e5m2, in(e.a.codes)}, {}, {e5m2, in(e.b.codes)}, {}, {},
               out(e.d));
  EXPECT_TRUE(identify_gemm(e).exact);
  e.d(5, 7) ^= 1;
  const auto a = identify_gemm(e);
  EXPECT_FALSE(a.exact);
  EXPECT_EQ(a.how.interval, 64);
  ASSERT_TRUE(a.first);
  EXPECT_EQ(a.first->i, 5);
  EXPECT_EQ(a.first->j, 7);
}

TEST(IdentifyGemm, OneProductTellsLittle) {
  gemm_evidence e;
  e.a.codes = grid(1, 1, 0x38);
  e.b.codes = grid(1, 1, 0x40);
  e.d = grid(1, 1, 0x40000000);
  const auto a = identify_gemm(e);
  EXPECT_TRUE(a.exact);
  EXPECT_TRUE(has(a.found.names, "unpromoted"));
  EXPECT_TRUE(has(a.found.names, "cublaslt.tensorwise"));
}

TEST(IdentifyGemm, WhatDoesNotFitIsRefused) {
  const auto right =
      multiplied(deepgemm_1d1d_recipe, e4m3, e4m3, {4, 4, 256}, true, 1);
  auto e = right;
  e.b.codes = grid(4, 255);
  EXPECT_THROW(identify_gemm(e), input_error);
  e = right;
  e.d = grid(4, 5);
  EXPECT_THROW(identify_gemm(e), input_error);
  e = right;
  e.c = grid(5, 4);
  EXPECT_THROW(identify_gemm(e), input_error);
  e = right;
  e.a.scales = grid(4, 5);
  EXPECT_THROW(identify_gemm(e), input_error);
  e = right;
  e.a.codes.words[3] = 0x100;
  EXPECT_THROW(identify_gemm(e), input_error);
  EXPECT_THROW(identify_gemm({}), input_error);
}

}  // namespace
}  // namespace zeroulp::fuzz
