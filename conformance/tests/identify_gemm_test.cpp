// Identification finds, in products made by the core, the recipe that made
// them; names the nearest where a bit is wrong; and says what data do not tell.

#include "fuzz/identify_gemm.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "conformance/cases/gemm_cases.hpp"
#include "conformance/tests/identify_parts.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

/// A GEMM of the core, as evidence.
gemm_evidence multiplied(const recipe& r, format fa, format fb,
                         conformance::gemm_shape shape, bool scaled,
                         std::uint64_t seed) {
  counter_rng rng(seed, 0);
  const auto g = conformance::make_gemm_case(
      {r, fa, fb}, shape, conformance::code_family::normal,
      conformance::scale_family::none, rng);
  gemm_evidence e;
  e.a.f = fa;
  e.b.f = fb;
  e.a.codes = g.a;
  e.b.codes = g.b;
  const auto scales_for = [&](granularity by, std::ptrdiff_t rows) {
    grid s(oracle::groups_along(rows, by.mn),
           by.k == 0 ? 1 : oracle::groups_along(shape.k, by.k));
    for (auto& word : s.words) {
      word =
          conformance::make_scale_bits(conformance::scale_family::normal, rng);
    }
    return s;
  };
  if (scaled) {
    e.a.scales = scales_for(r.a, shape.m);
    e.b.scales = scales_for(r.b, shape.n);
  }
  if (r.end == epilogue::accumulate) e.c = g.c;
  e.output = r.output;
  e.d = grid(shape.m, shape.n);
  engine::gemm(r, {fa, in(e.a.codes)}, scaled ? in(*e.a.scales) : views{},
               {fb, in(e.b.codes)}, scaled ? in(*e.b.scales) : views{},
               e.c ? in(*e.c) : views{}, out(e.d));
  return e;
}

/// Every named recipe; at level 0, which sanitizers run, every third.
std::vector<named_recipe> recipes_to_try() {
  const char* level = std::getenv("ZEROULP_LEVEL");
  const bool all = level == nullptr || std::atoi(level) > 0;
  std::vector<named_recipe> list;
  for (std::size_t i = 0; i < std::size(named_recipes); i += all ? 1 : 3) {
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
  recipe r = named_recipes[1].value;
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
  recipe r = named_recipes[3].value;  // one_then_other, 1x128 both
  r.splits = 3;
  r.interval = 64;
  r.output = fp32;
  auto e = multiplied(r, e4m3, e4m3, {20, 16, 1024}, true, 7);
  e.a.scales = oracle::flipped(*e.a.scales);
  auto a = identify_gemm(e);
  EXPECT_TRUE(a.exact);
  EXPECT_EQ(a.how.splits, 3);
  EXPECT_EQ(a.how.interval, 64);
  EXPECT_FALSE(a.b_scale_first);
  EXPECT_EQ(values(a.found, "scales of A"),
            std::vector<std::string>{"1x128, transposed"});

  // Of four intervals where scales are shared by rows.
  recipe by_blocks = named_recipes[2].value;
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
  EXPECT_TRUE(a.b_scale_first);
  EXPECT_EQ(values(a.found, "update"),
            std::vector<std::string>{"fma(fl(p*sb), sa, acc)"});
}

TEST(IdentifyGemm, AWrongOutputIsTheFirstDifferenceOfTheNearest) {
  for (const auto& named : recipes_to_try()) {
    const bool scaled = named.value.update != promotion::add;
    auto e = multiplied(named.value, e4m3, e4m3, {9, 7, 520}, scaled, 9);
    const auto right = e.d(4, 2);
    e.d(4, 2) ^= 1;
    const auto a = identify_gemm(e);
    EXPECT_FALSE(a.exact) << named.name;
    EXPECT_EQ(a.outputs_differ, 1u) << named.name;
    ASSERT_TRUE(a.first);
    EXPECT_EQ(a.first->i, 4);
    EXPECT_EQ(a.first->j, 2);
    EXPECT_EQ(a.first->expected, right);
    EXPECT_EQ(a.first->given, right ^ 1);
    EXPECT_TRUE(has(a.found.names, named.name)) << named.name;
  }
}

TEST(IdentifyGemm, WhatNothingGivesHasNoAgreement) {
  auto e =
      multiplied(named_recipes[0].value, e4m3, e4m3, {30, 30, 256}, false, 10);
  for (auto& word : e.d.words) word = 0x40490fdb;
  const auto a = identify_gemm(e);
  EXPECT_FALSE(a.exact);
  EXPECT_EQ(a.outputs_differ, 900u);
  ASSERT_TRUE(a.first);
  EXPECT_EQ(a.first->i, 0);
  EXPECT_EQ(a.first->j, 0);
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
      multiplied(named_recipes[5].value, e4m3, e4m3, {4, 4, 256}, true, 1);
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
  e.a.scales = grid(4, 3);
  EXPECT_THROW(identify_gemm(e), input_error);
  e = right;
  e.a.codes.words[3] = 0x100;
  EXPECT_THROW(identify_gemm(e), input_error);
  EXPECT_THROW(identify_gemm({}), input_error);
}

}  // namespace
}  // namespace zeroulp::fuzz
