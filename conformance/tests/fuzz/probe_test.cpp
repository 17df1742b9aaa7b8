// fuzz/probe: what a black box does, from its outputs alone.

#include "fuzz/probe/probe.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/mutants/step_parts.hpp"
#include "conformance/tests/fuzz/hidden_mechanism.hpp"
#include "conformance/tests/fuzz/strange_steps.hpp"
#include "conformance/tests/level.hpp"
#include "fuzz/engine/full_step.hpp"
#include "fuzz/probe/terms.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp {
namespace {

using fuzz::black_box;
using fuzz::mechanism;
using fuzz::probe;
using fuzz::probe_result;
using fuzz::step_case;

/// More than this nobody is asked, without the random steps.
constexpr std::size_t most_outputs = 120'000;

std::vector<step_case> fresh_cases(const black_box& box, const accumulator& acc,
                                   int count, std::uint64_t seed) {
  const path p = path_of(box, acc);
  std::vector<step_case> all;
  for (int n = 0; n < count; ++n) {
    const auto family =
        static_cast<conformance::step_family>(n % conformance::step_families);
    step_case s = make_step_case(
        p, family, counter_rng(seed, static_cast<std::uint64_t>(n)));
    fuzz::fill_up(p, s);
    all.push_back(std::move(s));
  }
  return all;
}

/// Of cases that the probe did not have, those on which it is wrong.
int wrong_of(const black_box& box, const mechanism& truth,
             const probe_result& r, int count) {
  const auto cases = fresh_cases(box, truth.acc, count, 77);
  const auto d = box.run(cases);
  int wrong = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    wrong += evaluate(r.found, cases[i]) != d[i] ? 1 : 0;
  }
  return wrong;
}

const fuzz::found_property& property_of(const probe_result& r,
                                        const std::string& name) {
  return *std::find_if(r.properties.begin(), r.properties.end(),
                       [&](const auto& p) { return p.name == name; });
}

/// It has the value, or says that no output tells it apart.
bool allows(const probe_result& r, const std::string& name,
            const std::string& value) {
  const auto& p = property_of(r, name);
  return p.value == value ||
         std::find(p.equal.begin(), p.equal.end(), value) != p.equal.end();
}

black_box box_of(const named_path& p) {
  const path x = p.value;
  const int length = x.length() > 1 ? x.length() : 16;
  return {p.name,
          x.a,
          x.b,
          x.acc.stored,
          length,
          true,
          [x](const std::vector<step_case>& cases) {
            std::vector<std::uint64_t> d;
            for (const auto& s : cases) {
              d.push_back(oracle::rational_chain(x, s.a.data(), s.b.data(),
                                                 s.count, s.c));
            }
            return d;
          }};
}

TEST(Probe, FindsThePathsOfTheSpec) {
  const std::vector<std::string> some{"hopper.wgmma.e4m3.e4m3.f32",
                                      "hopper.mma.e4m3.e5m2.f32",
                                      "hopper.wgmma.bf16.bf16.f32",
                                      "volta.mma.fp16.fp16.f16",
                                      "hopper.mma_zero.e5m2.e5m2.f32",
                                      "ada.mma.e5m2.e4m3.f16",
                                      "whatif.sign_fill.e4m3.e4m3.f32",
                                      "whatif.top14.e4m3.e4m3.f32",
                                      "whatif.c_last.e5m2.e4m3.f32",
                                      "sequential.fp16.fp16.f32",
                                      "exact.e4m3.e4m3.f32"};
  const std::size_t first = test::level() == 0 ? 3 : some.size();
  std::size_t held = 0;
  for (const auto& p : all_paths()) {
    const auto at = static_cast<std::size_t>(
        std::find(some.begin(), some.end(), p.name) - some.begin());
    if (test::level() < 2 && at >= first) continue;
    SCOPED_TRACE(p.name);
    const auto r = probe(box_of(p), {2000, 1});
    ++held;
    ASSERT_TRUE(r.fits) << r.why;
    EXPECT_LE(r.outputs, most_outputs);
    EXPECT_NE(std::find(r.names.begin(), r.names.end(), p.name), r.names.end());
  }
  EXPECT_GE(held, first);
}

