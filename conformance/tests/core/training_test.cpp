// The compiled training path against the core, bit by bit, in every storage,
// with every set of vector instructions; what it refuses.

#include "zeroulp/training.hpp"

#include <gtest/gtest.h>

#include "conformance/tests/engine/arrays_parts.hpp"
#include "zeroulp/io.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace zeroulp {
namespace {

words any_numbers(format f, std::uint64_t seed, std::ptrdiff_t count) {
  const auto n = static_cast<std::size_t>(count);
  words x = make_numbers(families[seed % std::size(families)], seed, n);
  for (auto& word : x) {
    word = static_cast<std::uint32_t>(recode(fp32, word, f, {}, cuda_nosat));
  }
  return x;
}

/// Elements in words for the core, and in some storage for the engine.
struct both {
  std::ptrdiff_t m, n;
  words core;
  stored engine;

  both(stored_as how, int bytes, std::ptrdiff_t rows, std::ptrdiff_t cols,
       words content)
      : m(rows),
        n(cols),
        core(std::move(content)),
        engine(make_stored(how, bytes, rows, cols, core)) {}
  both(stored_as how, int bytes, std::ptrdiff_t rows, std::ptrdiff_t cols)
      : both(how, bytes, rows, cols,
             words(static_cast<std::size_t>(rows * cols), 0x5a)) {}

  matrix_view<std::uint32_t> out() { return {core.data(), m, n}; }
  matrix_view<const std::uint32_t> in() const { return {core.data(), m, n}; }
  void expect_equal(const char* what) {
    EXPECT_EQ(engine.content(), core) << what;
    EXPECT_TRUE(engine.is_intact()) << what;
  }
};

struct both_quantized {
  both codes, scales;

  both_quantized(stored_as how, const quantizer& q, std::ptrdiff_t m,
                 std::ptrdiff_t n)
      : codes(how, storage_bytes(q.to), m, n),
        scales(how, 4, ceil_div(m, q.group.height(m)),
               ceil_div(n, q.group.width(n))) {}

