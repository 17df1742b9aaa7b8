// The product with block scales: the engine against the oracle's chain, and the
// C ABI against the engine.

#include "zeroulp/block_scaled.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/oracles/rational_step.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/random.hpp"
#include "zeroulp/simd.hpp"
#include "zeroulp/zeroulp.h"

namespace zeroulp {
namespace {

template <class Code>
std::vector<Code> random_codes(std::ptrdiff_t count, std::uint32_t below,
                               std::uint64_t seed) {
  counter_rng rng(seed, 0);
  std::vector<Code> codes(static_cast<std::size_t>(count));
  for (auto& code : codes) code = static_cast<Code>(rng.below(below));
  return codes;
}

/// Operands of an m x n product.
struct scaled_product {
  const block_scaled_path& p;
  std::ptrdiff_t m, n, k;
  std::ptrdiff_t blocks = ceil_div(k, p.block);
  std::vector<std::uint8_t> a =
      random_codes<std::uint8_t>(m * k, 1u << p.unscaled.a.bits(), 1);
  std::vector<std::uint8_t> b =
      random_codes<std::uint8_t>(n * k, 1u << p.unscaled.b.bits(), 2);
  std::vector<std::uint8_t> scales_a = scales_of(m, 3);
  std::vector<std::uint8_t> scales_b = scales_of(n, 4);
  std::vector<std::uint32_t> c =
      random_codes<std::uint32_t>(m * n, 0x7f800000, 5);

  std::vector<std::uint8_t> scales_of(std::ptrdiff_t rows,
                                      std::uint64_t seed) const {
    auto scales = random_codes<std::uint8_t>(rows * blocks, 40, seed);
    const int first = p.scale == block_scale::power_of_two ? 107 : 36;
    for (auto& s : scales) s = static_cast<std::uint8_t>(s + first);
    return scales;
  }