TEST(Probe, FindsMechanismsOfNoTable) {
  const int count = test::level() == 0 ? 3 : test::level() == 1 ? 12 : 200;
  const int cases = test::level() < 2 ? 1000 : 5000;
  for (int n = 0; n < count; ++n) {
    SCOPED_TRACE(n);
    const mechanism truth =
        test::random_mechanism(counter_rng(5, static_cast<std::uint64_t>(n)));
    const black_box box = test::hidden_box(truth);
    const auto r = probe(box, {2000, 1});
    ASSERT_TRUE(r.fits) << r.why << r.contradicting;
    EXPECT_LE(r.outputs, most_outputs);
    EXPECT_EQ(wrong_of(box, truth, r, cases), 0);
    // Two mechanisms that differ in several properties may have the same bits;
    // a property's other values are those with all else unchanged.
    if (r.found.order != truth.order || r.found.joins != truth.joins) continue;
    EXPECT_TRUE(
        allows(r, "fraction bits", std::to_string(truth.acc.fraction_bits)))
        << truth.acc.fraction_bits;
    EXPECT_TRUE(
        allows(r, "conversion", std::string(name_of(truth.acc.conversion))));
    EXPECT_TRUE(allows(r, "order", describe(truth.order, truth.length)))
        << describe(truth.order, truth.length);
  }
}

/// A step whose sum remembers in its last bit that something was cut.
std::uint64_t sticky(const path& p, const step_case& s) {
  const conformance::changed<conformance::same> a{s.a.data(), p.a};
  const conformance::changed<conformance::same> b{s.b.data(), p.b};
  const unpacked c = decode(p.acc.stored, s.c);
  if (!conformance::is_finite_step(p, s.a.data(), s.b.data(), s.count, s.c)) {
    return test::step_of(p, s);
  }
  int largest = no_floor;
  detail::for_each_term(p, a, b, s.count, c, [&](const detail::term& t) {
    largest = std::max(largest, t.place);
  });
  const auto sum = detail::exact_sum(p, a, b, s.count, c);
  if (sum.is_zero()) return 0;
  const int unit = largest - p.acc.fraction_bits;
  unpacked kept{round_shift(sum.significand, unit - sum.exponent, sum.negative,
                            {rounding::to_odd}),
                unit, kind::finite, sum.negative};
  if (kept.significand == 0) kept = {};
  return detail::convert_sum(p.acc, kept);
}

/// The sum is rounded to FP32's or e8m13's width, then to the output's.
std::uint64_t rounded_twice(const path& p, const step_case& s) {
  path first = p;
  first.acc.output = e8m13;
  first.acc.stored = fp32;
  first.acc.conversion = rounding::nearest_even;
  const auto in_fp32 = test::with_c(s, recode(p.acc.stored, s.c, fp32));
  return recode(fp32, test::step_of(first, in_fp32), p.acc.stored);
}

/// Two halves are summed, each to the output, and then added: a tree.
std::uint64_t tree(const path& p, const step_case& s) {
  const conformance::changed<conformance::same> a{s.a.data(), p.a};
  const conformance::changed<conformance::same> b{s.b.data(), p.b};
  const int half = s.count / 2;
  const conformance::changed<conformance::same> a2{s.a.data() + half, p.a};
  const conformance::changed<conformance::same> b2{s.b.data() + half, p.b};
  const auto low = step(p, a, b, half, 0);
  const auto high = step(p, a2, b2, s.count - half, 0);
  const auto sum = add(p.acc.stored, low, high, {rounding::nearest_even});
  return add(p.acc.stored, sum, s.c, {rounding::toward_zero});
}

using stranger = std::uint64_t (*)(const path&, const step_case&);

