// The compiled GEMM and the Eigen boundary give the core's bits.

#include <gtest/gtest.h>

#include "fast_chain.hpp"
#include "zeroulp/eigen.hpp"
#include "zeroulp/random.hpp"
#include "zeroulp/zeroulp.hpp"

namespace zeroulp {
namespace {

std::uint64_t bits_at(std::uint64_t seed, std::uint64_t index) {
  return counter_rng{seed, index}.next();
}

/// How the operands of a case are drawn.
enum class family { any_code, finite, sparse, far_apart };

std::vector<std::uint8_t> make_codes(family kind, format f, std::uint64_t seed,
                                     std::size_t count) {
  std::vector<std::uint8_t> codes(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t r = bits_at(seed, i);
    std::uint64_t code = r & 0xff;
    if (kind != family::any_code && !decode(f, code).is_finite()) code = 0x38;
    if (kind == family::sparse && (r >> 8) % 8 != 0) code &= 0x80;
    if (kind == family::far_apart) {
      code = (r & 0x83) | ((r >> 9) % 2 == 0 ? 0x08 : 0x70);
    }
    codes[i] = static_cast<std::uint8_t>(code);
  }
  return codes;
}

struct outputs {
  std::vector<std::uint32_t> engine;
  std::vector<std::uint32_t> core;
};

outputs run_both(const recipe& r, format fa, format fb, family kind,
                 std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k,
                 std::uint64_t seed) {
  const auto a = make_codes(kind, fa, seed, static_cast<std::size_t>(m * k));
  const auto b =
      make_codes(kind, fb, seed + 1, static_cast<std::size_t>(n * k));
  const matrix_view<const std::uint8_t> va(a.data(), m, k);
  const matrix_view<const std::uint8_t> vb(b.data(), n, k);
  const auto groups = [](std::ptrdiff_t size, std::int32_t g) {
    return g > 0 ? ceil_div(size, g) : 1;
  };
  const auto make_scales = [&](std::ptrdiff_t rows, granularity g,
                               std::uint64_t s) {
    std::vector<std::uint32_t> scales(
        static_cast<std::size_t>(groups(rows, g.mn) * groups(k, g.k)));
    for (std::size_t i = 0; i < scales.size(); ++i) {
      scales[i] = 0x3c000000u + (bits_at(s, i) & 0x07ffffffu);
    }
    return scales;
  };
  const auto sa = make_scales(m, r.a, seed + 2);
  const auto sb = make_scales(n, r.b, seed + 3);
  const matrix_view<const std::uint32_t> vsa(sa.data(), groups(m, r.a.mn),
                                             groups(k, r.a.k));
  const matrix_view<const std::uint32_t> vsb(sb.data(), groups(n, r.b.mn),
                                             groups(k, r.b.k));
  std::vector<std::uint32_t> c(static_cast<std::size_t>(m * n), 0x3f800001u);
  const matrix_view<const std::uint32_t> vc(c.data(), m, n);
  outputs out{c, c};
  engine::gemm(r, {fa, va}, vsa, {fb, vb}, vsb, vc, {out.engine.data(), m, n});
  gemm(r, gemm_operand<std::uint8_t>{fa, va, vsa},
       gemm_operand<std::uint8_t>{fb, vb, vsb}, vc,
       matrix_view<std::uint32_t>(out.core.data(), m, n));
  return out;
}

TEST(Engine, GemmEqualsTheCoreForEveryRecipeAndFamily) {
  std::uint64_t seed = 1;
  for (const auto& named : named_recipes) {
    for (const family kind : {family::any_code, family::finite, family::sparse,
                              family::far_apart}) {
      for (const auto& [fa, fb] :
           {std::pair{e4m3, e4m3}, {e4m3, e5m2}, {e5m2, e4m3}, {e5m2, e5m2}}) {
        for (const std::ptrdiff_t k : {0, 1, 31, 33, 200, 513}) {
          seed += 10;
          const auto out = run_both(named.value, fa, fb, kind, 3, 5, k, seed);
          ASSERT_EQ(out.engine, out.core) << named.name << " K = " << k;
        }
      }
    }
  }
}

TEST(Engine, FormatsThatTheFastChainDoesNotCoverTakeTheCore) {
  EXPECT_TRUE(has_fast_chain(hopper_wgmma_e4m3));
  EXPECT_FALSE(has_fast_chain({e4m3, e4m3, what_if_fraction(12)}));
  EXPECT_FALSE(has_fast_chain({bf16, bf16, hopper_half_f32}));
  EXPECT_FALSE(
      has_fast_chain({e4m3, e4m3, hopper_fp8_f32, lowering::hmma_chained}));
}

TEST(Engine, FormatsWhoseResultsLeaveTheNormalRangeTakeTheCore) {
  for (const int bias : {-100, -60, -1, 15, 60, 140}) {
    const format f{5, 2, static_cast<std::int16_t>(bias), specials::ieee};
    const auto out = run_both(named_recipes[0].value, f, f, family::any_code, 4,
                              4, 64, static_cast<std::uint64_t>(bias + 999));
    ASSERT_EQ(out.engine, out.core) << "bias " << bias;
  }
}

// G12
TEST(Engine, RecipesTakeHoppersAccumulatorOfTheOperands) {
  const auto& r = named_recipes[0].value;
  EXPECT_EQ(engine::for_operands(r, e4m3, e5m2).acc, hopper_fp8_f32);
  EXPECT_EQ(engine::for_operands(r, bf16, bf16).acc, hopper_half_f32);
  EXPECT_EQ(engine::for_operands(r, fp16, fp16).acc, hopper_half_f32);
  EXPECT_THROW(engine::for_operands(r, e5m6, e5m6), input_error);
  EXPECT_THROW(engine::for_operands(r, bf16, fp16), input_error);
}

TEST(Engine, ExactProductsOfE4m3EqualFp64) {
  const auto a = make_codes(family::finite, e4m3, 7, 4 * 1000);
  const auto b = make_codes(family::finite, e4m3, 8, 3 * 1000);
  const auto value = [](std::uint8_t code) {
    return to_double(decode(e4m3, code));
  };
  using bytes = eigen::row_major<std::uint8_t>;
  const Eigen::MatrixXd x =
      Eigen::Map<const bytes>(a.data(), 4, 1000).unaryExpr(value);
  const Eigen::MatrixXd y =
      Eigen::Map<const bytes>(b.data(), 3, 1000).unaryExpr(value);
  const eigen::row_major<double> expected = x * y.transpose();
  eigen::row_major<double> out(4, 3);
  engine::exact_products(
      {e4m3, matrix_view<const std::uint8_t>(a.data(), 4, 1000)},
      {e4m3, matrix_view<const std::uint8_t>(b.data(), 3, 1000)},
      eigen::view_of(out));
  EXPECT_EQ(out, expected);
}

TEST(Engine, ExactProductsOfAnyFormatAreRoundedOnce) {
  // 2^127 * 2^127 - 2^127 * 2^127 + 1 needs more than FP64 has.
  const std::vector<std::uint16_t> a{0x7f00, 0x7f00, 0x3f80};
  const std::vector<std::uint16_t> b{0x7f00, 0xff00, 0x3f80};
  double out = 0;
  engine::exact_products(
      {bf16, matrix_view<const std::uint16_t>(a.data(), 1, 3)},
      {bf16, matrix_view<const std::uint16_t>(b.data(), 1, 3)}, {&out, 1, 1});
  EXPECT_EQ(out, 1.0);
}

TEST(Engine, RefusesScalesOfAnotherShape) {
  const std::vector<std::uint8_t> codes(256, 0x38);
  const prepared_operand x(
      e4m3, matrix_view<const std::uint8_t>(codes.data(), 1, 256));
  const std::vector<std::uint32_t> scales(3, fp32_one);
  std::uint32_t d = 0;
  const auto& r = named_recipes[2].value;
  EXPECT_THROW(engine::gemm(r, x, {scales.data(), 1, 3}, x,
                            {scales.data(), 1, 2}, {}, {&d, 1, 1}),
               input_error);
}

TEST(Eigen, QuantizedGemmIsTheCoreOnAnyStorageOrder) {
  Eigen::MatrixXf x(5, 300);
  Eigen::MatrixXf w(130, 300);
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    x(i) =
        static_cast<float>(bits_at(3, static_cast<std::uint64_t>(i)) % 1999) -
        999.f;
  }
  for (Eigen::Index i = 0; i < w.size(); ++i) {
    w(i) = static_cast<float>(bits_at(4, static_cast<std::uint64_t>(i)) % 201) -
           100.f;
  }
  const auto qx = eigen::quantize(x, e4m3, {1, 128});
  const auto qw = eigen::quantize(w, e4m3, {128, 128});
  const eigen::row_major<float> row_major_x = x;
  EXPECT_EQ(qx.codes, eigen::quantize(row_major_x, e4m3, {1, 128}).codes);
  const auto& r = named_recipes[4];
  ASSERT_STREQ(r.name, "deepgemm.1d2d");
  const auto d = eigen::gemm(qx, qw, r.value);
  eigen::row_major<std::uint32_t> expected(5, 130);
  gemm(r.value,
       gemm_operand<std::uint32_t>{e4m3, eigen::view_of(qx.codes),
                                   eigen::view_of(qx.scales)},
       gemm_operand<std::uint32_t>{e4m3, eigen::view_of(qw.codes),
                                   eigen::view_of(qw.scales)},
       {}, eigen::view_of(expected));
  for (Eigen::Index i = 0; i < d.size(); ++i) {
    ASSERT_EQ(recode(fp32, bit_cast<std::uint32_t>(d(i)), bf16), expected(i));
  }
  const auto qt = eigen::retile(qx, e4m3, scale_kind::float32);
  EXPECT_EQ(qt.codes.rows(), 300);
  EXPECT_THROW(eigen::gemm(qx, qx, r.value), input_error);
}

}  // namespace
}  // namespace zeroulp
