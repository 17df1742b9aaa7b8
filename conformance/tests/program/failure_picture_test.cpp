// A failure as a picture: the map of an output, and the bits of a word.

#include <gtest/gtest.h>

#include "conformance/contract/registry.hpp"
#include "conformance/mutants/mutant.hpp"
#include "tools/zeroulp/conform/picture.hpp"
#include "tools/zeroulp/conform/report.hpp"

namespace zeroulp::program {
namespace {

fuzz::outputs codes(const std::vector<std::uint64_t>& words) {
  fuzz::matrix x("codes", e4m3, 2, 3);
  x.words = words;
  return {fuzz::matrix("scales", fp32, 1, 1, 0x3f800000), x};
}

TEST(FailurePicture, IsAMapAndTheBitsOfTheFirstThatDiffers) {
  // Right: 10, +0, NaN, 1 ...; another value, the other zero, no NaN.
  const auto p =
      picture_of(codes({0x52, 0x00, 0x7f, 0x38, 0x38, 0x38}),
                 codes({0x52, 0x80, 0x7e, 0x38, 0x38, 0x39}), {"core", "mine"});
  ASSERT_TRUE(p && p->map);
  EXPECT_EQ(p->map->rows, 2U);
  EXPECT_EQ(p->map->columns, 3U);
  EXPECT_EQ(p->map->kinds, (std::vector<std::uint8_t>{0, 4, 2, 0, 0, 1}));
  ASSERT_EQ(p->map->names.size(), 4U);
  EXPECT_EQ(p->bits.words[0].bits, 0x00U);
  EXPECT_EQ(p->bits.words[1].bits, 0x80U);
  EXPECT_EQ(p->bits.words[1].of, "mine");
  EXPECT_EQ(p->bits.fields[1].bits, 4);
  EXPECT_EQ(p->bits.differing,
            (std::vector<std::uint64_t>{1, 0, 0, 0, 0, 0, 0, 2}));
  EXPECT_NE(
      p->map_caption.find("codes (2 x 3) differs: 3 elements, in 2 of 2 rows"),
      std::string::npos);
  EXPECT_NE(p->bits_caption.find("codes(0, 1) is 80 (-0), not 00 (0)"),
            std::string::npos)
      << p->bits_caption;
}

TEST(FailurePicture, IsNoneWhereNothingDiffers) {
  const auto same = codes({1, 2, 3, 4, 5, 6});
  EXPECT_FALSE(picture_of(same, same, {"core", "mine"}));
}

TEST(FailurePicture, ReadsTheWordsOfAText) {
  struct told {
    const char* text;
    std::uint64_t got, right;
  };
  for (const auto& t :
       {told{"fp32 3f800000 -> e4m3: got 39, expected 38", 0x39, 0x38},
        told{"p a=[] c=00000000 got 3f800001 expected 3f800000", 0x3f800001,
             0x3f800000},
        told{"quantize: code (0, 5) is 0x7e, not 0x7d, x = 0x1", 0x7e, 0x7d},
        told{"output (32, 250) is 4504, not 4505", 0x4504, 0x4505},
        told{"3f800000 0 0: GPU 1f, core 1e", 0x1f, 0x1e},
        told{"case 5, device 1a, host 2b: x", 0x1a, 0x2b},
        told{"hopper.wgmma: 40, recorded 41: token", 0x40, 0x41}}) {
    const auto p = picture_of(t.text);
    ASSERT_TRUE(p) << t.text;
    EXPECT_FALSE(p->map);
    EXPECT_EQ(p->bits.words[1].bits, t.got) << t.text;
    EXPECT_EQ(p->bits.words[0].bits, t.right) << t.text;
  }
  for (const char* text :
       {"done at 12, not 13", "valid: got true expected false",
        "threw: the scales of A must be 256 x 14, not 1664 x 14",
        "wrote outside its matrices", "got 5, expected 5"}) {
    EXPECT_FALSE(picture_of(text)) << text;
  }
}

// Texts of checks that fail: those of single words are all read.
TEST(FailurePicture, TextsOfTheChecksHaveBits) {
  using conformance::check_list;
  using conformance::mutant_list;
  const std::pair<mutant_list (*)(), check_list (*)()> subjects[] = {
      {conformance::conversion_mutants, conformance::convert_checks},
      {conformance::arithmetic_mutants, conformance::arithmetic_checks},
      {conformance::step_mutants, conformance::step_checks},
      {conformance::quantizer_mutants, conformance::quantize_checks},
      {conformance::gemm_mutants, conformance::gemm_checks}};
  for (const auto& [mutants, checks] : subjects) {
    const auto faults = mutants();
    int failed = 0, shown = 0;
    std::string without;
    for (std::size_t n = 0; n < faults.size() && n < 4; ++n) {
      for (const auto& c : checks()) {
        if (c.level > 0) continue;
        const auto v = run_check(c, faults[n].table, {0, 1, true});
        if (v.failures == 0) continue;
        ++failed;
        const bool has = picture_of(v.first_failure).has_value();
        shown += has ? 1 : 0;
        if (!has) without += c.name + ": " + v.first_failure + "\n";
        break;
      }
    }
    EXPECT_GT(failed, 0);
    EXPECT_GE(2 * shown, failed) << without;
    EXPECT_GT(shown, 0) << without;
  }
}

// The page shows a claim's picture, and of another check the words of its text.
TEST(ConformReport, PageShowsAFailureAsAPicture) {
  conform_run r;
  conformance::verdict fails;
  fails.count(false, [] { return "fp32: got 39, expected 38"; });
  r.checks = {{{"core.a", "T1", "host", 0, {}}, fails, 0}};
  EXPECT_EQ(to_html(r).find("class=\"box map\""), std::string::npos);
  EXPECT_NE(to_html(r).find("<td class=\"differs\">1</td>"), std::string::npos);
  r.checks[0].picture = picture_of(codes({0, 0, 0, 0, 0, 0}),
                                   codes({0, 0, 0, 0, 0, 9}), {"core", "mine"});
  const auto text = to_html(r);
  EXPECT_NE(text.find("aria-label=\"Map of 2 x 3 elements: another value: 1"),
            std::string::npos);
  EXPECT_NE(text.find("<rect class=\"k1\" x=\"2\" y=\"1\" width=\"1\""),
            std::string::npos);
}

}  // namespace
}  // namespace zeroulp::program