/// Of the path's formats, which answers as `f` does.
template <class Step>
black_box box_of(const path& p, Step f) {
  return {"stranger",
          p.a,
          p.b,
          p.acc.stored,
          p.length(),
          true,
          [f](const std::vector<step_case>& cases) {
            std::vector<std::uint64_t> d;
            for (const auto& s : cases) d.push_back(f(s));
            return d;
          }};
}

TEST(Probe, StrangersDoNotFit) {
  for (const char* name :
       {"hopper.wgmma.e4m3.e4m3.f32", "hopper.wgmma.bf16.bf16.f32",
        "hopper.wgmma.fp16.fp16.f16", "ampere.mma.tf32.tf32.f32"}) {
    const path p = parse_path(name).value;
    for (const stranger f : {sticky, rounded_twice, tree}) {
      if (f == rounded_twice && p.acc.stored != fp16) continue;
      SCOPED_TRACE(name);
      const auto r = probe(
          box_of(p, [&](const step_case& s) { return f(p, s); }), {2000, 1});
      EXPECT_FALSE(r.fits);
      EXPECT_FALSE(r.why.empty());
      EXPECT_GT(r.contradicting, 0u);
      EXPECT_FALSE(r.because.empty());
      if (test::level() == 0) return;
    }
  }
}

TEST(Probe, StrangeStepsDoNotFit) {
  const path p = hopper_wgmma_e4m3;
  int count = 0;
  for (const auto& strange : test::strange_steps) {
    SCOPED_TRACE(strange.name);
    const black_box box = box_of(p, [&](const step_case& s) {
      const bool finite =
          conformance::is_finite_step(p, s.a.data(), s.b.data(), s.count, s.c);
      return finite ? strange.run(p, s) : test::step_of(p, s);
    });
    const auto r = probe(box, {2000, 1});
    EXPECT_FALSE(r.fits);
    EXPECT_GT(r.contradicting, 0u);
    if (test::level() == 0 && ++count == 2) return;
  }
}

/// A fault of the step is not taken for the path that it was put into, unless
/// it shows on none of many cases.
TEST(Probe, FaultsOfAPathAreNotThePath) {
  const path p = hopper_wgmma_e4m3;
  const std::string name = "hopper.wgmma.e4m3.e4m3.f32";
  int other = 0;
  for (const auto& m : conformance::step_mutants()) {
    if (test::level() == 0 && other >= 2) break;
    SCOPED_TRACE(m.name);
    const black_box box = box_of(p, [&](step_case s) {
      // Some faults read behind their operands.
      s.a.resize(s.a.size() + 64);
      s.b.resize(s.b.size() + 64);
      return m.table.step(p, s.a.data(), s.b.data(), s.count, s.c);
    });
    const auto cases = fresh_cases(box, p.acc, 4000, 78);
    const auto d = box.run(cases);
    bool shows = false;
    for (std::size_t i = 0; i < cases.size() && !shows; ++i) {
      shows =
          d[i] != oracle::rational_step(p, cases[i].a.data(), cases[i].b.data(),
                                        cases[i].count, cases[i].c);
    }
    const auto r = probe(box, {2000, 1});
    const bool taken =
        std::find(r.names.begin(), r.names.end(), name) != r.names.end();
    EXPECT_FALSE(shows && taken);
    other += taken ? 0 : 1;
  }
  EXPECT_GE(other, 2);
}

TEST(Probe, ABoxThatChangesItsMindIsRefused) {
  const path p = hopper_wgmma_e4m3;
  black_box box = box_of(p, [&](const step_case& s) { return tree(p, s); });
  std::uint64_t calls = 0;
  box.run = [&calls](const std::vector<step_case>& cases) {
    ++calls;
    return std::vector<std::uint64_t>(cases.size(), calls);
  };
  EXPECT_THROW(probe(box, {}), input_error);
}

}  // namespace
}  // namespace zeroulp
