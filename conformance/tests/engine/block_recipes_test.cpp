// GEMMs with block scales: the engine against the oracle's chain and the host's
// FP32 (SPEC G14), given scales of the second level, and the C ABI.

#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/oracles/nearest_code.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"
#include "conformance/oracles/rational_step.hpp"
#include "zeroulp/block_scaled.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/random.hpp"
#include "zeroulp/zeroulp.h"

namespace zeroulp {
namespace {

using byte_list = std::vector<std::uint8_t>;
using words = std::vector<std::uint32_t>;

/// A matrix of FP32 numbers of some binades, quantized for a recipe.
struct quantized_operand {
  std::ptrdiff_t rows, k;
  words x;
  byte_list codes;
  byte_list scales;
  words second;
  std::ptrdiff_t blocks;

  quantized_operand(const block_quantizer& q, std::ptrdiff_t m,
                    std::ptrdiff_t depth, std::uint64_t seed)
      : rows(m),
        k(depth),
        x(static_cast<std::size_t>(m * depth)),
        codes(x.size()),
        blocks(ceil_div(depth, q.how.block)) {
    counter_rng rng(seed, 0);
    for (auto& number : x) {
      number = (118 + rng.below(12)) << 23 | (rng.next32() & 0x807fffff);
    }
    scales.resize(static_cast<std::size_t>(m * blocks));
    second.resize(q.level == second_level::none     ? 0u
                  : q.level == second_level::tensor ? 1u
                                                    : static_cast<unsigned>(m));
    const auto levels = static_cast<std::ptrdiff_t>(second.size());
    engine::quantize_blocks(q, matrix_view<const std::uint32_t>(x.data(), m, k),
                            matrix_view<std::uint8_t>(codes.data(), m, k),
                            {scales.data(), m, blocks},
                            {second.data(), levels, 1});
  }

