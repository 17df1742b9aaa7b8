// Explanations, on data as users have them: N(0, 1) in BF16. Every fault and
// definition that shows on them is a kernel with a known cause; right kernels
// and noise have none. ZEROULP_LEVEL 2 takes 1,000 of each, noise of 256 x 1024
// elements. explain_matrix_test.cpp has every cause on as many.

#include "fuzz/explain/explain.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "conformance/tests/fuzz/explain_parts.hpp"
#include "conformance/tests/level.hpp"
#include "fuzz/cases/token.hpp"
#include "fuzz/explain/report.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

bool thorough() { return test::level() >= 2; }

/// Whether the causes that show on a problem are named first: by themselves, or
/// among those that give the same bits here.
struct confusion {
  int show = 0;
  int alone = 0;
  int first = 0;
  int among = 0;
  std::string others;

  double share() const { return show == 0 ? 1 : double(among) / show; }
  std::string text() const {
    return fmt::format(
        "{} show; named first {}, of these alone {}; with what gives the same "
        "bits {}\n{}",
        show, first, alone, among, others);
  }
};

confusion confuse(const problem& p) {
  confusion c;
  const outputs claimed = results(claimed_outputs(p));
  std::vector<suspect> causes = faults(p);
  for (auto& s : definitions(p)) causes.push_back(std::move(s));
  for (const suspect& s : causes) {
    const outputs made = results(s.answer(p));
    if (same(claimed, made)) continue;
    ++c.show;
    const auto e = explain(p, made);
    if (names(e, s.name)) {
      ++c.among;
      c.first += e.likely[0].name == s.name;
      c.alone += e.likely[0].same.empty();
    } else {
      c.others += fmt::format("  {} is called {}\n", s.name,
                              e.likely.empty() ? "nothing" : e.likely[0].name);
    }
  }
  return c;
}

TEST(Explain, NamesTheCauseOfAQuantizer) {
  for (const auto scale : {scale_kind::float32, scale_kind::pow2}) {
    const auto c = confuse(quantizing("vllm", scale, 32, 512, 1));
    EXPECT_GE(c.share(), 0.8) << c.text();
    EXPECT_GE(c.show, 6);
  }
}

TEST(Explain, NamesTheCauseOfAProduct) {
  for (const char* recipe : {"deepgemm.1d2d", "cublaslt.tensorwise"}) {
    const auto c = confuse(multiplying(recipe, 16, 24, 512, 1));
    EXPECT_GE(c.share(), 0.8) << c.text();
    EXPECT_GE(c.show, 6);
  }
}

TEST(Explain, NamesTheCauseOfARetiling) {
  const auto c =
      confuse(retiling(quantizing("vllm", scale_kind::pow2, 256, 512, 3)));
  EXPECT_GE(c.share(), 0.8) << c.text();
}

/// A quantizer or a product of any definition, kind of scale and group.
problem right_problem(int i) {
  const auto n = static_cast<std::size_t>(i);
  const auto seed = static_cast<std::uint64_t>(i);
  if (i % 3 == 2) {
    const auto& r = named_recipes[n / 3 % std::size(named_recipes)];
    return multiplying(r.name, 8 + i % 5, 24, 256, seed);
  }
  constexpr group_shape groups[] = {{1, 128}, {128, 128}, {0, 0}, {1, 32}};
  const auto& how = named_conventions[n % std::size(named_conventions)];
  const auto& scale = named_scale_kinds[n / 2 % std::size(named_scale_kinds)];
  return quantizing(how.name, scale.value, 16, 256, seed, groups[n / 7 % 4]);
}

TEST(Explain, SaysNothingOfARightKernel) {
  const int count = thorough() ? 1000 : 60;
  for (int i = 0; i < count; ++i) {
    const problem p = right_problem(i);
    const auto e = explain(p, results(run(core_opponent(), p)));
    EXPECT_TRUE(e.same()) << i;
    EXPECT_TRUE(e.likely.empty()) << i;
    EXPECT_EQ(e.tried, 0u);
  }
}

// A kernel that is right by another definition than the one that is claimed
// for it is never called a third thing.
TEST(Explain, NamesNothingElseOfAKernelThatIsRightOtherwise) {
  const int count = thorough() ? 1000 : 40;
  int differ = 0, named = 0;
  for (int i = 0; i < count; ++i) {
    counter_rng rng(7, static_cast<std::uint64_t>(i));
    const problem p = right_problem(i);
    const auto others = definitions(p);
    const suspect& kernel =
        others[rng.below(static_cast<std::uint32_t>(others.size()))];
    const outputs made = results(kernel.answer(p));
    if (same(made, results(claimed_outputs(p)))) continue;
    ++differ;
    explain_options how;
    how.distinguish = false;
    const auto e = explain(p, made, how);
    if (e.likely.empty()) continue;
    ++named;
    EXPECT_TRUE(names(e, kernel.name)) << i << ": " << kernel.name << "\n"
                                       << to_text(e, "the claim");
  }
  EXPECT_GT(2 * named, differ);
  if (thorough()) fmt::print("{} of {} named\n", named, differ);
}