  quantized_matrix<std::uint32_t> out() { return {codes.out(), scales.out()}; }
  quantized_matrix<const std::uint32_t, const std::uint32_t> in() const {
    return {codes.in(), scales.in()};
  }
  engine::quantized_view view() {
    return {codes.engine.view(), scales.engine.as<std::uint32_t>()};
  }
  engine::const_quantized_view const_view() {
    return {codes.engine.view(), scales.engine.as<std::uint32_t>()};
  }
  void expect_equal(const char* what) {
    codes.expect_equal(what);
    scales.expect_equal(what);
  }
};

/// Calls test(how, m, n, seed) in every storage and with every set.
template <class Test>
void with_everything(Test test) {
  static constexpr std::ptrdiff_t shapes[][2] = {
      {0, 5}, {3, 0}, {1, 1}, {7, 129}, {33, 300}, {130, 70}, {2, 2500}};
  const auto run = [&](const char* set) {
    std::uint64_t seed = 1;
    for (const stored_as how : storages) {
      for (const auto& [m, n] : shapes) {
        SCOPED_TRACE(testing::Message()
                     << set << ", storage " << static_cast<int>(how) << ", "
                     << m << " x " << n);
        test(how, m, n, ++seed);
      }
    }
  };
  with_every_simd(run);
  const engine::simd before = engine::current_simd();
  engine::use_simd(engine::simd::reference);
  run("reference");
  engine::use_simd(before);
}

quantizer quantizer_from(format from, std::uint64_t seed) {
  static constexpr group_shape groups[] = {{1, 128}, {128, 1}, {1, 32}, {0, 0}};
  const format targets[] = {e4m3, e5m2, e5m6};
  return {from, targets[seed % 3], zeroulp_convention,
          seed % 2 == 0 ? scale_kind::float32 : scale_kind::pow2,
          groups[seed % 4]};
}

TEST(Training, ElementaryFunctionsEqualTheCores) {
  with_everything([](stored_as how, std::ptrdiff_t m, std::ptrdiff_t n,
                     std::uint64_t seed) {
    const auto of_core = [](engine::elementary f, core_fp32::number x) {
      return f == engine::elementary::exp       ? exp<core_fp32>(x)
             : f == engine::elementary::sigmoid ? sigmoid<core_fp32>(x)
                                                : rsqrt<core_fp32>(x);
    };
    for (const auto f : {engine::elementary::exp, engine::elementary::sigmoid,
                         engine::elementary::rsqrt}) {
      both x(how, 4, m, n, any_numbers(fp32, seed, m * n));
      both y(how, 4, m, n);
      for (std::size_t i = 0; i < x.core.size(); ++i) {
        y.core[i] = of_core(f, {x.core[i]}).value;
      }
      engine::apply(f, x.engine.as<std::uint32_t>(),
                    y.engine.as<std::uint32_t>());
      y.expect_equal("f(x)");
    }
  });
}

TEST(Training, SwigluEqualsTheCores) {
  with_everything([](stored_as how, std::ptrdiff_t m, std::ptrdiff_t n,
                     std::uint64_t seed) {
    const format from = seed % 2 == 0 ? bf16 : fp32;
    const format between = seed % 3 == 0 ? fp32 : bf16;
    const swiglu_layer layer{quantizer_from(from, seed),
                             quantizer_from(between, seed + 1)};
    both g(how, storage_bytes(from), m, n, any_numbers(from, seed, m * n));
    both u(how, storage_bytes(from), m, n, any_numbers(from, seed + 1, m * n));
    both h(how, storage_bytes(between), m, n);
    both_quantized h_out(how, layer.out, m, n);
    both_quantized g_cache(how, layer.cache, m, n);
    both_quantized u_cache(how, layer.cache, m, n);
    swiglu_forward(layer, g.in(), u.in(), h.out(), h_out.out(), g_cache.out(),
                   u_cache.out());
    engine::swiglu_forward(layer, g.engine.view(), u.engine.view(),
                           h.engine.view(), h_out.view(), g_cache.view(),
                           u_cache.view());
    const words whole = h_out.codes.engine.content();
    // Without the values, and nothing else.
    engine::swiglu_forward(layer, g.engine.view(), u.engine.view(), {},
                           h_out.view());
    EXPECT_EQ(h_out.codes.engine.content(), whole);

    both dh(how, 2, m, n, any_numbers(bf16, seed + 2, m * n));
    both h2(how, storage_bytes(between), m, n);
    both dg(how, storage_bytes(between), m, n);
    both du(how, storage_bytes(between), m, n);
    both_quantized dg_out(how, layer.out, m, n);
    both_quantized du_out(how, layer.out, m, n);
    swiglu_backward(layer, bf16, dh.in(), g_cache.in(), u_cache.in(), h2.out(),
                    dg.out(), du.out(), dg_out.out(), du_out.out());
    engine::swiglu_backward(layer, bf16, dh.engine.view(), g_cache.const_view(),
                            u_cache.const_view(), h2.engine.view(),
                            dg.engine.view(), du.engine.view(), dg_out.view(),
                            du_out.view());
    const words codes = dg_out.codes.engine.content();
    engine::swiglu_backward(layer, bf16, dh.engine.view(), g_cache.const_view(),
                            u_cache.const_view(), {}, {}, {}, dg_out.view());
    EXPECT_EQ(dg_out.codes.engine.content(), codes);
    h.expect_equal("h");
    h2.expect_equal("h again");
    dg.expect_equal("dg");
    du.expect_equal("du");
    h_out.expect_equal("quantized h");
    g_cache.expect_equal("cached g");
    u_cache.expect_equal("cached u");
    dg_out.expect_equal("quantized dg");
    du_out.expect_equal("quantized du");
  });
}

TEST(Training, RmsNormEqualsTheCores) {
  with_everything([](stored_as how, std::ptrdiff_t m, std::ptrdiff_t n,
                     std::uint64_t seed) {
    const format from = seed % 2 == 0 ? bf16 : fp32;
    const format between = seed % 3 == 0 ? fp32 : bf16;
    const rms_layer layer{from, bf16, 0x358637bd,
                          quantizer_from(between, seed)};
    both x(how, storage_bytes(from), m, n, any_numbers(from, seed, m * n));
    both w(how, 2, 1, n, any_numbers(bf16, 5 * seed, n));
    both y(how, storage_bytes(between), m, n);
    both rstd(how, 4, m, 1);
    both_quantized out(how, layer.out, m, n);
    rms_norm(layer, x.in(), w.in(), y.out(), rstd.out(), out.out());
    engine::rms_norm(layer, x.engine.view(), w.engine.view(), y.engine.view(),
                     rstd.engine.as<std::uint32_t>(), out.view());
    y.expect_equal("y");
    rstd.expect_equal("rstd");
    out.expect_equal("quantized y");
  });
}

TEST(Training, AdamwEqualsTheCores) {
  with_everything([](stored_as how, std::ptrdiff_t m, std::ptrdiff_t n,
                     std::uint64_t seed) {
    for (const auto mode : {rounding::nearest_even, rounding::stochastic}) {
      const format moment = seed % 5 == 0 ? fp32 : seed % 5 == 1 ? e5m2 : bf16;
      const format gradient = seed % 2 == 0 ? fp32 : bf16;
      const adamw_step step{make_adamw_factors({1e-3, 0.9, 0.95, 1e-8, 0.1, 7}),
                            gradient,
                            moment,
                            mode,
                            seed,
                            ~std::uint64_t{0} - 100};
      both g(how, storage_bytes(gradient), m, n,
             any_numbers(gradient, seed, m * n));
      both moment_m(how, storage_bytes(moment), m, n,
                    any_numbers(moment, seed, m * n));
      auto squares = any_numbers(moment, seed + 1, m * n);
      for (auto& x : squares) {
        x &= static_cast<std::uint32_t>(moment.magnitude_mask());
      }
      both moment_v(how, storage_bytes(moment), m, n, squares);
      both w(how, 4, m, n, any_numbers(fp32, seed, m * n));
      both copy(how, 2, m, n);
      adamw(step, g.in(), moment_m.out(), moment_v.out(), w.out(), copy.out());
      engine::adamw(step, g.engine.view(), moment_m.engine.view(),
                    moment_v.engine.view(), w.engine.as<std::uint32_t>(),
                    copy.engine.view());
      moment_m.expect_equal("m");
      moment_v.expect_equal("v");
      w.expect_equal("w");
      copy.expect_equal("copy");
    }
  });
}

TEST(Training, CombineAndDispatchEqualTheCores) {
  with_everything([](stored_as how, std::ptrdiff_t m, std::ptrdiff_t n,
                     std::uint64_t seed) {
    const std::ptrdiff_t rows = 5;
    both x(how, 2, rows, n, any_numbers(bf16, seed, rows * n));
    for (const auto& rule : named_combine_rules) {
      const bool pair = rule.value == combine_rule::bf16_pair;
      const std::ptrdiff_t count = pair ? 2 : 4;
      std::vector<std::int32_t> slots;
      for (std::ptrdiff_t i = 0; i < m * count; ++i) {
        slots.push_back(counter_rng(seed, static_cast<std::uint64_t>(i))
                            .between(-1, static_cast<int>(rows) - 1));
      }
      const matrix_view<const std::int32_t> by(slots.data(), m, count);
      both weights(how, 4, m, count, any_numbers(fp32, seed, m * count));
      for (const bool weighted : {false, true}) {
        if (weighted && pair) continue;
        both sums(how, 2, m, n);
        combine(rule.value, x.in(), by,
                weighted ? weights.in() : matrix_view<const std::uint32_t>{},
                sums.out());
        engine::combine(rule.value, x.engine.view(), by,
                        weighted ? weights.engine.as<std::uint32_t>()
                                 : matrix_view<std::uint32_t>{},
                        sums.engine.view());
        sums.expect_equal(rule.name);
      }
      quantizer q = quantizer_from(bf16, seed);
      q.group = {1, 128};
      const matrix_view<const std::int32_t> taken(slots.data(), m, 1, count, 1);
      both_quantized out(how, q, m, n);
      dispatch(q, x.in(), taken, out.codes.out(), out.scales.out());
      engine::dispatch(q, x.engine.view(), taken, out.codes.engine.view(),
                       out.scales.engine.as<std::uint32_t>());
      out.expect_equal("dispatched");
    }
  });
}

/// Hopper's approximate reciprocal in the place of the rounded one.
struct with_mufu : core_fp32 {
  static number reciprocal(number a) {
    return {approximate_reciprocal(a.value)};
  }
};

TEST(Training, AnApproximateReciprocalDoesForSigmoidsOfBf16) {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    const core_fp32::number x{as_fp32(bf16, code)};
    ASSERT_EQ(sigmoid<with_mufu>(x).value, sigmoid<core_fp32>(x).value)
        << std::hex << code;
  }
  EXPECT_NE(sigmoid<with_mufu>({0x3a732c01}).value,
            sigmoid<core_fp32>({0x3a732c01}).value);
}

