// Identification finds, in codes and scales made by the core, the convention
// that made them; names the nearest where a bit is wrong; and says what data do
// not tell.

#include <gtest/gtest.h>

#include "conformance/cases/matrix_cases.hpp"
#include "conformance/tests/fuzz/convention_parts.hpp"
#include "conformance/tests/fuzz/identify_parts.hpp"
#include "conformance/tests/level.hpp"
#include "fuzz/identify/quantizer.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

/// Midpoints of codes under amaxes on which conventions disagree: a tile a row.
grid midpoint_tiles(format from, std::ptrdiff_t rows, std::ptrdiff_t cols) {
  grid x(rows, cols);
  counter_rng rng(8, 0);
  for (std::size_t at = 0; at < x.words.size(); at += 128) {
    const auto amax = conformance::disputed_amax(e4m3, rng);
    const auto s = bit_cast<float>(amax) / 448.0f;
    const auto row = conformance::midpoint_row(e4m3, s, amax, rng.below(8), 5);
    for (std::size_t j = 0; j < 128; ++j) {
      const auto word = row[j % row.size()];
      x.words[at + j] = static_cast<std::uint32_t>(recode(fp32, word, from));
    }
  }
  return x;
}

/// Random data, specials, midpoints and amaxes at the floors, on which every
/// named convention differs from the others.
grid directed_matrix(format from) {
  constexpr std::ptrdiff_t cols = 384;
  counter_rng rng(7, 0);
  std::vector<grid> parts;
  for (const auto family : {conformance::matrix_family::normal,
                            conformance::matrix_family::outliers,
                            conformance::matrix_family::specials,
                            conformance::matrix_family::zero_tiles}) {
    parts.push_back(
        conformance::make_matrix(family, from, 4, cols, {11, rng.next32()}));
  }
  parts.push_back(midpoint_tiles(from, 24, cols));
  grid x(48, cols);
  std::size_t at = 0;
  for (const auto& p : parts) {
    for (const auto word : p.words) x.words[at++] = word;
  }
  // Amaxes of 1e-2 to 1e-13, one a tile: below and above each floor.
  double size = 1e-2;
  for (; at < x.words.size(); at += 128) {
    for (std::size_t j = 0; j < 128; ++j) {
      const double u = static_cast<double>(rng.next32()) / 0x1p31 - 1;
      x.words[at + j] = conformance::code_near(from, u * size);
    }
    size = size < 1e-13 ? 1e-2 : size * 0.3;
  }
  return x;
}

quantizer_evidence quantized(const grid& x, const quantizer& q) {
  quantizer_evidence e;
  e.x = x;
  e.from = q.from;
  e.codes = grid(x.rows, x.cols);
  e.code_bits = q.to.bits() <= 8 ? 8 : 16;
  e.scales = grid(ceil_div(x.rows, q.group.height(x.rows)),
                  ceil_div(x.cols, q.group.width(x.cols)));
  quantize(q, in(x), out(e.codes), out(e.scales));
  return e;
}

TEST(IdentifyQuantizer, EveryNamedConventionIsFoundFromFp32) {
  const grid x = directed_matrix(fp32);
  for (const auto& named : named_conventions) {
    const auto e =
        quantized(x, {fp32, e4m3, named.value, scale_kind::float32, {1, 128}});
    const auto a = identify_quantizer(e);
    EXPECT_TRUE(a.exact) << named.name;
    EXPECT_EQ(a.found.names, names_with_fp32_scales(named.value));
    EXPECT_EQ(values(a.found, "format"), std::vector<std::string>{"e4m3"});
    EXPECT_EQ(values(a.found, "kind of scale"),
              std::vector<std::string>{"fp32"});
    EXPECT_EQ(values(a.found, "group"), std::vector<std::string>{"1x128"});
  }
}

TEST(IdentifyQuantizer, EveryNamedConventionIsInTheClassOfAnyInput) {
  // Level 1 takes each of BF16; level 2 those of FP16, too.
  std::vector<format> formats{bf16};
  if (test::level() > 1) formats.push_back(fp16);
  for (const format from : formats) {
    const grid x = directed_matrix(from);
    for (const auto& named : named_conventions) {
      for (const auto& kind : named_scale_kinds) {
        auto e = quantized(x, {from, e4m3, named.value, kind.value, {1, 128}});
        e.to = e4m3;
        const auto a = identify_quantizer(e);
        EXPECT_TRUE(a.exact) << named.name << " " << kind.name;
        EXPECT_TRUE(has(a.found.names, named.name))
            << named.name << " " << kind.name;
        EXPECT_TRUE(has(values(a.found, "kind of scale"), kind.name));
      }
    }
  }
}

