// Explanations, on data as users have them: N(0, 1) in BF16. Every fault and
// definition that shows on them is a kernel with a known cause; right kernels
// and noise have none. ZEROULP_LEVEL 2 takes 256 x 1024 elements and 1,000 of
// each, and prints what was named.

#include "fuzz/explain/explain.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "conformance/tests/level.hpp"
#include "fuzz/engine/opponent.hpp"
#include "fuzz/explain/report.hpp"
#include "zeroulp/core/convert.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::fuzz {
namespace {

bool thorough() { return test::level() >= 2; }

std::uint64_t normal(format f, counter_rng& rng) {
  const double u = (static_cast<double>(rng.next() >> 11) + 0.5) * 0x1p-53;
  const double v = (static_cast<double>(rng.next() >> 11) + 0.5) * 0x1p-53;
  return encode(
      f, decode(std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v)));
}

matrix normals(const char* name, format f, std::ptrdiff_t rows,
               std::ptrdiff_t cols, std::uint64_t seed) {
  matrix x(name, f, rows, cols);
  counter_rng rng(seed, 0);
  for (auto& word : x.words) word = normal(f, rng);
  return x;
}

problem quantizing(const char* convention, scale_kind scale,
                   std::ptrdiff_t rows, std::ptrdiff_t cols,
                   std::uint64_t seed) {
  problem p;
  p.what = target::quantize;
  p.with.from = bf16;
  p.with.how = parse_convention(convention);
  p.with.scale = scale;
  p.in = {normals("x", bf16, rows, cols, seed), matrix("history", fp32, 1, 0),
          matrix("current", fp32, 1, 1)};
  return p;
}

/// C, A and B of N(0, 1), quantized as DeepGEMM takes them.
problem multiplying(const char* name, std::ptrdiff_t m, std::ptrdiff_t n,
                    std::ptrdiff_t k, std::uint64_t seed) {
  problem p;
  p.what = target::gemm;
  settings& s = p.with;
  s.unit = hopper_wgmma_e4m3;
  s.gemm = parse_recipe(name).value;
  s.gemm.acc = s.unit.acc;
  const auto operand = [&](const char* codes, const char* scales,
                           std::ptrdiff_t rows, granularity g,
                           std::uint64_t with) {
    problem q = quantizing("vllm", scale_kind::float32, rows, k, with);
    q.with.group = {g.mn, g.k};
    outputs made = claimed_outputs(q);
    made[1].name = codes;
    made[0].name = scales;
    p.in.push_back(std::move(made[1]));
    return made[0];
  };
  matrix a_scales = operand("a", "a_scales", m, s.gemm.a, 2 * seed);
  matrix b_scales = operand("b", "b_scales", n, s.gemm.b, 2 * seed + 1);
  p.in.push_back(std::move(a_scales));
  p.in.push_back(std::move(b_scales));
  p.in.push_back(normals("c", fp32, m, n, seed));
  return p;
}

outputs without(outputs made, std::initializer_list<const char*> names) {
  std::erase_if(made, [&](const matrix& x) {
    return std::find(names.begin(), names.end(), std::string_view(x.name)) !=
           names.end();
  });
  return made;
}

/// What a kernel gives its user: no guards, no amax, no dequantized values.
outputs results(const outputs& made) {
  return without(made, {"values", "amax", "guards"});
}

bool names(const explanation& e, const std::string& cause) {
  if (e.likely.empty()) return false;
  const likely_cause& first = e.likely[0];
  return first.name == cause || std::find(first.same.begin(), first.same.end(),
                                          cause) != first.same.end();
}

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
  const std::ptrdiff_t rows = thorough() ? 256 : 32;
  const std::ptrdiff_t cols = thorough() ? 1024 : 512;
  for (const auto scale : {scale_kind::float32, scale_kind::pow2}) {
    const auto c = confuse(quantizing("vllm", scale, rows, cols, 1));
    if (thorough()) fmt::print("quantize {}: {}", name_of(scale), c.text());
    EXPECT_GE(c.share(), 0.8) << c.text();
    EXPECT_GE(c.show, 6);
  }
}

TEST(Explain, NamesTheCauseOfAProduct) {
  const std::ptrdiff_t m = thorough() ? 256 : 16;
  for (const char* recipe : {"deepgemm.1d2d", "cublaslt.tensorwise"}) {
    const auto c =
        confuse(multiplying(recipe, m, 3 * m / 2, thorough() ? 1024 : 512, 1));
    if (thorough()) fmt::print("gemm {}: {}", recipe, c.text());
    EXPECT_GE(c.share(), 0.8) << c.text();
    EXPECT_GE(c.show, 6);
  }
}

TEST(Explain, NamesTheCauseOfARetiling) {
  problem q = quantizing("vllm", scale_kind::pow2, 256, 512, 3);
  const outputs made = claimed_outputs(q);
  problem p;
  p.what = target::retile;
  p.with.from = e4m3;
  p.with.scale = scale_kind::pow2;
  p.in = {made[1], made[0]};
  p.in[0].name = "codes";
  const auto c = confuse(p);
  if (thorough()) fmt::print("retile: {}", c.text());
  EXPECT_GE(c.share(), 0.8) << c.text();
}

TEST(Explain, SaysNothingOfARightKernel) {
  const int count = thorough() ? 1000 : 40;
  for (int i = 0; i < count; ++i) {
    const auto& how = named_conventions[static_cast<std::size_t>(i) %
                                        std::size(named_conventions)];
    const auto scale = i % 3 == 0 ? scale_kind::pow2 : scale_kind::float32;
    const auto p =
        quantizing(how.name, scale, 16, 256, static_cast<std::uint64_t>(i));
    const auto e = explain(p, results(run(core_opponent(), p)));
    EXPECT_TRUE(e.same()) << how.name;
    EXPECT_TRUE(e.likely.empty()) << how.name;
    EXPECT_EQ(e.tried, 0u);
  }
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

TEST(Explain, NamesNothingInNoise) {
  const int count = thorough() ? 1000 : 28;
  const double shares[] = {1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5, 1};
  int named = 0, differ = 0;
  for (int i = 0; i < count; ++i) {
    counter_rng rng(99, static_cast<std::uint64_t>(i));
    const auto p =
        quantizing(i % 2 == 0 ? "vllm" : "zeroulp",
                   i % 3 == 0 ? scale_kind::pow2 : scale_kind::float32,
                   thorough() ? 256 : 32, thorough() ? 1024 : 512,
                   static_cast<std::uint64_t>(i));
    const auto made = noisy(p, shares[i % 7], i % 5 == 0 ? 3 : 1, rng);
    const auto e = explain(p, made);
    differ += !e.same();
    if (e.likely.empty()) continue;
    ++named;
    ADD_FAILURE() << "share " << shares[i % 7] << "\n" << to_text(e, "vllm");
  }
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