/// The claimed bits with noise: a share of the elements a few codes off.
outputs noisy(const problem& p, double share, int reach, counter_rng& rng) {
  outputs made = results(claimed_outputs(p));
  for (matrix& x : made) {
    if (x.name == std::string_view("scales") && rng.one_in(2)) continue;
    const std::uint64_t largest = x.type.max_code();
    for (auto& word : x.words) {
      const double u = static_cast<double>(rng.next() >> 11) * 0x1p-53;
      if (u >= share) continue;
      const auto magnitude = word & x.type.magnitude_mask();
      const auto by = static_cast<std::uint64_t>(rng.between(1, reach));
      const bool up =
          magnitude < by || (rng.one_in(2) && magnitude + by <= largest);
      word =
          (word & x.type.sign_mask()) | (up ? magnitude + by : magnitude - by);
    }
  }
  return made;
}

/// Random codes, one wrong bit somewhere, or the right values in any order.
outputs disordered(const problem& p, int kind, counter_rng& rng) {
  outputs made = results(claimed_outputs(p));
  for (matrix& x : made) {
    if (x.name == std::string_view("scales") && kind != 0) continue;
    const auto size = static_cast<std::uint32_t>(x.words.size());
    if (kind == 0) {
      for (auto& word : x.words) word = rng.next() & low_bits(x.type.bits());
    } else if (kind == 1) {
      x.words[rng.below(size)] ^=
          1ull << rng.below(static_cast<std::uint32_t>(x.type.bits()));
    } else {
      for (std::uint32_t i = size; i > 1; --i) {
        std::swap(x.words[i - 1], x.words[rng.below(i)]);
      }
    }
  }
  return made;
}

// Every tenth noise of the thousand is on 256 x 1024 elements.
TEST(Explain, NamesNothingInNoise) {
  const int count = thorough() ? 1000 : 28;
  const double shares[] = {1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5, 1};
  int named = 0, differ = 0;
  for (int i = 0; i < count; ++i) {
    counter_rng rng(99, static_cast<std::uint64_t>(i));
    const bool large = thorough() && i % 10 == 9;
    const auto scale = i % 3 == 0 ? scale_kind::pow2 : scale_kind::float32;
    const auto p =
        quantizing(i % 2 == 0 ? "vllm" : "zeroulp", scale, large ? 256 : 32,
                   large ? 1024 : 512, static_cast<std::uint64_t>(i));
    const auto made = i % 4 == 0
                          ? noisy(p, shares[i / 4 % 7], i % 5 == 0 ? 3 : 1, rng)
                          : disordered(p, i % 4 - 1, rng);
    const auto e = explain(p, made);
    differ += !e.same();
    if (e.likely.empty()) continue;
    ++named;
    fmt::print("{} is named:\n{}", i, to_text(e, "vllm"));
  }
  EXPECT_LE(1000 * named, count);
  EXPECT_GT(differ, count / 2);
  if (thorough()) fmt::print("noise: {} of {} named\n", named, differ);
}

TEST(Explain, SaysWhereAndHowFar) {
  const auto p = quantizing("vllm", scale_kind::float32, 64, 512, 5);
  outputs made = results(claimed_outputs(p));
  // made[0] are the scales, made[1] the codes: rows 8 to 15 are lost.
  for (std::ptrdiff_t i = 8; i < 16; ++i) {
    for (std::ptrdiff_t j = 0; j < 512; ++j) made[1](i, j) = 0;
  }
  const auto e = explain(p, made);
  ASSERT_EQ(e.outputs.size(), 2u);
  EXPECT_EQ(e.outputs[0].different(), 0u);
  const auto& d = e.outputs[1];
  EXPECT_EQ(d.rows_hit, 8);
  EXPECT_NE(
      std::find(d.patterns.begin(), d.patterns.end(), "only rows 8 to 15"),
      d.patterns.end());
  EXPECT_NE(std::find(d.patterns.begin(), d.patterns.end(),
                      "all of these are 0 (0|0000|000)"),
            d.patterns.end());
  EXPECT_NE(e.element.find("ulp from the tie"), std::string::npos);
}