TEST(IdentifyQuantizer, GroupsAreFoundByTheirShapes) {
  const grid x = directed_matrix(fp32);
  const std::pair<group_shape, const char*> shapes[] = {
      {{1, 128}, "1x128"},
      {{128, 1}, "128x1"},
      {{128, 128}, "128x128"},
      {{1, 0}, "a whole row (1xK)"},
      {{0, 0}, "tensor"}};
  for (const auto& [shape, text] : shapes) {
    for (const bool transposed : {false, true}) {
      auto e = quantized(
          x, {fp32, e4m3, vllm_convention, scale_kind::float32, shape});
      if (transposed) e.scales = oracle::flipped(e.scales);
      const auto a = identify_quantizer(e);
      EXPECT_TRUE(a.exact) << text;
      EXPECT_TRUE(has(values(a.found, "group"), text)) << text;
      EXPECT_TRUE(has(a.found.names, "vllm")) << text;
    }
  }
}

TEST(IdentifyQuantizer, FormatsAreFoundByTheirCodes) {
  const grid x = directed_matrix(fp32);
  for (const auto& named : named_formats) {
    if (!is_quantizable(named.value) || named.value.bits() > 16) continue;
    const auto e = quantized(x, {fp32,
                                 named.value,
                                 deepseek_v3_convention,
                                 scale_kind::float32,
                                 {1, 128}});
    const auto a = identify_quantizer(e);
    EXPECT_TRUE(a.exact) << named.name;
    EXPECT_EQ(values(a.found, "format"), std::vector<std::string>{named.name});
  }
}

TEST(IdentifyQuantizer, StoredInversesAndExponentsAreRead) {
  const grid x = directed_matrix(fp32);
  const quantizer tile{
      fp32, e4m3, tile_kernels_convention, scale_kind::float32, {1, 128}};
  auto e = quantized(x, tile);
  for (auto& s : e.scales.words) s = detail::fl_divide(fp32_one, s);
  auto a = identify_quantizer(e);
  EXPECT_TRUE(a.exact);
  EXPECT_EQ(values(a.found, "scales hold"),
            std::vector<std::string>{"fl(1/s)"});

  e = quantized(x, tile);
  for_each_group({1, 128}, x.rows, x.cols,
                 [&](std::ptrdiff_t gi, std::ptrdiff_t gj, std::ptrdiff_t i,
                     std::ptrdiff_t j, std::ptrdiff_t m, std::ptrdiff_t n) {
                   const auto amax = group_amax(tile, in(x).block(i, j, m, n));
                   e.scales(gi, gj) = make_scale(tile, amax).inverse;
                 });
  a = identify_quantizer(e);
  EXPECT_TRUE(a.exact);
  EXPECT_TRUE(has(values(a.found, "scales hold"), "q = fl(max/amax)"));

  const grid finite = conformance::make_matrix(
      conformance::matrix_family::normal, fp32, 16, 384, {3, 0});
  e = quantized(
      finite,
      {fp32, e4m3, transformer_engine_convention, scale_kind::pow2, {1, 128}});
  for (auto& s : e.scales.words) s = s >> 23;
  e.words = scale_words::exponents;
  a = identify_quantizer(e);
  EXPECT_TRUE(a.exact);
  EXPECT_TRUE(has(a.found.names, "transformer_engine"));
  EXPECT_EQ(values(a.found, "kind of scale"), std::vector<std::string>{"pow2"});
}

TEST(IdentifyQuantizer, AWrongCodeIsTheFirstDifferenceOfTheNearest) {
  const grid x = directed_matrix(fp32);
  for (const auto& named : named_conventions) {
    auto e =
        quantized(x, {fp32, e4m3, named.value, scale_kind::float32, {1, 128}});
    for (const int bit : {0, 3, 7}) {
      const std::ptrdiff_t i = 5;
      const std::ptrdiff_t j = 200 + bit;
      const auto right = e.codes(i, j);
      e.codes(i, j) = right ^ 1u << bit;
      const auto a = identify_quantizer(e);
      e.codes(i, j) = right;
      EXPECT_FALSE(a.exact);
      EXPECT_EQ(a.found.names, names_with_fp32_scales(named.value));
      EXPECT_EQ(a.scales.differ(), 0u);
      EXPECT_EQ(a.codes.differ(), 1u);
      ASSERT_TRUE(a.first_code);
      EXPECT_EQ(a.first_code->at.i, i);
      EXPECT_EQ(a.first_code->at.j, j);
      EXPECT_EQ(a.first_code->at.expected, right);
      EXPECT_EQ(a.first_code->at.given, right ^ 1u << bit);
      EXPECT_EQ(a.first_code->x, x(i, j));
    }
  }
}

