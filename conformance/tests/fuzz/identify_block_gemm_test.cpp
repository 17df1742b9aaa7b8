// Identification of GEMMs with block scales: named recipes, mechanisms of no
// name and orders of the second level are found; a wrong bit is none of them.

#include <gtest/gtest.h>

#include <vector>

#include "conformance/tests/fuzz/identify_parts.hpp"
#include "conformance/tests/level.hpp"
#include "fuzz/identify/blocks/block_gemm.hpp"
#include "zeroulp/block_scaled.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

/// Codes of any finite elements and scales around 1, far enough apart to show
/// what a step drops; D is zero.
gemm_evidence operands_of_blocks(const block_scaled_path& p,
                                 std::uint64_t seed) {
  constexpr std::ptrdiff_t m = 12, n = 20, k = 448;
  counter_rng rng(seed, 0);
  const auto operand = [&](operand_evidence& x, format f, std::ptrdiff_t rows) {
    x.f = f;
    x.codes = grid(rows, k);
    for (auto& code : x.codes.words) {
      do {
        code = rng.below(1u << f.bits());
      } while (decode(f, code).is_nan() ||
               decode(f, code).kind == kind::infinite);
    }
    x.words = scale_words::exponents;
    x.scales = grid(rows, (k + p.block - 1) / p.block);
    for (auto& byte : x.scales->words) {
      byte = p.scale == block_scale::power_of_two ? 115 + rng.below(25)
                                                  : 1 + rng.below(0x7e);
    }
  };
  gemm_evidence e;
  operand(e.a, p.unscaled.a, m);
  operand(e.b, p.unscaled.b, n);
  e.d = grid(m, n);
  return e;
}

engine::block_scaled_operand bytes_of(const prepared_operand& elements,
                                      const operand_evidence& x,
                                      std::vector<std::uint8_t>& bytes) {
  bytes.assign(x.scales->words.begin(), x.scales->words.end());
  return {elements, {bytes.data(), x.scales->rows, x.scales->cols}};
}

/// D of the engine's chains, from +0.
void multiply(const block_scaled_path& p, gemm_evidence& e) {
  const prepared_operand a(p.unscaled.a, in(e.a.codes));
  const prepared_operand b(p.unscaled.b, in(e.b.codes));
  std::vector<std::uint8_t> bytes_a, bytes_b;
  engine::multiply(p, a, bytes_of(a, e.a, bytes_a).scales, b,
                   bytes_of(b, e.b, bytes_b).scales, {},
                   {e.d.words.data(), e.d.rows, e.d.cols});
}

TEST(IdentifyBlockGemm, EveryNamedRecipeIsFound) {
  std::uint64_t seed = 1;
  for (const auto& row : all_block_recipes()) {
    for (const format f : row.takes) {
      const auto p = parse_block_recipe(row.name, f, f).path;
      auto e = operands_of_blocks(p, ++seed);
      ASSERT_TRUE(has_block_scales(e)) << row.name;
      multiply(p, e);
      const auto a = identify_block_gemm(e, {});
      EXPECT_TRUE(a.exact) << row.name << " " << name_of(f);
      EXPECT_TRUE(has(a.found.names, row.name)) << row.name;
      EXPECT_EQ(values(a.found, "scales").size(), 1u) << row.name;
      // UE4M3 spans too little to tell 35 fraction bits from some more or less.
      const auto bits = values(a.found, "fraction bits");
      EXPECT_TRUE(has(bits, std::to_string(p.unscaled.acc.fraction_bits)))
          << row.name << " " << name_of(f);
      EXPECT_EQ(bits.size() == 1, p.scale == block_scale::power_of_two)
          << row.name << " " << name_of(f);
      EXPECT_EQ(values(a.found, "products a step"),
                std::vector{std::to_string(p.length())})
          << row.name << " " << name_of(f);
    }
  }
}

TEST(IdentifyBlockGemm, MechanismsOfNoNameAreFound) {
  const int count = test::level() > 0 ? 40 : 6;
  for (int i = 0; i < count; ++i) {
    counter_rng rng(77, static_cast<std::uint64_t>(i));
    const bool sums = rng.one_in(2);
    block_scaled_path p =
        sums ? fp4_by_blocks(rng.one_in(2) ? block_scale::unsigned_e4m3
                                           : block_scale::power_of_two,
                             rng.one_in(2) ? 16 : 32)
             : mxf8f6f4(e4m3, rng.one_in(2) ? e5m2 : e2m3);
    accumulator& acc = p.unscaled.acc;
    acc = what_if_fraction(rng.between(12, 30));
    acc.length = static_cast<std::int16_t>(32 << rng.below(3));
    const bool nearest = rng.one_in(3);
    if (nearest || rng.one_in(2)) acc.output = fp32;
    if (nearest) acc.conversion = rounding::nearest_even;
    auto e = operands_of_blocks(p, 1000 + static_cast<std::uint64_t>(i));
    multiply(p, e);
    const auto a = identify_block_gemm(e, {});
    ASSERT_TRUE(a.exact) << i;
    EXPECT_TRUE(has(values(a.found, "fraction bits"),
                    std::to_string(acc.fraction_bits)))
        << i;
    EXPECT_TRUE(
        has(values(a.found, "products a step"), std::to_string(acc.length)))
        << i;
    EXPECT_TRUE(has(values(a.found, "terms"), sums ? "sums of 16" : "products"))
        << i;
  }
}