  matrix_view<const std::uint32_t> second_view() const {
    if (second.empty()) return {};
    return {second.data(), static_cast<std::ptrdiff_t>(second.size()), 1};
  }
  float second_of(std::ptrdiff_t i) const {
    if (second.empty()) return 1;
    return oracle::to_float(
        second[second.size() == 1 ? 0 : static_cast<std::size_t>(i)]);
  }
  template <class T>
  static std::vector<std::uint64_t> part(const std::vector<T>& from,
                                         std::ptrdiff_t first,
                                         std::ptrdiff_t count) {
    return {from.begin() + first, from.begin() + first + count};
  }
};

/// The oracle's chain of row i of A and row j of B, from +0.
std::uint32_t chain_of(const block_scaled_path& p, const quantized_operand& a,
                       std::ptrdiff_t i, const quantized_operand& b,
                       std::ptrdiff_t j) {
  const auto x = a.part(a.codes, i * a.k, a.k);
  const auto y = b.part(b.codes, j * b.k, b.k);
  const auto sx = a.part(a.scales, i * a.blocks, a.blocks);
  const auto sy = b.part(b.scales, j * b.blocks, b.blocks);
  std::uint64_t d = 0;
  for (std::ptrdiff_t at = 0; at < a.k; at += p.length()) {
    d = oracle::rational_step(
        p, x.data() + at, y.data() + at, sx.data() + at / p.block,
        sy.data() + at / p.block,
        static_cast<int>(std::min<std::ptrdiff_t>(p.length(), a.k - at)), d);
  }
  return static_cast<std::uint32_t>(d);
}

/// G14 and G8 on the host.
std::uint32_t finished(const block_recipe& r, std::uint32_t acc, float ta,
                       float tb, bool scaled, std::uint32_t c) {
  float d = oracle::to_float(acc);
  if (scaled) d = d * (ta * tb);
  if (r.end == epilogue::accumulate) d = d + oracle::to_float(c);
  if (r.output == fp32) return oracle::to_bits(d);
  return static_cast<std::uint32_t>(
      oracle::nearest_code(bf16, static_cast<double>(d), 1, cuda_nosat));
}

struct recipe_case {
  const named_block_recipe& row;
  second_level a, b;
  std::ptrdiff_t k;
  bool accumulate;
  format output;
};

void expect_the_oracles(const recipe_case& x) {
  const auto convention = parse_block_convention(x.row.convention).value;
  const format fa = x.row.takes.front();
  const format fb = x.row.takes.back();
  const quantized_operand a({fp32, fa, convention, x.a}, 3, x.k, 1);
  const quantized_operand b({fp32, fb, convention, x.b}, 5, x.k, 2);
  block_recipe r = parse_block_recipe(x.row.name, fa, fb);
  r.output = x.output;
  if (x.accumulate) r.end = epilogue::accumulate;
  words c(15);
  counter_rng rng(9, 9);
  for (auto& number : c) number = 0x3f000000 + (rng.next32() & 0x80ffffff);
  words d(15);
  matrix_view<const std::uint32_t> addend;
  if (x.accumulate) addend = {c.data(), 3, 5};
  const prepared_operand left(
      fa, matrix_view<const std::uint8_t>(a.codes.data(), 3, x.k));
  const prepared_operand right(
      fb, matrix_view<const std::uint8_t>(b.codes.data(), 5, x.k));
  engine::gemm(r, {left, {a.scales.data(), 3, a.blocks}, a.second_view()},
               {right, {b.scales.data(), 5, b.blocks}, b.second_view()}, addend,
               {d.data(), 3, 5});
  const bool scaled = x.k > 0 && !(a.second.empty() && b.second.empty());
  for (std::ptrdiff_t i = 0; i < 3; ++i) {
    for (std::ptrdiff_t j = 0; j < 5; ++j) {
      const auto at = static_cast<std::size_t>(i * 5 + j);
      ASSERT_EQ(d[at], finished(r, chain_of(r.path, a, i, b, j), a.second_of(i),
                                b.second_of(j), scaled, c[at]))
          << x.row.name << " K = " << x.k << " (" << i << ", " << j << ")";
    }
  }
}

TEST(BlockRecipes, AreTheChainTimesTheSecondLevel) {
  for (const auto& row : all_block_recipes()) {
    const int levels = row.level == second_level::none ? 1 : 3;
    for (int n = 0; n < levels * levels; ++n) {
      for (const std::ptrdiff_t k : {0, 7, 64, 200}) {
        const auto a = static_cast<second_level>(n % levels);
        const auto b = static_cast<second_level>(n / levels);
        expect_the_oracles({row, a, b, k, false, fp32});
        expect_the_oracles({row, a, b, k, true, bf16});
      }
    }
  }
}

TEST(BlockRecipes, RefuseWhatTheyDoNotTake) {
  EXPECT_THROW(parse_block_recipe("mxfp5", e4m3, e4m3), input_error);
  EXPECT_THROW(parse_block_recipe("nvfp4", e2m1, e4m3), input_error);
  EXPECT_THROW(parse_block_recipe("mxfp8", e2m1, e4m3), input_error);
  EXPECT_THROW(parse_block_convention("nvfp5"), input_error);
}

TEST(BlockRecipes, GivenScalesOfTheSecondLevelAreTaken) {
  const auto how = parse_block_convention("torchao.nvfp4").value;
  const block_quantizer q{fp32, e2m1, how, second_level::row};
  const quantized_operand x(q, 4, 40, 5);
  byte_list codes(x.codes.size());
  byte_list scales(x.scales.size());
  engine::quantize_blocks_by_second(
      q, matrix_view<const std::uint32_t>(x.x.data(), 4, 40), x.second_view(),
      matrix_view<std::uint8_t>(codes.data(), 4, 40),
      {scales.data(), 4, x.blocks});
  EXPECT_EQ(codes, x.codes);  // its rules take t alone
  EXPECT_EQ(scales, x.scales);
}

TEST(BlockRecipes, TheCAbiIsTheEngine) {
  const auto how = parse_block_convention("transformer_engine.nvfp4").value;
  const quantized_operand x({fp32, e2m1, how, second_level::row}, 5, 40, 4);
  zeroulp_format from{};
  zeroulp_format to{};
  ASSERT_EQ(zeroulp_format_from_name("fp32", &from), ZEROULP_OK);
  ASSERT_EQ(zeroulp_format_from_name("e2m1", &to), ZEROULP_OK);
  byte_list codes(x.codes.size());
  byte_list scales(x.scales.size());
  words second(5);
  const zeroulp_const_matrix in{x.x.data(), 5, 40, 40, 1, 4};
  const zeroulp_matrix out{codes.data(), 5, 40, 40, 1, 1};
  const zeroulp_matrix by{scales.data(), 5, x.blocks, x.blocks, 1, 1};
  const zeroulp_matrix level{second.data(), 5, 1, 1, 1, 4};
  const auto quantize = [&](const char* name, std::int32_t second_level,
                            std::int32_t largest) {
    return zeroulp_quantize_blocks(name, &from, &to, second_level, largest, &in,
                                   &out, &by, &level);
  };
  ASSERT_EQ(quantize("transformer_engine.nvfp4", ZEROULP_SECOND_ROW, 448),
            ZEROULP_OK)
      << zeroulp_last_error();
  EXPECT_EQ(codes, x.codes);
  EXPECT_EQ(scales, x.scales);
  EXPECT_EQ(second, x.second);
  EXPECT_EQ(quantize("transformer_engine", 2, 448), ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(quantize(nullptr, 2, 448), ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(quantize("nvfp4", 1, 448), ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(quantize("nvfp4", 3, 448), ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(quantize("nvfp4", 2, 449), ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(quantize("mx.floor", 0, 448), ZEROULP_INVALID_ARGUMENT);

  const zeroulp_operand operand{to,
                                {codes.data(), 5, 40, 40, 1, 1},
                                {scales.data(), 5, x.blocks, x.blocks, 1, 1}};
  const zeroulp_const_matrix ta{second.data(), 5, 1, 1, 1, 4};
  words d(25);
  const zeroulp_matrix result{d.data(), 5, 5, 5, 1, 4};
  ASSERT_EQ(zeroulp_gemm_block_scaled("nvfp4", &operand, &ta, &operand, nullptr,
                                      nullptr, &from, &result),
            ZEROULP_OK)
      << zeroulp_last_error();
  const auto r = parse_block_recipe("nvfp4", e2m1, e2m1);
  for (std::ptrdiff_t i = 0; i < 25; ++i) {
    EXPECT_EQ(d[static_cast<std::size_t>(i)],
              finished(r, chain_of(r.path, x, i / 5, x, i % 5),
                       x.second_of(i / 5), 1, true, 0));
  }
  EXPECT_EQ(zeroulp_gemm_block_scaled("mxfp4", &operand, &ta, &operand, nullptr,
                                      nullptr, &from, &result),
            ZEROULP_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace zeroulp
