// Each function of the C ABI gives what the C++ that it wraps gives.

#include <numeric>

#include "conformance/tests/c_abi/c_abi_parts.hpp"
#include "zeroulp/simd.hpp"
#include "zeroulp/spec_version.hpp"

namespace zeroulp {
namespace {

TEST(CAbi, VersionsAreThoseOfTheHeaderAndTheProject) {
  EXPECT_EQ(zeroulp_abi_version(), ZEROULP_ABI_VERSION);
  EXPECT_EQ(zeroulp_spec_version(), spec_version);
  EXPECT_STREQ(zeroulp_version(), ZEROULP_VERSION);
}

template <class Conversion>
void expect_encodes_like_the_core(format from, format to) {
  using source = typename Conversion::first_type;
  using target = typename Conversion::second_type;
  const auto f = c_format(from);
  const auto t = c_format(to);
  const auto x = any_codes<source>(from, 9, 31, from.man_bits);
  const auto random = any_codes<std::uint32_t>(fp32, 9, 31, 7);
  for (const auto& mode : named_roundings) {
    for (const auto& policy : named_policies) {
      zeroulp_policy p;
      ZEROULP_CALLS(zeroulp_policy_from_name(policy.name, &p));
      table<target> out(31, 9);
      const auto in = x.in();
      const auto bits = random.in();
      // The transpose of a row-major matrix, through its strides.
      const zeroulp_matrix transposed{out.data.data(), 9, 31, 1, 9,
                                      sizeof(target)};
      ZEROULP_CALLS(zeroulp_recode(&f, &in, &t, &transposed,
                                   static_cast<int>(mode.value), &p, &bits));
      for (std::ptrdiff_t i = 0; i < 9; ++i) {
        for (std::ptrdiff_t j = 0; j < 31; ++j) {
          ASSERT_EQ(out(j, i),
                    recode(from, x.view()(i, j), to,
                           {mode.value, random.view()(i, j)}, policy.value))
              << mode.name << ' ' << policy.name;
        }
      }
    }
  }
}

TEST(CAbi, RecodeEqualsTheCore) {
  expect_encodes_like_the_core<std::pair<std::uint32_t, std::uint8_t>>(fp32,
                                                                       e4m3);
  expect_encodes_like_the_core<std::pair<std::uint16_t, std::uint16_t>>(bf16,
                                                                        e5m6);
  expect_encodes_like_the_core<std::pair<std::uint8_t, std::uint32_t>>(e5m2,
                                                                       fp32);
  expect_encodes_like_the_core<std::pair<std::uint64_t, std::uint8_t>>(fp64,
                                                                       e5m2);
  expect_encodes_like_the_core<std::pair<std::uint16_t, std::uint64_t>>(fp16,
                                                                        fp64);
}

TEST(CAbi, RecodeTakesItsDefaultPolicyAndNeedsRandomBitsForStochasticOnly) {
  const auto f = c_format(fp32);
  const auto t = c_format(e4m3);
  const auto x = any_codes<std::uint32_t>(fp32, 5, 5, 3);
  table<std::uint8_t> out(5, 5);
  const auto in = x.in();
  const auto to = out.out();
  ZEROULP_CALLS(
      zeroulp_recode(&f, &in, &t, &to, ZEROULP_NEAREST_EVEN, nullptr, nullptr));
  for (std::size_t i = 0; i < 25; ++i) {
    EXPECT_EQ(out.data[i], recode(fp32, x.data[i], e4m3, {}, cuda_satfinite));
  }
}

template <class Code>
void expect_computes_like_the_core(format f) {
  const auto type = c_format(f);
  const auto a = any_codes<Code>(f, 4, 50, 1);
  const auto b = any_codes<Code>(f, 4, 50, 2);
  const auto c = any_codes<Code>(f, 4, 50, 3);
  const auto ma = a.in();
  const auto mb = b.in();
  const auto mc = c.in();
  for (int operation = ZEROULP_ADD; operation <= ZEROULP_SQUARE_ROOT;
       ++operation) {
    for (const rounding mode : {rounding::nearest_even, rounding::down}) {
      table<Code> out(4, 50);
      const auto to = out.out();
      const bool unary = operation == ZEROULP_SQUARE_ROOT;
      ZEROULP_CALLS(
          zeroulp_arithmetic(operation, &type, &ma, unary ? nullptr : &mb,
                             operation == ZEROULP_FMA ? &mc : nullptr, &to,
                             static_cast<int>(mode), nullptr, nullptr));
      for (std::size_t i = 0; i < out.data.size(); ++i) {
        const std::uint64_t x = a.data[i], y = b.data[i], z = c.data[i];
        const std::uint64_t expected[] = {
            add(f, x, y, {mode}),      subtract(f, x, y, {mode}),
            multiply(f, x, y, {mode}), fma(f, x, y, z, {mode}),
            divide(f, x, y, {mode}),   square_root(f, x, {mode})};
        ASSERT_EQ(out.data[i], expected[operation]) << operation;
      }
    }
  }
}

TEST(CAbi, ArithmeticEqualsTheCore) {
  expect_computes_like_the_core<std::uint8_t>(e4m3);
  expect_computes_like_the_core<std::uint16_t>(bf16);
  expect_computes_like_the_core<std::uint32_t>(fp32);
  expect_computes_like_the_core<std::uint64_t>(fp64);
}

TEST(CAbi, ArithmeticTakesBroadcastOperandsAndAPolicy) {
  const auto f = c_format(e4m3);
  const std::uint8_t x[] = {0x7e, 0x08, 0x31};
  const std::uint8_t two = 0x40;
  std::uint8_t out[3] = {};
  const zeroulp_const_matrix a{x, 1, 3, 3, 1, 1};
  const zeroulp_const_matrix b{&two, 1, 3, 0, 0, 1};
  const zeroulp_matrix to{out, 1, 3, 3, 1, 1};
  zeroulp_policy p;
  ZEROULP_CALLS(zeroulp_policy_from_name("ocp_nonsaturate", &p));
  ZEROULP_CALLS(zeroulp_arithmetic(ZEROULP_MULTIPLY, &f, &a, &b, nullptr, &to,
                                   ZEROULP_NEAREST_EVEN, &p, nullptr));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(out[i], multiply(e4m3, x[i], two, {}, ocp_nonsaturate));
  }
}

template <class Code>
void expect_steps_like_the_core(const named_path& named) {
  const path& p = named.value;
  zeroulp_path c_path;
  ZEROULP_CALLS(zeroulp_path_from_name(named.name.c_str(), &c_path));
  const std::ptrdiff_t length = p.length() > 0 ? p.length() : 70;
  for (const auto count : {length, length - 1}) {
    const auto a = any_codes<Code>(p.a, 12, count, 1);
    const auto b = any_codes<Code>(p.b, 12, count, 2);
    const auto c = any_codes<std::uint32_t>(p.acc.stored, 12, 1, 3);
    table<std::uint32_t> d(12, 1);
    const auto ma = a.in();
    const auto mb = b.in();
    const auto mc = c.in();
    const auto md = d.out();
    for (const bool with_c : {true, false}) {
      ZEROULP_CALLS(
          zeroulp_step(&c_path, &ma, &mb, with_c ? &mc : nullptr, &md));
      for (std::ptrdiff_t i = 0; i < 12; ++i) {
        std::vector<unpacked> x, y;
        for (std::ptrdiff_t k = 0; k < count; ++k) {
          x.push_back(decode(p.a, a.view()(i, k)));
          y.push_back(decode(p.b, b.view()(i, k)));
        }
        ASSERT_EQ(d(i, 0), step(p, x.data(), y.data(), static_cast<int>(count),
                                with_c ? c.view()(i, 0) : 0))
            << named.name;
      }
    }
  }
}

TEST(CAbi, StepEqualsTheCoreOnEveryPath) {
  for (const auto& named : all_paths()) {
    named.value.a.bits() <= 8 && named.value.b.bits() <= 8
        ? expect_steps_like_the_core<std::uint8_t>(named)
        : expect_steps_like_the_core<std::uint32_t>(named);
  }
}

/// One side of a GEMM by a recipe, with its scales.
struct side {
  table<std::uint8_t> codes;
  table<std::uint32_t> scales;