TEST(IdentifyBlockGemm, DequantizedOperandsAreNotScaledOnes) {
  // FP4 as BF16 on Hopper's BF16 unit, without a floor: what others emulate.
  const auto p = fp4_by_blocks(block_scale::unsigned_e4m3, 16);
  auto e = operands_of_blocks(p, 9);
  accumulator acc = what_if_fraction(25);
  acc.length = 16;
  acc.output = fp32;
  const auto dequantized = [&](const operand_evidence& x) {
    grid codes(x.codes.rows, x.codes.cols);
    for (std::ptrdiff_t i = 0; i < codes.rows; ++i) {
      for (std::ptrdiff_t k = 0; k < codes.cols; ++k) {
        unpacked y = decode(e2m1, x.codes(i, k));
        const unpacked s = decode(p.scale, (*x.scales)(i, k / p.block));
        y.significand *= s.significand;
        y.exponent += s.exponent;
        codes(i, k) =
            y.is_zero() ? 0 : static_cast<std::uint32_t>(encode(bf16, y));
      }
    }
    return codes;
  };
  const grid a_codes = dequantized(e.a), b_codes = dequantized(e.b);
  engine::multiply({bf16, bf16, acc}, prepared_operand(bf16, in(a_codes)),
                   prepared_operand(bf16, in(b_codes)), {}, out(e.d));
  const auto a = identify_block_gemm(e, {});
  ASSERT_TRUE(a.exact);
  EXPECT_EQ(values(a.found, "terms"),
            std::vector<std::string>{"products of BF16"});
  EXPECT_EQ(values(a.found, "scales"),
            std::vector<std::string>{"ue4m3 per 16"});
  EXPECT_TRUE(a.found.names.empty());
}

TEST(IdentifyBlockGemm, OrdersOfTheSecondLevelAreTold) {
  const auto r = parse_block_recipe("nvfp4", e2m1, e2m1);
  auto e = operands_of_blocks(r.path, 5);
  multiply(r.path, e);
  counter_rng rng(6, 0);
  const auto numbers = [&](std::ptrdiff_t rows) {
    grid t(rows, 1);
    for (auto& word : t.words) word = 0x3f000000 + rng.below(1u << 24);
    return t;
  };
  const second_evidence second{numbers(e.a.codes.rows), numbers(1), "ta", "tb"};
  for (std::ptrdiff_t i = 0; i < e.d.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < e.d.cols; ++j) {
      e.d(i, j) = detail::fl_multiply(
          detail::fl_multiply(e.d(i, j), (*second.b)(0, 0)), (*second.a)(i, 0));
    }
  }
  const auto a = identify_block_gemm(e, second);
  ASSERT_TRUE(a.exact);
  EXPECT_EQ(values(a.found, "second level"),
            std::vector<std::string>{"fl(fl(acc*tb)*ta)"});
  EXPECT_TRUE(a.found.names.empty());  // the recipe multiplies by fl(ta*tb)
}

TEST(IdentifyBlockGemm, AWrongBitIsNoneAndTheNearestIsNamed) {
  const auto p = parse_block_recipe("mxfp8", e4m3, e4m3).path;
  auto e = operands_of_blocks(p, 3);
  multiply(p, e);
  e.d(5, 7) ^= 1;
  const auto a = identify_block_gemm(e, {});
  EXPECT_FALSE(a.exact);
  EXPECT_FALSE(a.is_near);
  EXPECT_EQ(a.nearest, "mxfp8");
  EXPECT_EQ(a.best.differ(), 1u);
  ASSERT_TRUE(a.first.has_value());
  EXPECT_EQ(a.first->i, 5);
  EXPECT_EQ(a.first->j, 7);
}

TEST(IdentifyBlockGemm, CIsFoundAndWhereMuchFitsSomeOutputsAreEnough) {
  const auto p = parse_block_recipe("mxfp4", e2m1, e2m1).path;
  auto e = operands_of_blocks(p, 4);
  multiply(p, e);
  counter_rng rng(8, 0);
  e.c = grid(e.d.rows, e.d.cols);
  for (auto& word : e.c->words) word = 0x43000000 + rng.below(1u << 24);
  for (std::size_t i = 0; i < e.d.words.size(); ++i) {
    e.d.words[i] = static_cast<std::uint32_t>(
        recode(fp32, detail::fl_add(e.d.words[i], e.c->words[i]), bf16, {},
               cuda_nosat));
  }
  e.output = bf16;  // it hides nearly all
  const auto a = identify_block_gemm(e, {}, 2e7);
  EXPECT_TRUE(a.is_near);
  EXPECT_FALSE(a.exact);
  EXPECT_EQ(a.best.differ(), 0u);
  EXPECT_LT(a.best.count, e.d.words.size());
  EXPECT_TRUE(has(a.found.names, "mxfp4"));
  EXPECT_EQ(values(a.found, "epilogue"), std::vector<std::string>{"fl(acc+C)"});
}

TEST(IdentifyBlockGemm, ShapesThatDoNotFitAreRefused) {
  const auto p = parse_block_recipe("nvfp4", e2m1, e2m1).path;
  auto e = operands_of_blocks(p, 2);
  EXPECT_THROW(identify_block_gemm(e, {grid(3, 1), {}, "t.npy", ""}),
               input_error);
  e.d = grid(2, 2);
  EXPECT_THROW(identify_block_gemm(e, {}), input_error);
  e.a.scales = grid(12, 5);
  EXPECT_FALSE(has_block_scales(e));
}

}  // namespace
}  // namespace zeroulp::fuzz