#if defined(__SSE2__)
TEST(Training, TheCallersFloatModeChangesNothing) {
  const auto x = make_numbers(family::tiny, 3, 5000);
  words before(x.size()), after(x.size());
  const matrix_view<const std::uint32_t> in(x.data(), 50, 100);
  engine::apply(engine::elementary::rsqrt, in, {before.data(), 50, 100});
  const unsigned mode = _mm_getcsr();
  _mm_setcsr(0xffc0);  // toward zero, subnormal numbers flushed
  engine::apply(engine::elementary::rsqrt, in, {after.data(), 50, 100});
  EXPECT_EQ(_mm_getcsr() & 0xffc0u, 0xffc0u);
  _mm_setcsr(mode);
  EXPECT_EQ(after, before);
}
#endif

TEST(Training, FactorsOfTheFirstStepsAreThoseOneExpects) {
  const auto f = make_adamw_factors({1e-3, 0.9, 0.999, 1e-8, 0.01, 2});
  EXPECT_EQ(bit_cast<float>(f.one_minus_beta1), 0.1f);
  EXPECT_EQ(bit_cast<float>(f.one_minus_beta2), 0.001f);
  EXPECT_EQ(bit_cast<float>(f.step), static_cast<float>(1e-3 / (1 - 0.81)));
  EXPECT_EQ(bit_cast<float>(f.decay), 1e-5f);
}

