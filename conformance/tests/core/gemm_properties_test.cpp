// Properties of the promoted GEMM on the core. What compares two runs of any
// implementation is a check (gemm_properties.cpp); here is what needs the
// core's own types and functions.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "conformance/checks/gemm/gemm_runs.hpp"

namespace zeroulp::conformance {
namespace {

gemm_case draw(code_family codes = code_family::special) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  counter_rng rng(seed, 0);
  const auto how = make_recipe(rng);
  const gemm_shape shape{*rc::gen::inRange<std::ptrdiff_t>(1, 4),
                         *rc::gen::inRange<std::ptrdiff_t>(1, 4),
                         *rc::gen::inRange<std::ptrdiff_t>(1, 520)};
  const auto scales =
      static_cast<scale_family>(*rc::gen::inRange(0, scale_families));
  return make_gemm_case(how, shape, codes, scales, rng);
}

oracle::grid core_gemm(const gemm_case& g) {
  return run_gemm(core_implementation(), g).d;
}

// G1 to G9.
RC_GTEST_PROP(Gemm, EqualsTheOracle, ()) {
  const auto g = draw();
  RC_ASSERT(core_gemm(g) == expected_gemm(g));
}

// G9: bits do not depend on how matrices lie.
RC_GTEST_PROP(Gemm, DoesNotDependOnStrides, ()) {
  auto g = draw();
  g.layout = placement::dense;
  const auto d = core_gemm(g);
  for (int layout = 1; layout < placement_count; ++layout) {
    g.layout = static_cast<placement>(layout);
    RC_ASSERT(core_gemm(g) == d);
  }
}

// G7: the sums of the ranges, each a GEMM, joined in order.
RC_GTEST_PROP(Gemm, SplitsAreGemmsOfTheirOwn, ()) {
  auto g = draw(code_family::normal);
  g.r.splits = *rc::gen::inRange(1, 6);
  g.r.a.k = g.r.b.k = 0;
  g.r.end = epilogue::store;
  g.r.output = fp32;
  g.sa = g.sb = {};
  if (g.r.acc.length == 0) g.r.acc.length = 32;
  const std::ptrdiff_t grain =
      g.r.interval > 0 ? g.r.interval : 4 * g.r.acc.length;
  const std::ptrdiff_t part =
      ceil_div(ceil_div(g.k(), grain), g.r.splits) * grain;
  const auto whole = core_gemm(g);
  oracle::grid sum;
  for (std::ptrdiff_t begin = 0; begin < g.k(); begin += part) {
    const std::ptrdiff_t size = std::min(part, g.k() - begin);
    gemm_case range = g;
    range.r.splits = 1;
    const auto cut = [&](const oracle::grid& x) {
      oracle::grid y(x.rows, size);
      for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
        for (std::ptrdiff_t k = 0; k < size; ++k) y(i, k) = x(i, begin + k);
      }
      return y;
    };
    range.a = cut(g.a);
    range.b = cut(g.b);
    const auto d = core_gemm(range);
    if (begin == 0) {
      sum = d;
      continue;
    }
    for (std::size_t i = 0; i < sum.words.size(); ++i) {
      sum.words[i] =
          static_cast<std::uint32_t>(add(fp32, sum.words[i], d.words[i]));
    }
  }
  RC_ASSERT(whole == sum);
}

// G8
RC_GTEST_PROP(Gemm, TheEpilogueActsOnTheStoredSum, ()) {
  auto g = draw();
  auto plain = g;
  plain.r.end = epilogue::store;
  plain.r.output = fp32;
  auto expected = core_gemm(plain);
  for (std::size_t i = 0; i < expected.words.size(); ++i) {
    std::uint64_t word = expected.words[i];
    if (g.r.end == epilogue::accumulate) word = add(fp32, word, g.c.words[i]);
    expected.words[i] = static_cast<std::uint32_t>(
        recode(fp32, word, g.r.output, {}, cuda_nosat));
  }
  RC_ASSERT(core_gemm(g) == expected);
}

// G4 to G6: without scales each is 1.
RC_GTEST_PROP(Gemm, NoScaleIsScaleOne, ()) {
  auto g = draw();
  g.sa = g.sb = {};
  const auto d = core_gemm(g);
  const auto ones = [&](granularity by, std::ptrdiff_t rows) {
    return oracle::grid(oracle::groups_along(rows, by.mn),
                        oracle::groups_along(g.k(), by.k), 0x3f800000);
  };
  g.sa = ones(g.r.a, g.m());
  g.sb = ones(g.r.b, g.n());
  auto scaled = core_gemm(g);
  RC_ASSERT(scaled == d);
}

// Codes of 8 and 16 bits are read as they are stored.
RC_GTEST_PROP(Gemm, NarrowCodesGiveTheSameBits, ()) {
  auto g = draw();
  const bool bytes = g.fa.exp_bits + g.fa.man_bits == 7;
  RC_PRE(bytes && g.sa.rows == 0 && g.r.end == epilogue::store);
  g.sb = {};
  const std::vector<std::uint8_t> a(g.a.words.begin(), g.a.words.end());
  const std::vector<std::uint16_t> b(g.b.words.begin(), g.b.words.end());
  oracle::grid d(g.m(), g.n());
  gemm(g.r, gemm_operand<std::uint8_t>{g.fa, {a.data(), g.m(), g.k()}},
       gemm_operand<std::uint16_t>{g.fb, {b.data(), g.n(), g.k()}}, {},
       matrix_view<std::uint32_t>{d.words.data(), g.m(), g.n()});
  RC_ASSERT(d == core_gemm(g));
}

// The GEMM is a constant expression, as every function of the core.
constexpr std::uint32_t one_by_one() {
  const std::uint8_t a[] = {0x38, 0x40};
  const std::uint8_t b[] = {0x40, 0x38};
  std::uint32_t d[1] = {};
  gemm(unpromoted_recipe, gemm_operand<std::uint8_t>{e4m3, {a, 1, 2}},
       gemm_operand<std::uint8_t>{e4m3, {b, 1, 2}}, {},
       matrix_view<std::uint32_t>{d, 1, 1});
  return d[0];
}
static_assert(one_by_one() == 0x40800000);

}  // namespace
}  // namespace zeroulp::conformance