TEST(Explain, FindsDisplacedRows) {
  const auto p = quantizing("vllm", scale_kind::float32, 64, 512, 6);
  outputs made = results(claimed_outputs(p));
  const outputs right = made;
  for (std::ptrdiff_t i = 0; i < 64; ++i) {
    for (std::ptrdiff_t j = 0; j < 512; ++j) {
      made[1](i, j) = right[1](i ^ 1, j);
    }
  }
  const auto e = explain(p, made);
  ASSERT_FALSE(e.likely.empty());
  EXPECT_EQ(e.likely[0].name, "place:codes.rows");
  EXPECT_TRUE(e.likely[0].exact());
}

TEST(Explain, FindsMisreadScales) {
  const auto p = multiplying("deepgemm.1d2d", 4, 256, 384, 7);
  for (const suspect& s : misreadings(p)) {
    const outputs made = results(s.answer(p));
    if (same(made, results(claimed_outputs(p)))) continue;
    EXPECT_TRUE(names(explain(p, made), s.name)) << s.name;
  }
}

// Causes with the same bits are one answer, and a case tells them apart.
TEST(Explain, ListsTiesAsOneAnswer) {
  const auto p = quantizing("vllm", scale_kind::float32, 64, 512, 5);
  problem q = p;
  q.with.how = parse_convention("deepseek_v3");
  const auto e = explain(p, results(claimed_outputs(q)));
  ASSERT_FALSE(e.likely.empty());
  EXPECT_TRUE(e.likely[0].has("convention:deepseek_v3"));
  ASSERT_FALSE(e.likely[0].same.empty());
  const auto text = to_text(e, "vllm");
  EXPECT_NE(text.find(fmt::format("one of {} with the same bits on this data",
                                  1 + e.likely[0].same.size())),
            std::string::npos)
      << text;
  ASSERT_TRUE(e.distinguishing) << text;
  EXPECT_GE(e.distinguishing->results, 2u);
  EXPECT_EQ(parse_token(e.distinguishing->token).with.how.name,
            p.with.how.name);
  const auto json = to_json(e, "vllm");
  EXPECT_EQ(json["likely"][0]["one_of"].size(), 1 + e.likely[0].same.size());
  EXPECT_EQ(json["apart"]["token"], e.distinguishing->token);
}

TEST(Explain, LeavesOutWhatIsIgnored) {
  auto p = quantizing("zeroulp", scale_kind::float32, 4, 128, 8);
  p.in[0].words[3] = 0x7fc0;  // a NaN
  outputs made = results(claimed_outputs(p));
  bool any = false;
  for (auto& word : made[1].words) {
    if ((word & 0x7f) != 0x7f) continue;
    word ^= 0x80;
    any = true;
  }
  ASSERT_TRUE(any);
  EXPECT_FALSE(explain(p, made).same());
  explain_options how;
  how.ignored = only(mismatch_kind::nan_bits);
  EXPECT_TRUE(explain(p, made, how).same());
}

TEST(Explain, RefusesWhatDoesNotFit) {
  const auto p = quantizing("vllm", scale_kind::float32, 4, 128, 9);
  outputs made = results(claimed_outputs(p));
  made[1].cols = 64;
  made[1].words.resize(256);
  EXPECT_THROW(explain(p, made), input_error);
  EXPECT_THROW(explain(p, {}), input_error);
  EXPECT_THROW(explain(p, {matrix("d", fp32, 1, 1)}), input_error);
}

TEST(Explain, TellsPlacesInWords) {
  const auto at = [](std::ptrdiff_t rows, std::ptrdiff_t cols, auto where) {
    std::vector<bool> hit;
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
      for (std::ptrdiff_t j = 0; j < cols; ++j) hit.push_back(where(i, j));
    }
    return fmt::format("{}", fmt::join(patterns_of(hit, rows, cols), "; "));
  };
  EXPECT_EQ(at(4, 4, [](auto, auto) { return false; }), "");
  EXPECT_EQ(at(4, 4, [](auto, auto) { return true; }), "all elements");
  EXPECT_EQ(at(8, 64, [](auto i, auto) { return i == 3; }),
            "only row 3; whole rows");
  EXPECT_EQ(at(8, 100, [](auto, auto j) { return j >= 64; }),
            "only columns 64 to 99, the last; whole columns");
  EXPECT_EQ(at(8, 512, [](auto, auto j) { return j % 8 == 5; }),
            "whole columns; only columns that are 5 modulo 8");
}

}  // namespace
}  // namespace zeroulp::fuzz