TEST(Training, WhatDoesNotFitIsRefused) {
  words data(64, 0x3f800000);
  const auto view = [&](std::ptrdiff_t m, std::ptrdiff_t n) {
    return matrix_view<std::uint32_t>(data.data(), m, n);
  };
  std::vector<std::uint8_t> bytes(64);
  const matrix_view<std::uint8_t> narrow(bytes.data(), 2, 4);
  const quantizer q{
      fp32, e4m3, zeroulp_convention, scale_kind::float32, {1, 4}};
  const swiglu_layer layer{q, q};
  using engine::swiglu_forward;
  EXPECT_THROW(engine::apply(engine::elementary::exp, view(2, 4), view(2, 3)),
               input_error);
  EXPECT_THROW(swiglu_forward(layer, view(2, 4), view(2, 3), view(2, 4)),
               input_error);
  EXPECT_THROW(swiglu_forward(layer, narrow, view(2, 4), view(2, 4)),
               input_error);
  EXPECT_THROW(swiglu_forward(layer, view(2, 4), view(2, 4), view(2, 3)),
               input_error);
  EXPECT_THROW(swiglu_forward(layer, view(2, 4), view(2, 4), {},
                              {view(2, 4), view(1, 1)}),
               input_error);
  EXPECT_THROW(
      engine::swiglu_backward(layer, fp32, view(2, 4), {view(2, 4), view(1, 1)},
                              {view(2, 4), view(2, 1)}, {}, {}, {}),
      input_error);
  const rms_layer rms{fp32, fp32, 0, q};
  EXPECT_THROW(engine::rms_norm(rms, view(2, 4), view(1, 3), {}, {}),
               input_error);
  EXPECT_THROW(engine::rms_norm(rms, view(2, 4), view(1, 4), {}, view(1, 1)),
               input_error);
  const adamw_step step{{}, fp32, fp32, rounding::nearest_even, 0, 0};
  EXPECT_THROW(engine::adamw(step, view(2, 4), view(2, 4), narrow, view(2, 4)),
               input_error);
  EXPECT_THROW(
      engine::adamw(step, view(2, 4), view(2, 4), view(2, 4), view(2, 3)),
      input_error);
  const std::int32_t rows[] = {0, 2, -1, -2};
  const matrix_view<const std::int32_t> there(rows, 1, 1);
  const matrix_view<const std::int32_t> beyond(rows, 2, 1);
  const matrix_view<const std::int32_t> below(rows + 2, 2, 1);
  for (const auto& slots : {beyond, below}) {
    EXPECT_THROW(engine::combine(combine_rule::fp32_slots, view(2, 4), slots,
                                 {}, view(2, 4)),
                 input_error);
    EXPECT_THROW(engine::dispatch(q, view(2, 4), slots, view(2, 4), view(2, 1)),
                 input_error);
  }
  EXPECT_THROW(engine::combine(combine_rule::bf16_pair, view(2, 4), there,
                               view(1, 1), view(1, 4)),
               input_error);
  quantizer tall = q;
  tall.group = {2, 4};
  EXPECT_THROW(
      engine::dispatch(tall, view(2, 4), there, view(1, 4), view(1, 1)),
      input_error);
}

}  // namespace
}  // namespace zeroulp