  /// The oracle's chain of row i of A and row j of B.
  std::uint64_t expected(std::ptrdiff_t i, std::ptrdiff_t j) const {
    const auto wide = [](const std::vector<std::uint8_t>& x,
                         std::ptrdiff_t first, std::ptrdiff_t count) {
      return std::vector<std::uint64_t>(x.begin() + first,
                                        x.begin() + first + count);
    };
    const auto x = wide(a, i * k, k);
    const auto y = wide(b, j * k, k);
    const auto sx = wide(scales_a, i * blocks, blocks);
    const auto sy = wide(scales_b, j * blocks, blocks);
    std::uint64_t d = c[static_cast<std::size_t>(i * n + j)];
    for (std::ptrdiff_t at = 0; at < k; at += p.length()) {
      const std::ptrdiff_t block = at / p.block;
      d = oracle::rational_step(
          p, x.data() + at, y.data() + at, sx.data() + block, sy.data() + block,
          std::min<std::ptrdiff_t>(p.length(), k - at), d);
    }
    return d;
  }
};

std::vector<named_block_scaled_path> tested_paths() {
  auto paths = all_block_scaled_paths();
  paths.push_back(
      parse_block_scaled_path("whatif.block_scaled_f13.e4m3.e5m2.f32"));
  return paths;
}

TEST(BlockScaled, TheChainIsTheOracles) {
  for (const auto& named : tested_paths()) {
    const scaled_product x{named.value, 3, 5, 200};
    std::vector<std::uint32_t> d(15);
    engine::multiply(
        x.p,
        prepared_operand(x.p.unscaled.a,
                         matrix_view<const std::uint8_t>(x.a.data(), 3, 200)),
        {x.scales_a.data(), 3, x.blocks},
        prepared_operand(x.p.unscaled.b,
                         matrix_view<const std::uint8_t>(x.b.data(), 5, 200)),
        {x.scales_b.data(), 5, x.blocks}, {x.c.data(), 3, 5}, {d.data(), 3, 5});
    for (std::ptrdiff_t i = 0; i < 3; ++i) {
      for (std::ptrdiff_t j = 0; j < 5; ++j) {
        ASSERT_EQ(d[static_cast<std::size_t>(i * 5 + j)], x.expected(i, j))
            << named.name << " " << i << " " << j;
      }
    }
  }
}

/// Scales 2^(at most `spread`), numbers of c from 2^-27 to 2^32, and outputs by
/// which only the core knows: two with a NaN.
void expect_the_core(const block_scaled_path& p, int spread, bool from_c) {
  constexpr std::ptrdiff_t m = 150, n = 70, k = 300;
  scaled_product x{p, m, n, k};
  counter_rng rng(static_cast<std::uint64_t>(spread), 7);
  const int one = p.scale == block_scale::power_of_two ? 127 : 0x38;
  for (auto* scales : {&x.scales_a, &x.scales_b}) {
    for (auto& s : *scales) {
      s = static_cast<std::uint8_t>(one + rng.between(-spread, spread));
    }
  }
  x.scales_a[5] = 0xff;
  for (auto& c : x.c) {
    c = (100 + rng.below(60)) << 23 | (rng.next32() & 0x807fffff);
  }
  const auto multiplied = [&](engine::simd by) {
    const auto before = engine::current_simd();
    engine::use_simd(by);
    const prepared_operand a(p.unscaled.a,
                             matrix_view<const std::uint8_t>(x.a.data(), m, k));
    const prepared_operand b(p.unscaled.b,
                             matrix_view<const std::uint8_t>(x.b.data(), n, k));
    std::vector<std::uint32_t> d(m * n);
    matrix_view<const std::uint32_t> c;
    if (from_c) c = {x.c.data(), m, n};
    engine::multiply(p, a, {x.scales_a.data(), m, x.blocks}, b,
                     {x.scales_b.data(), n, x.blocks}, c, {d.data(), m, n});
    engine::use_simd(before);
    return d;
  };
  EXPECT_EQ(multiplied(engine::current_simd()),
            multiplied(engine::simd::reference))
      << spread << " " << from_c;
}

TEST(BlockScaled, TheKernelsAreTheCore) {
  for (const char* name : {"blackwell.tcgen05.mxf8f6f4.e4m3.e5m2.f32",
                           "blackwell.tcgen05.mxf8f6f4.e2m1.e3m2.f32",
                           "blackwell.tcgen05.mxf4.e2m1.e2m1.f32",
                           "blackwell.tcgen05.mxf4nvf4.e2m1.e2m1.f32",
                           "whatif.block_scaled_f13.e4m3.e4m3.f32"}) {
    const auto p = parse_block_scaled_path(name).value;
    for (const int spread : {2, 30, 52}) {
      expect_the_core(p, spread, spread == 30);
    }
  }
}

TEST(BlockScaled, TheCAbiTakesStridesAndNames) {
  for (const auto& named : tested_paths()) {
    const scaled_product x{named.value, 2, 3, 96};
    zeroulp_block_scaled_path p{};
    ASSERT_EQ(zeroulp_block_scaled_path_from_name(named.name.c_str(), &p),
              ZEROULP_OK);
    // B and its scales are given as columns.
    std::vector<std::uint8_t> b(x.b.size());
    std::vector<std::uint8_t> scales(x.scales_b.size());
    for (std::ptrdiff_t j = 0; j < 3; ++j) {
      for (std::ptrdiff_t k = 0; k < 96; ++k) {
        b[static_cast<std::size_t>(k * 3 + j)] =
            x.b[static_cast<std::size_t>(j * 96 + k)];
      }
      for (std::ptrdiff_t k = 0; k < x.blocks; ++k) {
        scales[static_cast<std::size_t>(k * 3 + j)] =
            x.scales_b[static_cast<std::size_t>(j * x.blocks + k)];
      }
    }
    const zeroulp_operand left{
        p.path.a,
        {x.a.data(), 2, 96, 96, 1, 1},
        {x.scales_a.data(), 2, x.blocks, x.blocks, 1, 1}};
    const zeroulp_operand right{p.path.b,
                                {b.data(), 3, 96, 1, 3, 1},
                                {scales.data(), 3, x.blocks, 1, 3, 1}};
    const zeroulp_const_matrix c{x.c.data(), 2, 3, 3, 1, 4};
    std::uint32_t out[6];
    const zeroulp_matrix d{out, 2, 3, 3, 1, 4};
    ASSERT_EQ(zeroulp_multiply_block_scaled(&p, &left, &right, &c, &d),
              ZEROULP_OK)
        << zeroulp_last_error();
    for (int i = 0; i < 6; ++i) {
      ASSERT_EQ(out[i], x.expected(i / 3, i % 3)) << named.name;
    }
  }
}

TEST(BlockScaled, WhatDoesNotFitIsRefused) {
  zeroulp_block_scaled_path p{};
  ASSERT_EQ(zeroulp_block_scaled_path_from_name(
                "blackwell.tcgen05.mxf4.e2m1.e2m1.f32", &p),
            ZEROULP_OK);
  const std::uint8_t zeros[64]{};
  zeroulp_operand x{p.path.a, {zeros, 1, 64, 64, 1, 1}, {zeros, 1, 2, 2, 1, 1}};
  std::uint32_t out = 0;
  const zeroulp_matrix d{&out, 1, 1, 1, 1, 4};
  const auto status = [&] {
    return zeroulp_multiply_block_scaled(&p, &x, &x, nullptr, &d);
  };
  EXPECT_EQ(status(), ZEROULP_OK) << zeroulp_last_error();
  const auto refuses = [&](auto change) {
    const auto path_before = p;
    const auto operand_before = x;
    change();
    EXPECT_EQ(status(), ZEROULP_INVALID_ARGUMENT);
    p = path_before;
    x = operand_before;
  };
  refuses([&] { p.block = 0; });
  refuses([&] { p.block = 24; });
  refuses([&] { p.block = 8; });
  refuses([&] { p.scale = 2; });
  refuses([&] { p.terms = ZEROULP_BLOCK_TERMS_PRODUCTS, p.scale = 1; });
  refuses([&] { p.reserved[4] = 1; });
  refuses([&] { p.path.accumulator.length = 0; });
  refuses([&] { p.path.accumulator.fraction_bits = ZEROULP_UNCUT; });
  refuses([&] { p.path.accumulator.renormalized = 1; });
  refuses([&] { x.scales.cols = 1; });
  refuses([&] { x.scales.data = nullptr; });
  refuses([&] { x.format.bias = 2; });
  EXPECT_THROW(parse_block_scaled_path("whatif.block_scaled_f35.e4m3.e4m3.f32"),
               input_error);
  EXPECT_THROW(parse_block_scaled_path("blackwell.tcgen05.mxf8f6f4.e4m3"),
               input_error);
}

}  // namespace
}  // namespace zeroulp
