// The case engine: cases are a function of their number, reach every bin, pass
// through tokens, shrink, and show every deliberate fault.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "conformance/tests/fuzz/any_case.hpp"
#include "conformance/tests/level.hpp"
#include "fuzz/engine/enlarge.hpp"
#include "fuzz/engine/finding.hpp"
#include "fuzz/engine/shard.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

class Target : public testing::TestWithParam<int> {
 protected:
  target what() const { return static_cast<target>(GetParam()); }
  campaign standard() const {
    campaign c;
    c.what = what();
    c.left = c.right = core_opponent();
    return c;
  }
};

INSTANTIATE_TEST_SUITE_P(Cases, Target, testing::Range(0, target_count),
                         [](const auto& of) {
                           return info_of(static_cast<target>(of.param)).name;
                         });

TEST_P(Target, AStandardRunLeavesNoBinEmpty) {
  const auto result = run(standard());
  EXPECT_EQ(result.cases, covered);
  const auto names = info_of(what()).bins();
  ASSERT_EQ(names.size(), result.bins.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_GT(result.bins[i], 0u) << names[i];
  }
}

TEST_P(Target, ResultsDoNotDependOnThreads) {
  campaign c = standard();
  c.cases = 500;
  c.threads = 1;
  const auto one = run(c);
  c.threads = 3;
  const auto three = run(c);
  EXPECT_EQ(one.digest, three.digest);
  EXPECT_EQ(one.elements, three.elements);
  EXPECT_EQ(one.bins, three.bins);
  c.seed = 2;
  EXPECT_NE(run(c).digest, one.digest);
}

TEST_P(Target, ShardsMakeUpTheWhole) {
  campaign c = standard();
  c.cases = 301;
  const auto whole = run(c);
  campaign_result sum;
  sum.bins.resize(whole.bins.size());
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto part = part_of({i, 3, ""}, {0, 301});
    c.first = part.first;
    c.cases = part.count;
    join(sum, run(c));
  }
  EXPECT_EQ(sum.cases, whole.cases);
  EXPECT_EQ(sum.digest, whole.digest);
  EXPECT_EQ(sum.bins, whole.bins);
}

TEST_P(Target, EveryProfileMakesCases) {
  const auto& info = info_of(what());
  for (std::size_t profile = 0; profile < info.profiles.size(); ++profile) {
    for (std::uint64_t n = 0; n < 200; ++n) {
      const auto p = generate(what(), static_cast<int>(profile), 1, n);
      EXPECT_EQ(info.refuse(p.with), "") << info.profiles[profile];
      EXPECT_EQ(refuse_operands(p), "") << info.profiles[profile];
    }
  }
}

RC_GTEST_PROP(Cases, PassThroughTokens, ()) {
  const auto t = *any_target();
  const auto p = *any_case(t);
  const auto text = to_token(p);
  const auto q = parse_token(text);
  RC_ASSERT(to_token(q) == text);
  RC_ASSERT(p.in == q.in);
  const auto refuses = [&](std::size_t length) {
    RC_ASSERT_THROWS_AS(parse_token(text.substr(0, length)), input_error);
  };
  refuses(*rc::gen::inRange<std::size_t>(0, text.size()));
  for (std::size_t cut = 1; cut <= 16; ++cut) refuses(text.size() - cut);
  const auto core = core_opponent();
  RC_ASSERT(same(run(core, p), run(core, q)));
}

RC_GTEST_PROP(Cases, DoNotDependOnHowMatricesLie, ()) {
  std::vector<target> all = {target::rms_norm_backward, target::attention,
                             target::route};
  for (const target t : matrix_targets) all.push_back(t);
  const auto t = *rc::gen::elementOf(all);
  auto p = *any_case(t);
  const auto core = core_opponent();
  p.with.place = placement::dense;
  const auto right = run(core, p);
  for (int n = 1; n < conformance::placement_count; ++n) {
    p.with.place = static_cast<placement>(n);
    if (!info_of(t).refuse(p.with).empty()) continue;  // rows alone
    RC_ASSERT(same(run(core, p), right));
  }
}

TEST(Cases, TheFirstMismatchIsTheLowest) {
  campaign c;
  c.what = target::quantize;
  c.left = core_opponent();
  c.right = parse_opponent("convention:vllm", c.what);
  c.threads = 1;
  const auto one = run(c);
  ASSERT_TRUE(one.first_mismatch);
  c.threads = 4;
  EXPECT_EQ(run(c).first_mismatch, one.first_mismatch);
  for (std::uint64_t n = 0; n < *one.first_mismatch; ++n) {
    const auto p = generate(c.what, -1, c.seed, n);
    EXPECT_TRUE(same(run(c.left, p), run(c.right, p))) << n;
  }
}

TEST(Cases, PinnedSettingsStay) {
  const auto pinned = [](settings& s) { s.to = e5m6; };
  for (std::uint64_t n = 0; n < 100; ++n) {
    EXPECT_EQ(generate(target::quantize, -1, 1, n, pinned).with.to, e5m6);
  }
  EXPECT_THROW(
      generate(target::quantize, -1, 1, 0, [](settings& s) { s.to = fp64; }),
      input_error);
}

