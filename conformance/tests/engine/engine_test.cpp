// The compiled library and the Eigen boundary give the core's bits, with each
// set of vector instructions and any number of threads.

#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/tests/engine/engine_calls.hpp"
#include "conformance/tests/level.hpp"
#include "fuzz/engine/campaign.hpp"
#include "src/gemm/chain_plan.hpp"
#include "zeroulp/eigen.hpp"
#include "zeroulp/random.hpp"
#include "zeroulp/simd.hpp"
#include "zeroulp/zeroulp.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

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

void set_threads([[maybe_unused]] int count) {
#ifdef _OPENMP
  omp_set_num_threads(count);
#endif
}

/// Runs with each set of vector instructions in turn.
class Simd : public testing::TestWithParam<engine::simd> {
 protected:
  void SetUp() override { engine::use_simd(GetParam()); }
  void TearDown() override {
    engine::use_simd(engine::supported_simd().back());
  }
};

std::string name_of_set(const testing::TestParamInfo<engine::simd>& of) {
  return engine::named_simds[static_cast<std::size_t>(of.param)].name;
}

INSTANTIATE_TEST_SUITE_P(Sets, Simd,
                         testing::ValuesIn(engine::supported_simd()),
                         name_of_set);

TEST_P(Simd, GemmEqualsTheCoreForEveryRecipeAndFamily) {
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

TEST_P(Simd, GemmEqualsTheCoreAcrossTiles) {
  for (const auto& named : named_recipes) {
    if (named.value.acc == exact_f32 && test::level() == 0) continue;
    const auto out =
        run_both(named.value, e4m3, e5m2, family::finite, 131, 66, 160, 77);
    ASSERT_EQ(out.engine, out.core) << named.name;
  }
}

TEST_P(Simd, CasesOfTheCaseEngineGiveTheCoresBits) {
  using fuzz::target;
  for (const auto t : {target::encode, target::step, target::quantize,
                       target::pack, target::retile, target::gemm}) {
    fuzz::campaign c;
    c.what = t;
    c.left = fuzz::core_opponent();
    c.right = fuzz::parse_opponent("engine", c.what);
    c.cases = test::level() == 0 ? 200 : 4000;
    const auto result = fuzz::run(c);
    EXPECT_FALSE(result.first_mismatch)
        << fuzz::info_of(c.what).name << " case " << *result.first_mismatch;
  }
}

// What kills the mutants of the fast paths holds them, too.
TEST_P(Simd, CasesThatKillMutantsGiveTheCoresBits) {
  using namespace conformance;
  static const auto cases = [] {
    engine_case_list all;
    for (const auto& list :
         {chain_cases(), kernel_cases(), gemm_cases(), array_cases(),
          quantize_cases(), retile_cases(), refusal_cases()}) {
      all.insert(all.end(), list.begin(), list.end());
    }
    return all;
  }();
  const engine_calls library = compiled_calls();
  for (const auto& c : cases) {
    EXPECT_EQ(c.difference(library), "") << c.name;
  }
}

/// Codes of any kind, in 32 bits.
std::vector<std::uint32_t> any_codes(format f, int kind, std::uint64_t seed,
                                     std::size_t count) {
  std::vector<std::uint32_t> codes(count);
  for (std::size_t i = 0; i < count; ++i) {
    counter_rng rng{seed, i};
    auto code = static_cast<std::uint32_t>(rng.next() & low_bits(f.bits()));
    if (kind > 0 && !decode(f, code).is_finite()) code = 0;
    if (kind == 1 && !rng.one_in(4)) {
      code &= static_cast<std::uint32_t>(f.sign_mask());
    }
    if (kind == 2) {  // subnormal and just above
      code &=
          static_cast<std::uint32_t>(f.sign_mask() | low_bits(f.man_bits + 1));
    }
    codes[i] = code;
  }
  return codes;
}

/// An addend: of any magnitude, often a zero of either sign or tiny.
std::uint32_t any_addend(format f, std::uint64_t seed, std::uint64_t i) {
  counter_rng rng{seed, i};
  const auto code = static_cast<std::uint32_t>(rng.next());
  const auto sign = static_cast<std::uint32_t>(f.sign_mask());
  switch (rng.below(4)) {
    case 0:
      return code & sign;
    case 1:
      return code & (sign | 0xff);
    case 2:
      return static_cast<std::uint32_t>(
          encode(f, decode(static_cast<float>(rng.below(512)) / 8 - 32)));
    default:
      return code & static_cast<std::uint32_t>(low_bits(f.bits()));
  }
}

struct shape {
  std::ptrdiff_t m, n, k;
};

void expect_core_chain(const path& p, int kind, shape s, const char* name) {
  const auto count = [](std::ptrdiff_t rows, std::ptrdiff_t cols) {
    return static_cast<std::size_t>(rows * cols);
  };
  const auto a = any_codes(p.a, kind, 1, count(s.m, s.k));
  const auto b = any_codes(p.b, kind, 2, count(s.n, s.k));
  std::vector<std::uint32_t> c(count(s.m, s.n));
  for (std::size_t i = 0; i < c.size(); ++i) {
    c[i] = any_addend(p.acc.stored, 3, i);
  }
  std::vector<std::uint32_t> expected(c.size());
  for (std::ptrdiff_t i = 0; i < s.m; ++i) {
    for (std::ptrdiff_t j = 0; j < s.n; ++j) {
      const auto at = static_cast<std::size_t>(i * s.n + j);
      const decoded_row<std::uint32_t> row{a.data() + i * s.k, 1, p.a};
      const decoded_row<std::uint32_t> col{b.data() + j * s.k, 1, p.b};
      expected[at] =
          static_cast<std::uint32_t>(chain(p, row, col, 0, s.k, c[at]));
    }
  }
  for (const auto set : engine::supported_simd()) {
    engine::use_simd(set);
    std::vector<std::uint32_t> d(c.size());
    engine::multiply(
        p, {p.a, matrix_view<const std::uint32_t>(a.data(), s.m, s.k)},
        {p.b, matrix_view<const std::uint32_t>(b.data(), s.n, s.k)},
        {c.data(), s.m, s.n}, {d.data(), s.m, s.n});
    ASSERT_EQ(d, expected) << name << " kind " << kind << ", " << s.m << " x "
                           << s.n << " x " << s.k << ", set "
                           << static_cast<int>(set);
  }
}

std::vector<path> paths_of(const path_family& row) {
  std::vector<path> all;
  for (const auto& [a, b] : operand_pairs(row.takes)) {
    all.push_back({a, b, row.acc, row.lowering});
  }
  return all;
}

TEST(Engine, TheChainOfEveryPathIsTheCores) {
  for (const auto& row : path_families) {
    for (const auto& p : paths_of(row)) {
      for (int kind = 0; kind < 4; ++kind) {
        expect_core_chain(p, kind, {5, 3, 37}, row.name);
        expect_core_chain(p, kind, {3, 70, 64}, row.name);
      }
      // Several tiles on both sides, also ragged ones.
      if (test::level() > 0 && row.acc.fraction_bits != uncut) {
        expect_core_chain(p, 3, {66, 130, 33}, row.name);
      }
    }
  }
}

TEST(Engine, AccumulatorsOfAnyLengthAndFractionGiveTheCoresBits) {
  for (const int length : {1, 3, 4, 16, 31, 32, 64}) {
    for (const int fraction : {0, 7, 13, 15, 16, 23, 30, 44}) {
      for (const int floor : {int{no_floor}, -133, -21, 3}) {
        accumulator acc = what_if_fraction(std::max(fraction, 8));
        acc.length = static_cast<std::int16_t>(length);
        acc.fraction_bits = static_cast<std::int16_t>(fraction);
        acc.exponent_floor = static_cast<std::int16_t>(floor);
        expect_core_chain({e4m3, e5m2, acc}, 3, {3, 5, 70}, "e4m3.e5m2");
        expect_core_chain({bf16, bf16, acc}, 3, {3, 5, 70}, "bf16.bf16");
      }
    }
  }
}

TEST(Engine, ThreadsChangeNoBit) {
  const auto a = make_codes(family::finite, e4m3, 1, 300 * 256);
  const auto b = make_codes(family::finite, e4m3, 2, 270 * 256);
  const prepared_operand x(e4m3,
                           matrix_view<const std::uint8_t>(a.data(), 300, 256));
  const prepared_operand y(e4m3,
                           matrix_view<const std::uint8_t>(b.data(), 270, 256));
  const auto run = [&](int threads) {
    set_threads(threads);
    std::vector<std::uint32_t> d(300 * 270);
    engine::gemm(cublaslt_tensorwise_recipe, x, {}, y, {}, {},
                 {d.data(), 300, 270});
    return d;
  };
  const auto one = run(1);
  for (int threads = 2; threads <= 8; ++threads) {
    EXPECT_EQ(run(threads), one) << threads;
  }
  set_threads(2);
}

TEST(Engine, AnInfiniteRowLeavesTheOthersToTheKernels) {
  std::vector<std::uint8_t> a(70 * 64, 0x38);
  a[64 * 3 + 7] = 0x7c;  // E5M2's Inf in row 3
  const std::vector<std::uint8_t> b(2 * 64, 0x38);
  const prepared_operand x(e5m2,
                           matrix_view<const std::uint8_t>(a.data(), 70, 64));
  EXPECT_TRUE(x.is_special(3));
  EXPECT_FALSE(x.is_special(4));
  std::vector<std::uint32_t> d(70 * 2);
  engine::multiply({e5m2, e5m2, hopper_fp8_f32}, x,
                   {e5m2, matrix_view<const std::uint8_t>(b.data(), 2, 64)}, {},
                   {d.data(), 70, 2});
  for (std::size_t i = 0; i < d.size(); ++i) {
    EXPECT_EQ(d[i], i / 2 == 3 ? fp32_infinity : 0x41800000u) << i;
  }
}

TEST(Engine, EachTensorCorePathHasAKernel) {
  for (const auto& row : path_families) {
    const bool what_if = std::string_view(row.name).starts_with("whatif");
    for (const auto& p : paths_of(row)) {
      const auto plan = plan_chain(p, 64);
      EXPECT_EQ(
          plan.by == chain_plan::kernel::core,
          what_if || (p.acc == exact_f32 && !is_exact_in_double(p.a, p.b, 64)))
          << row.name;
    }
  }
  EXPECT_FALSE(plan_chain(hopper_wgmma_e4m3, 64).rule.wide);
}

TEST(Engine, RefusesCodesNarrowerThanTheirFormat) {
  const std::vector<std::uint8_t> codes(4);
  EXPECT_THROW(prepared_operand(
                   bf16, matrix_view<const std::uint8_t>(codes.data(), 2, 2)),
               input_error);
}

TEST(Engine, FormatsWhoseResultsLeaveTheNormalRangeTakeTheCore) {
  for (const int bias : {-100, -60, -1, 15, 60, 140}) {
    const format f{5, 2, static_cast<std::int16_t>(bias), specials::ieee};
    const auto out = run_both(unpromoted_recipe, f, f, family::any_code, 4, 4,
                              64, static_cast<std::uint64_t>(bias + 999));
    ASSERT_EQ(out.engine, out.core) << "bias " << bias;
  }
}

// G12
TEST(Engine, RecipesTakeHoppersAccumulatorOfTheOperands) {
  const auto& r = unpromoted_recipe;
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
  const auto& r = cublaslt_1x128_128x128_recipe;
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
  const auto& r = row_named(named_recipes, "deepgemm.1d2d");
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

TEST(Eigen, TakesTheConventionsScalesAndRefusesOthers) {
  const Eigen::MatrixXf x = Eigen::MatrixXf::Constant(3, 130, 1.1f);
  const auto how = parse_convention("transformer_engine").value;
  auto q = eigen::quantize(x, e4m3, {1, 128}, how);
  EXPECT_EQ(q.scales(0, 0), pow2_as_fp32(-8));
  EXPECT_NE(
      q.scales,
      eigen::quantize(x, e4m3, {1, 128}, how, scale_kind::float32).scales);
  q.scales.resize(1, 1);
  EXPECT_THROW(eigen::dequantize(q), input_error);
  EXPECT_THROW(eigen::retile(q, e4m3, scale_kind::pow2), input_error);
  EXPECT_THROW(eigen::quantize(x, e4m3, {-1, 128}), input_error);
}

}  // namespace
}  // namespace zeroulp