TEST(IdentifyQuantizer, AWrongScaleIsTheFirstDifferenceOfTheNearest) {
  const grid x = directed_matrix(fp32);
  for (const auto& named : named_conventions) {
    auto e =
        quantized(x, {fp32, e4m3, named.value, scale_kind::float32, {1, 128}});
    const auto right = e.scales(3, 2);
    e.scales(3, 2) = right ^ 1u;
    const auto a = identify_quantizer(e);
    EXPECT_FALSE(a.exact);
    EXPECT_EQ(a.found.names, names_with_fp32_scales(named.value));
    EXPECT_EQ(a.scales.differ(), 1u);
    EXPECT_EQ(a.codes.differ(), 0u);
    ASSERT_TRUE(a.first_scale);
    EXPECT_EQ(a.first_scale->at.i, 3);
    EXPECT_EQ(a.first_scale->at.j, 2);
    EXPECT_EQ(a.first_scale->at.expected, right);
    EXPECT_LE(a.first_scale->amax, 0x7f800000u);
  }
}

TEST(IdentifyQuantizer, AWrongScaleOfBf16IsShownWithItsAmax) {
  const grid x = directed_matrix(bf16);
  const quantizer q{bf16, e4m3, vllm_convention, scale_kind::float32, {1, 128}};
  auto e = quantized(x, q);
  e.scales(3, 2) ^= 1u;
  const auto a = identify_quantizer(e);
  ASSERT_TRUE(a.first_scale);
  EXPECT_EQ(a.first_scale->amax, group_amax(q, in(x).block(3, 256, 1, 128)));
}

TEST(IdentifyQuantizer, ZerosDoNotTellTheElementRule) {
  const grid x(2, 256);
  const auto e = quantized(
      x, {fp32, e4m3, vllm_convention, scale_kind::float32, {1, 128}});
  const auto a = identify_quantizer(e);
  EXPECT_TRUE(a.exact);
  EXPECT_TRUE(has(a.found.names, "vllm"));
  EXPECT_FALSE(has(a.found.names, "deepseek_v3"));  // another floor
  EXPECT_EQ(values(a.found, "element").size(), 15u);
  EXPECT_EQ(values(a.found, "conversion").size(), std::size(named_policies));
}

TEST(IdentifyQuantizer, OneElementTellsLittle) {
  const grid x(1, 1, 0x40490fdb);
  const auto e = quantized(
      x, {fp32, e4m3, zeroulp_convention, scale_kind::float32, {1, 128}});
  const auto a = identify_quantizer(e);
  EXPECT_TRUE(a.exact);
  EXPECT_TRUE(has(a.found.names, "zeroulp"));
  EXPECT_EQ(values(a.found, "group").size(), 5u);
  EXPECT_EQ(values(a.found, "floor of amax").size(), 4u);
  EXPECT_EQ(values(a.found, "amax of NaN and Inf").size(), 3u);
}

TEST(IdentifyQuantizer, NanTellsTheAmaxRule) {
  const grid x(1, 128, 0x7fc00000);
  for (const auto& named : named_conventions) {
    const auto a = identify_quantizer(
        quantized(x, {fp32, e4m3, named.value, scale_kind::float32, {1, 128}}));
    EXPECT_TRUE(a.exact);
    EXPECT_TRUE(has(a.found.names, named.name));
    const bool keeps = named.value.amax == amax_rule::keep_nan &&
                       !named.value.edges.unit_of_nan;
    if (keeps) {
      EXPECT_EQ(values(a.found, "amax of NaN and Inf"),
                std::vector<std::string>{"keep NaN"});
    }
    EXPECT_EQ(values(a.found, "element").size(), 15u);
  }
}

TEST(IdentifyQuantizer, WhatDoesNotFitIsRefused) {
  const auto right = quantized(
      directed_matrix(fp32),
      {fp32, e4m3, zeroulp_convention, scale_kind::float32, {1, 128}});
  auto e = right;
  e.codes = grid(48, 383);
  EXPECT_THROW(identify_quantizer(e), input_error);
  e = right;
  e.scales = grid(48, 5);
  EXPECT_THROW(identify_quantizer(e), input_error);
  e = right;
  e.group = group_shape{1, 64};
  EXPECT_THROW(identify_quantizer(e), input_error);
  e = right;
  e.to = e2m1;
  EXPECT_THROW(identify_quantizer(e), input_error);
  e = right;
  e.to = ue8m0;
  EXPECT_THROW(identify_quantizer(e), input_error);
  e = right;
  e.from = e4m3;
  EXPECT_THROW(identify_quantizer(e), input_error);
  EXPECT_THROW(identify_quantizer({}), input_error);
}

}  // namespace
}  // namespace zeroulp::fuzz