  side(std::ptrdiff_t rows, std::ptrdiff_t k, granularity g, std::uint64_t seed)
      : codes(any_codes<std::uint8_t>(e4m3, rows, k, seed)),
        scales(any_scales(g.mn > 0 ? ceil_div(rows, g.mn) : 1,
                          g.k > 0 ? ceil_div(k, g.k) : 1, seed + 1)) {
    for (auto& code : codes.data) {
      if ((code & 0x7f) == 0x7f) code = 0;
    }
    codes(0, 0) = 0x7f;
  }
  zeroulp_operand c() const {
    return {c_format(e4m3), codes.in(), scales.in()};
  }
  gemm_operand<std::uint8_t> cpp() const {
    return {e4m3, codes.view(), scales.view()};
  }
};

TEST(CAbi, GemmEqualsTheCoreByEveryRecipe) {
  for (const auto& named : named_recipes) {
    const recipe& r = named.value;
    zeroulp_recipe c_recipe;
    ZEROULP_CALLS(zeroulp_recipe_from_name(named.name, &c_recipe));
    const side a(5, 300, r.a, 1);
    const side b(130, 300, r.b, 3);
    const auto c = any_data(5, 130, 9);
    table<std::uint32_t> expected(5, 130), d(5, 130);
    gemm(r, a.cpp(), b.cpp(), c.view(), expected.view());
    const auto left = a.c();
    const auto right = b.c();
    const auto mc = c.in();
    const auto md = d.out();
    ZEROULP_CALLS(zeroulp_gemm(&c_recipe, &left, &right, &mc, &md));
    EXPECT_EQ(d, expected) << named.name;
    if (r.output.bits() > 16) continue;
    table<std::uint16_t> half(5, 130);
    const auto narrow = half.out();
    ZEROULP_CALLS(zeroulp_gemm(&c_recipe, &left, &right, nullptr, &narrow));
    for (std::size_t i = 0; i < half.data.size(); ++i) {
      ASSERT_EQ(half.data[i], expected.data[i]) << named.name;
    }
  }
}

TEST(CAbi, GemmTakesNoScalesAndNoK) {
  zeroulp_recipe r;
  ZEROULP_CALLS(zeroulp_recipe_from_name("unpromoted", &r));
  const auto codes = any_codes<std::uint8_t>(e5m2, 3, 40, 1);
  table<std::uint32_t> expected(3, 3), d(3, 3, 1);
  const gemm_operand<std::uint8_t> x{e5m2, codes.view()};
  gemm(unpromoted_recipe, x, x, {}, expected.view());
  zeroulp_operand a{c_format(e5m2), codes.in(), {}};
  const auto md = d.out();
  ZEROULP_CALLS(zeroulp_gemm(&r, &a, &a, nullptr, &md));
  EXPECT_EQ(d, expected);
  a.codes.cols = 0;
  ZEROULP_CALLS(zeroulp_gemm(&r, &a, &a, nullptr, &md));
  EXPECT_EQ(d, table<std::uint32_t>(3, 3));
}

TEST(CAbi, MultiplyIsTheChainOfAPathFromC) {
  zeroulp_path p;
  ZEROULP_CALLS(zeroulp_path_from_name("hopper.mma.e5m2.e5m2.f32", &p));
  const path followed{e5m2, e5m2, hopper_half_f32, lowering::hmma_chained};
  const auto codes = any_codes<std::uint8_t>(e5m2, 3, 40, 1);
  const auto c = any_data(3, 3, 9);
  table<std::uint32_t> expected(3, 3), d(3, 3);
  engine::multiply(followed, {e5m2, codes.view()}, {e5m2, codes.view()},
                   c.view(), expected.view());
  zeroulp_operand a{c_format(e5m2), codes.in(), {}};
  const auto mc = c.in();
  const auto md = d.out();
  ZEROULP_CALLS(zeroulp_multiply(&p, &a, &a, &mc, &md));
  EXPECT_EQ(d, expected);
  const auto scales = any_data(3, 1, 2);
  a.scales = scales.in();
  EXPECT_EQ(zeroulp_multiply(&p, &a, &a, &mc, &md), ZEROULP_INVALID_ARGUMENT);
  const zeroulp_operand other{c_format(e4m3), codes.in(), {}};
  EXPECT_EQ(zeroulp_multiply(&p, &other, &other, &mc, &md),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(d, expected);
}

TEST(CAbi, RecipesTakeTheAccumulatorOfTheirOperands) {
  zeroulp_recipe r, half;
  ZEROULP_CALLS(zeroulp_recipe_from_name("deepgemm.1d2d", &r));
  const auto b16 = c_format(bf16);
  ZEROULP_CALLS(zeroulp_recipe_for_operands(&r, &b16, &b16, &half));
  EXPECT_EQ(half.accumulator.length, hopper_half_f32.length);
  EXPECT_EQ(half.accumulator.fraction_bits, hopper_half_f32.fraction_bits);
  EXPECT_EQ(half.accumulator.exponent_floor, hopper_half_f32.exponent_floor);
  EXPECT_EQ(half.interval, r.interval);
}

TEST(CAbi, ExactProductsEqualTheEngines) {
  const side a(4, 77, per_tensor, 5);
  const side b(6, 77, per_tensor, 7);
  table<double> expected(4, 6), out(4, 6);
  engine::exact_products({e4m3, a.codes.view()}, {e4m3, b.codes.view()},
                         expected.view());
  const auto left = a.c();
  const auto right = b.c();
  const auto to = out.out();
  ZEROULP_CALLS(zeroulp_exact_products(&left, &right, &to));
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    EXPECT_EQ(bit_cast<std::uint64_t>(out.data[i]),
              bit_cast<std::uint64_t>(expected.data[i]));
  }
}

TEST(CAbi, CompareFindsTheFirstDifferenceAndCountsUlps) {
  const auto f = c_format(e4m3);
  table<std::uint8_t> a(3, 4, 0x38);
  auto b = a;
  const auto ma = a.in();
  const auto mb = b.in();
  zeroulp_comparison c;
  ZEROULP_CALLS(zeroulp_compare(&f, &ma, &mb, &c));
  EXPECT_EQ(c.count, 12);
  EXPECT_EQ(c.different, 0);
  EXPECT_EQ(c.first_row, -1);
  EXPECT_EQ(c.first_col, -1);
  EXPECT_EQ(c.buckets[0], 12);

  b(1, 2) = 0x3b;
  a(2, 0) = 0x80, b(2, 0) = 0x00;
  a(2, 1) = 0x7f, b(2, 1) = 0xff;
  a(2, 2) = 0x7f;
  a(2, 3) = 0x81, b(2, 3) = 0x01;
  ZEROULP_CALLS(zeroulp_compare(&f, &ma, &mb, &c));
  EXPECT_EQ(c.different, 5);
  EXPECT_EQ(c.first_row, 1);
  EXPECT_EQ(c.first_col, 2);
  EXPECT_EQ(c.first_a, 0x38u);
  EXPECT_EQ(c.first_b, 0x3bu);
  EXPECT_EQ(c.first_ulps, 3u);
  EXPECT_EQ(c.max_ulps, 3u);
  EXPECT_EQ(c.zero_signs, 1);
  EXPECT_EQ(c.nan_payloads, 1);
  EXPECT_EQ(c.nan_mismatches, 1);
  EXPECT_EQ(c.buckets[0], 8);
  EXPECT_EQ(c.buckets[2], 1);
  EXPECT_EQ(c.buckets[3], 1);

  const std::uint8_t nan = 0x7f, one = 0x38;
  const zeroulp_const_matrix x{&nan, 1, 1, 1, 1, 1}, y{&one, 1, 1, 1, 1, 1};
  ZEROULP_CALLS(zeroulp_compare(&f, &x, &y, &c));
  EXPECT_EQ(c.first_ulps, ZEROULP_NO_DISTANCE);
  // -0 of a format that has none is its NaN.
  const auto fnuz = c_format(e4m3fnuz);
  const std::uint8_t other_nan = 0x80;
  const zeroulp_const_matrix z{&other_nan, 1, 1, 1, 1, 1};
  ZEROULP_CALLS(zeroulp_compare(&fnuz, &z, &y, &c));
  EXPECT_EQ(c.nan_mismatches, 1);
  // As integers.
  ZEROULP_CALLS(zeroulp_compare(nullptr, &x, &y, &c));
  EXPECT_EQ(c.first_ulps, 0x7fu - 0x38u);
}

TEST(CAbi, ErrorMeasuresAreThoseOfCpp) {
  table<double> exact(5, 7), computed(5, 7);
  for (std::size_t i = 0; i < exact.data.size(); ++i) {
    exact.data[i] = counter_rng{1, i}.between(-1000, 1000);
    computed.data[i] = exact.data[i] + counter_rng{2, i}.between(-3, 3);
  }
  const auto c = computed.in();
  const auto x = exact.in();
  for (const bool given : {false, true}) {
    table<double> errors(5, 7, 0.25);
    if (!given) {
      for (std::size_t i = 0; i < errors.data.size(); ++i) {
        errors.data[i] = computed.data[i] - exact.data[i];
      }
    }
    error_accumulator sum;
    sum.add(computed.data, exact.data, errors.data);
    const auto expected = sum.result();
    const auto e = errors.in();
    zeroulp_errors m;
    ZEROULP_CALLS(zeroulp_measure_errors(&c, &x, given ? &e : nullptr, &m));
    EXPECT_EQ(m.frobenius, expected.frobenius);
    EXPECT_EQ(m.max_over_max, expected.max_over_max);
    EXPECT_EQ(m.max_over_mean, expected.max_over_mean);
    EXPECT_EQ(m.max_over_rms, expected.max_over_rms);
    EXPECT_EQ(m.bias, expected.bias);
    EXPECT_EQ(m.sqnr_db, expected.sqnr_db);
    EXPECT_EQ(m.one_minus_cosine, expected.one_minus_cosine);
    for (std::size_t q = 0; q < error_quantiles.size(); ++q) {
      EXPECT_EQ(m.quantiles[q], expected.quantiles[q]);
    }
    EXPECT_EQ(m.count, 35);
    EXPECT_EQ(m.nonfinite_matches, 0);
    EXPECT_EQ(m.nonfinite_mismatches, 0);
  }
}

TEST(CAbi, SimdIsThatOfTheEngine) {
  std::int32_t before = -1;
  ZEROULP_CALLS(zeroulp_simd_in_use(&before));
  EXPECT_EQ(before, static_cast<int>(engine::current_simd()));
  std::ptrdiff_t count = 0;
  for (int set = ZEROULP_SIMD_REFERENCE; set <= ZEROULP_SIMD_AVX512; ++set) {
    std::int32_t supported = -1;
    ZEROULP_CALLS(zeroulp_simd_is_supported(set, &supported));
    count += supported;
    EXPECT_EQ(zeroulp_use_simd(set),
              supported == 1 ? ZEROULP_OK : ZEROULP_INVALID_ARGUMENT);
    if (supported == 1) {
      EXPECT_EQ(set, static_cast<int>(engine::current_simd()));
    }
  }
  EXPECT_EQ(count, 1 + std::ssize(engine::supported_simd()));
  ZEROULP_CALLS(zeroulp_use_simd(before));
}

TEST(CAbi, ThreadsAreThoseOfTheEngine) {
  std::int32_t before = -1;
  ZEROULP_CALLS(zeroulp_threads_in_use(&before));
  EXPECT_GE(before, 1);
  EXPECT_EQ(before, engine::current_threads());
  ZEROULP_CALLS(zeroulp_use_threads(3));
  std::int32_t now = -1;
  ZEROULP_CALLS(zeroulp_threads_in_use(&now));
  EXPECT_EQ(now, 3);
  EXPECT_EQ(engine::current_threads(), 3);
  EXPECT_EQ(zeroulp_use_threads(-1), ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(zeroulp_threads_in_use(nullptr), ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(engine::current_threads(), 3);
  ZEROULP_CALLS(zeroulp_use_threads(0));
  EXPECT_EQ(engine::current_threads(), before);
}

}  // namespace
}  // namespace zeroulp
