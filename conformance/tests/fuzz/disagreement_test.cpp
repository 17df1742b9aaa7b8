// The disagreement matrix counts what the core gives, and its examples are
// true.

#include "fuzz/engine/disagreement.hpp"

#include <gtest/gtest.h>

#include <string>

#include "conformance/tests/fuzz/convention_parts.hpp"

namespace zeroulp::fuzz {
namespace {

std::size_t index_of(const std::string& name) {
  for (std::size_t i = 0; i < convention_count; ++i) {
    if (name == named_conventions[i].name) return i;
  }
  return convention_count;
}

const convention_pair& pair_of(const disagreement& d, const std::string& a,
                               const std::string& b) {
  for (const auto& p : d.pairs) {
    if (p.first == index_of(a) && p.second == index_of(b)) return p;
  }
  throw std::out_of_range(a + ", " + b);
}

disagreement_request small(std::uint64_t cases = 200) {
  disagreement_request q;
  q.cases = cases;
  q.scale = scale_kind::float32;
  return q;
}

TEST(Disagreement, ThereAreFourKindsOfDataWithEveryPair) {
  const auto all = find_disagreements(small(3));
  ASSERT_EQ(all.size(), 4u);
  for (const auto& d : all) {
    EXPECT_EQ(d.pairs.size(), convention_count * (convention_count - 1) / 2);
    EXPECT_EQ(d.scales, 3u);
    EXPECT_EQ(d.codes, 3u * 128);
    for (const auto& p : d.pairs) {
      EXPECT_LT(p.first, p.second);
      EXPECT_LE(p.scales_differ, d.scales);
      EXPECT_LE(p.codes_differ, d.codes);
      EXPECT_EQ(p.scale.has_value(), p.scales_differ > 0);
      EXPECT_EQ(p.code.has_value(), p.codes_differ > 0);
    }
  }
}

TEST(Disagreement, BoundaryDataPartEveryPairOfConventions) {
  for (const auto& d : find_disagreements(small(600))) {
    if (d.data != group_data::boundary || !(d.from == fp32)) continue;
    for (const auto& p : d.pairs) {
      if (same_with_fp32_scales(named_conventions[p.first].value,
                                named_conventions[p.second].value)) {
        continue;
      }
      EXPECT_GT(p.scales_differ + p.codes_differ, 0u)
          << named_conventions[p.first].name << ", "
          << named_conventions[p.second].name;
    }
  }
}

TEST(Disagreement, ScalesOfOneRuleAgreeOnNormalData) {
  for (const auto& d : find_disagreements(small())) {
    if (d.data != group_data::normal) continue;
    EXPECT_EQ(pair_of(d, "zeroulp", "vllm").scales_differ, 0u);
    EXPECT_EQ(pair_of(d, "transformer_engine", "torchao").codes_differ, 0u);
    EXPECT_GT(pair_of(d, "zeroulp", "deepep").scales_differ, 0u);
    const auto& bf16_amax = pair_of(d, "transformer_engine", "trt_llm");
    EXPECT_EQ(bf16_amax.scales_differ > 0, d.from == fp32);
  }
}

TEST(Disagreement, ExamplesAreWhatTheCoreGives) {
  for (const auto& d : find_disagreements(small(600))) {
    for (const auto& p : d.pairs) {
      // The group is its amax, its special and x.
      const auto give = [&d](std::size_t c, const disagreement_example& e,
                             bool want_scale) -> std::uint64_t {
        const quantizer z{d.from,
                          e4m3,
                          named_conventions[c].value,
                          scale_kind::float32,
                          {1, 128}};
        const std::uint64_t x[] = {recode(fp32, e.amax, d.from),
                                   recode(fp32, e.special, d.from),
                                   recode(fp32, e.x, d.from)};
        std::uint64_t codes[3];
        const matrix_view<const std::uint64_t> group(x, 1, 3);
        const auto s = quantize_group(z, group, group_amax(z, group),
                                      matrix_view<std::uint64_t>(codes, 1, 3));
        return want_scale ? s : codes[2];
      };
      if (p.scale) {
        EXPECT_EQ(give(p.first, *p.scale, true), p.scale->first);
        EXPECT_EQ(give(p.second, *p.scale, true), p.scale->second);
      }
      if (p.code) {
        EXPECT_EQ(give(p.first, *p.code, false), p.code->first);
        EXPECT_EQ(give(p.second, *p.code, false), p.code->second);
      }
    }
  }
}

TEST(Disagreement, ResultsAreAFunctionOfTheSeed) {
  const auto once = find_disagreements(small());
  const auto again = find_disagreements(small());
  auto other_seed = small();
  other_seed.seed = 2;
  const auto other = find_disagreements(other_seed);
  bool same = true;
  for (std::size_t i = 0; i < once.size(); ++i) {
    for (std::size_t p = 0; p < once[i].pairs.size(); ++p) {
      const auto& a = once[i].pairs[p];
      const auto& b = again[i].pairs[p];
      EXPECT_EQ(a.scales_differ, b.scales_differ);
      EXPECT_EQ(a.codes_differ, b.codes_differ);
      ASSERT_EQ(a.code.has_value(), b.code.has_value());
      if (a.code) {
        EXPECT_EQ(a.code->x, b.code->x);
      }
      same = same && a.codes_differ == other[i].pairs[p].codes_differ;
    }
  }
  EXPECT_FALSE(same);
}

TEST(Disagreement, OtherGroupsFormatsAndScalesAreTaken) {
  auto q = small(20);
  q.to = e5m2;
  q.group = {0, 0};
  for (const auto& d : find_disagreements(q)) {
    EXPECT_EQ(d.codes, 20u * 64 * 64);
  }
  q.scale = scale_kind::pow2;
  for (const auto& d : find_disagreements(q)) {
    if (d.data != group_data::normal) continue;
    EXPECT_EQ(pair_of(d, "zeroulp", "deepep").scales_differ, 0u);
  }
}

}  // namespace
}  // namespace zeroulp::fuzz