TEST(Shrink, KeepsTheElementThatMatters) {
  const auto p = generate(target::quantize, -1, 1, 3, [](settings& s) {
    s.from = fp32;
    s.to = e4m3;
  });
  const auto has_big = [](const problem& q) {
    return std::any_of(q.in[0].words.begin(), q.in[0].words.end(),
                       [](auto w) { return (w & 0x7fffffff) > 0x30000000; });
  };
  ASSERT_TRUE(has_big(p));
  const auto s = shrink(p, has_big);
  EXPECT_EQ(s.in[0].words, std::vector<std::uint64_t>{0x3f800000});
  EXPECT_EQ(s.with.place, placement::dense);
}

TEST(Shrink, CutKeepsTheScalesOfWhatIsLeft) {
  problem p;
  p.what = target::retile;
  p.with.tile = 2;
  p.with.from = e4m3;
  p.in = {matrix("codes", e4m3, 1, 5), matrix("scales", fp32, 1, 3)};
  p.in[0].words = {1, 2, 3, 4, 5};
  p.in[1].words = {10, 20, 30};
  const auto q = cut(p, 'n', 1, 2);  // 1 4 5: groups of 1 and of 5
  EXPECT_EQ(q.in[0].words, (std::vector<std::uint64_t>{1, 4, 5}));
  EXPECT_EQ(q.in[1].words, (std::vector<std::uint64_t>{10, 30}));
}

RC_GTEST_PROP(Grow, RepeatsWhatIsThere, ()) {
  const auto t = *any_target();
  const auto p = *any_case(t);
  const auto m = length_of(p, 'm'), n = length_of(p, 'n');
  const auto q =
      repeated(p, m + *rc::gen::inRange(0, 300), n + *rc::gen::inRange(0, 300));
  RC_ASSERT(refuse_operands(q) == "");
  RC_ASSERT(
      cut(cut(q, 'm', m, length_of(q, 'm') - m), 'n', n, length_of(q, 'n') - n)
          .in == p.in);
  for (std::size_t i = 0; i < p.in.size(); ++i) {
    const auto spec = info_of(t).operands(p.with)[i];
    const bool plain = spec.rows.group == 1 && spec.cols.group == 1 &&
                       spec.rows.name == 'm' && spec.cols.name == 'n';
    const matrix& x = q.in[i];
    for (std::ptrdiff_t r = 0; plain && r < x.rows; ++r) {
      for (std::ptrdiff_t c = 0; c < x.cols; ++c) {
        RC_ASSERT(x(r, c) == p.in[i](r % m, c % n));
      }
    }
  }
}

TEST(Grow, MakesTilesOfACase) {
  const auto p = generate(target::retile, -1, 1, 3);
  counter_rng rng(1, 2);
  int tall = 0, wide = 0;
  for (int i = 0; i < 50; ++i) {
    const auto q = grown(p, rng);
    EXPECT_EQ(refuse_operands(q), "");
    if (length_of(q, 'm') > 128) ++tall;
    if (length_of(q, 'n') > 256) ++wide;
  }
  EXPECT_GT(tall, 5);
  EXPECT_GT(wide, 5);
}

// Each hand-written mutant is found, shrunk to a group or a step, and named.
TEST(Mutants, AreFoundShrunkAndNamed) {
  // Sanitizers, at level 0, see some of them, and level 1 a third.
  const int level = test::level();
  const std::size_t stride = level < 1 ? 10 : level < 2 ? 3 : 1;
  for (const exposure& x : expose_mutants(1, 200000, stride)) {
    ASSERT_TRUE(x.cases) << x.mutant;
    EXPECT_GT(x.rank, 0u) << x.mutant << ": " << x.small->token;
    const problem& small = x.small->shrunk;
    std::size_t elements = 0;
    for (const auto& m : small.in) elements += m.words.size();
    // Where groups, intervals or ranges of a split K meet, it takes more than
    // one of them: of unpromoted ranges three, 4 * 32 elements of either side.
    // Tiles of attention have 64 tokens, ranges of a sum over tokens 256.
    const std::size_t most = x.found_by == target::gemm        ? 2 * 257 + 2
                             : x.found_by == target::quantize  ? 265
                             : x.found_by == target::attention ? 4 * 129 + 1
                             : x.found_by == target::rms_norm_backward
                                 ? 4 * 257 + 1
                                 : 40;
    EXPECT_LE(elements, most) << x.mutant << ": " << x.small->token;
    if (x.found_by == target::gemm) {
      EXPECT_LE(small.in[0].rows * small.in[1].rows, 2) << x.mutant;
    }
    // The token alone gives the same failure.
    const auto p = parse_token(x.small->token);
    const auto mutant = parse_opponent("mutant:" + x.mutant, p.what);
    EXPECT_FALSE(same(run(core_opponent(), p), run(mutant, p))) << x.mutant;
  }
}

}  // namespace
}  // namespace zeroulp::fuzz
