// The parts of pages: templates, error bars, maps and bits.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/study/report/markup.hpp"
#include "tools/study/report/report.hpp"
#include "tools/zeroulp/study/dose.hpp"
#include "tools/zeroulp/study/loss_page.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp {
namespace {

std::size_t times_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos;
       at += part.size()) {
    ++n;
  }
  return n;
}

std::string text_of(const std::filesystem::path& file) {
  const auto bytes = read_file(file);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Markup, FillsPlacesAndEscapesTexts) {
  EXPECT_EQ(
      fill("<a b=\"{{x}}\">{{{y}}}</a>{{x}}", {{"x", "<&>"}, {"y", "<i>"}}),
      "<a b=\"&lt;&amp;&gt;\"><i></a>&lt;&amp;&gt;");
  EXPECT_EQ(
      fill("{{?x}}[{{x}}]{{/x}}{{?y}}[{{y}}]{{/y}}", {{"x", ""}, {"y", "1"}}),
      "[1]");
  // What is put in is not looked at.
  EXPECT_EQ(fill("{{{x}}}{{y}}", {{"x", "{{y}}"}, {"y", "{{x}}"}}),
            "{{y}}{{x}}");
}

TEST(Markup, RefusesWhatATemplateDoesNotHave) {
  EXPECT_THROW((void)fill("{{x}}", {{"y", ""}}), std::logic_error);
  EXPECT_THROW((void)fill("{{x", {{"x", ""}}), std::logic_error);
  EXPECT_THROW((void)fill("{{?x}}", {{"x", ""}}), std::logic_error);
  EXPECT_THROW((void)fill_part("no part", {}), std::logic_error);
  EXPECT_EQ(fill_part("paragraph", {{"text", "&"}}), "<p>&amp;</p>");
}

// How a page looks is in files of HTML alone. An SVG is gnuplot's, JUnit's XML
// is no page.
TEST(Markup, NoSourceHasAnElementOfAPage) {
  const std::regex element(
      "</?(html|body|h[1-6]|p|div|span|nav|ul|li|a|figure|figcaption|pre|table|"
      "thead|tbody|tr|th|td|svg|rect|strong|br)[ >\"/\\\\]");
  int seen = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(
           ZEROULP_SOURCE_DIR "/tools")) {
    const auto path = file.path();
    if (path.extension() != ".cpp" && path.extension() != ".hpp") continue;
    if (path.filename() == "plot.cpp") continue;
    const auto text =
        std::regex_replace(text_of(path), std::regex("//[^\n]*"), "");
    if (text.find("html_page") == std::string::npos) continue;
    ++seen;
    for (std::sregex_iterator i(text.begin(), text.end(), element), end;
         i != end; ++i) {
      ADD_FAILURE() << path << ": " << i->str();
    }
  }
  EXPECT_GT(seen, 6);
}

plot dots() {
  return {.title = "Loss",
          .x_label = "arm",
          .y_label = "change",
          .kind = plot_kind::dots,
          .curves = {{"mean",
                      {{0, 0.1}, {1, -0.2}, {2, 0.3}},
                      {{0, 0.2}, {-0.4, -0.1}, {NAN, NAN}}}},
          .categories = {"a", "b", "c"},
          .x_ticks = {},
          .bounds = {}};
}

class Bars : public testing::Test {
 protected:
  void SetUp() override {
    if (!render_svg(dots())) GTEST_SKIP() << "gnuplot was not found";
  }
  /// Lines of one colour, or broken ones: a bar and its ends are three.
  static std::size_t lines_of(const plot& p, const std::string& look) {
    const auto svg = render_svg(p).value();
    const std::regex path("<path stroke='" + look + "'[^>]* d='([^']*)'");
    std::size_t lines = 0;
    for (std::sregex_iterator i(svg.begin(), svg.end(), path), end; i != end;
         ++i) {
      lines += times_of((*i)[1], "M");
    }
    return lines;
  }
  static std::size_t strokes(const plot& p) {
    return lines_of(p, "rgb\\( 47, 126, 216\\)");
  }
};

TEST_F(Bars, AreDrawnAtThePointsThatHaveOne) {
  auto p = dots();
  const auto two = strokes(p);
  p.curves[0].bars[2] = {0.2, 0.4};
  const auto three = strokes(p);
  p.curves[0].bars.clear();
  const auto none = strokes(p);
  EXPECT_EQ(two, none + 2 * 3);
  EXPECT_EQ(three, none + 3 * 3);
}

TEST_F(Bars, StandOnEveryKindOfPlot) {
  for (const auto kind : {plot_kind::lines, plot_kind::bars, plot_kind::dots}) {
    for (const bool log_y : {false, true}) {
      auto p = dots();
      p.kind = kind;
      p.log_y = log_y;
      p.curves[0].points[1].second = 0.2;
      p.curves[0].bars[1] = {-0.1, 0.5};  // on a log axis: to its end
      const auto with = strokes(p);
      p.curves[0].bars.clear();
      EXPECT_EQ(with, strokes(p) + 2 * 3) << static_cast<int>(kind) << log_y;
    }
  }
}

TEST_F(Bars, BoundsAreBrokenLinesInsideThePlot) {
  for (const auto kind : {plot_kind::lines, plot_kind::dots}) {
    auto p = dots();
    p.kind = kind;
    const std::string broken = "[^']*' stroke-dasharray='[0-9.,]*";
    EXPECT_EQ(lines_of(p, broken), 0U);
    p.bounds = {-9, 9};
    EXPECT_EQ(lines_of(p, broken), 2U);
    p.log_y = true;  // -9 has no place there
    EXPECT_EQ(lines_of(p, broken), 1U);
  }
}

TEST(BarsTable, HasTheIntervals) {
  EXPECT_EQ(to_csv(to_table(dots())),
            "arm,mean\na,0.1 (0 to 0.2)\nb,-0.2 (-0.4 to -0.1)\nc,0.3\n");
}

// The committed study of four seeds: each arm's mean with its interval.
TEST(LossPlots, HaveTheIntervalsOfTheRecord) {
  const auto loss = nlohmann::ordered_json::parse(
      text_of(ZEROULP_SOURCE_DIR "/conformance/records/study/loss.json"));
  const auto plots = program::loss_plots(loss);
  ASSERT_EQ(plots.size(), 3U);
  const auto& forks = plots[1];
  ASSERT_EQ(forks.curves.size(), 1U);
  ASSERT_EQ(forks.curves[0].points.size(), loss["forks"].size());
  ASSERT_EQ(forks.curves[0].bars.size(), loss["forks"].size());
  for (std::size_t i = 0; i < loss["forks"].size(); ++i) {
    const auto& one = loss["forks"][i];
    EXPECT_EQ(forks.curves[0].points[i].second,
              100 * one["mean"].get<double>());
    EXPECT_EQ(forks.curves[0].bars[i].first, 100 * one["low90"].get<double>());
    EXPECT_EQ(forks.curves[0].bars[i].second,
              100 * one["high90"].get<double>());
  }
  EXPECT_EQ(forks.bounds, (std::vector<double>{0, -0.25, 0.25}));
  // Outliers by kind; a series an arm, without BF16, whose change is 0.
  EXPECT_EQ(plots[2].categories.size(), 6U);
  EXPECT_EQ(plots[2].curves.size(), 3U);
}

TEST(LossPlots, PageShowsThemAndTheVerdicts) {
  const auto loss = nlohmann::ordered_json::parse(R"({"bound": 0.0025,
    "verdicts": [{"name": "n", "held": false, "text": "t"}],
    "forks": [{"arm": "full", "mean": 0.001, "low90": -0.001,
               "high90": 0.003}]})");
  html_page page("Study");
  program::add_loss(loss, page);
  const auto text = page.str();
  EXPECT_GE(times_of(text, "Paired forks: the loss beside BF16"), 1U);
  EXPECT_EQ(times_of(text, "<td class=\"n\">0.1</td><td class=\"n\">-0.1</td>"),
            1U);
  EXPECT_EQ(
      times_of(text, "<span class=\"badge bad\">FAILED</span></td><td>n<"), 1U);
}

// Magnitudes of an interval over seeds: one with 0 in it reaches 0. Gradients
// have the interval of their runs, each the mean of its checkpoints.
TEST(DoseFigures, HaveTheIntervalsOverSeeds) {
  loss_result r;
  r.doses = {{8, 128, 0, 0.01, 0.1}, {9, 128, 0, 0.005, 0.05}};
  r.forks = {{dose_arm(8), {}, {}, {-0.002, -0.003, -0.001}},
             {dose_arm(9), {}, {}, {0.001, -0.002, 0.004}}};
  for (const std::uint64_t seed : {1U, 2U}) {
    for (const std::int64_t step : {10, 20}) {
      const auto more = static_cast<double>(seed) + static_cast<double>(step);
      r.gaps.push_back({dose_arm(8), seed, step, 0, more / 100, 1, 1, 0});
    }
  }
  const auto figures = program::dose_figures(r);
  ASSERT_EQ(figures.size(), std::size(program::dose_files));
  const auto& loss = figures[0].drawn.curves[0];
  ASSERT_EQ(loss.bars.size(), 2U);
  EXPECT_DOUBLE_EQ(loss.points[0].second, 0.2);
  EXPECT_DOUBLE_EQ(loss.bars[0].first, 0.1);
  EXPECT_DOUBLE_EQ(loss.bars[0].second, 0.3);
  EXPECT_DOUBLE_EQ(loss.bars[1].first, 0);
  EXPECT_DOUBLE_EQ(loss.bars[1].second, 0.4);
  const auto& gradients = figures[2].drawn.curves[0];
  ASSERT_EQ(gradients.bars.size(), 1U);
  EXPECT_DOUBLE_EQ(gradients.points[0].second, 16.5);
  // t of one degree of freedom, 6.314, times 0.707 / sqrt(2).
  EXPECT_NEAR(gradients.bars[0].second - 16.5, 6.314 / 2, 1e-9);
  EXPECT_NEAR(16.5 - gradients.bars[0].first, 6.314 / 2, 1e-9);
}

TEST(Map, HasARectangleForARunOfOneKind) {
  html_page page("Map");
  page.add_map({2, 4, {0, 1, 1, 2, 0, 0, 0, 1}, {"value <", "nan", "none"}},
               "Where.");
  const auto text = page.str();
  EXPECT_EQ(times_of(text, "<rect "), 3U);
  EXPECT_EQ(times_of(text, "<rect class=\"k1\" x=\"1\" y=\"0\" width=\"2\""),
            1U);
  EXPECT_EQ(times_of(text, "<rect class=\"k2\" x=\"3\" y=\"0\" width=\"1\""),
            1U);
  EXPECT_EQ(times_of(text, "viewBox=\"0 0 4 2\""), 1U);
  EXPECT_EQ(times_of(text, "Map of 2 x 4 elements: value &lt;: 3, nan: 1\""),
            1U);
  EXPECT_EQ(times_of(text, "A square"), 0U);
}

// One element of a million is seen, and the commonest kind of a square wins.
TEST(Map, OfALargeMatrixShowsSquares) {
  shown_map m{1000, 1000, std::vector<std::uint8_t>(1000 * 1000), {"a", "b"}};
  m.kinds[999 * 1000 + 999] = 1;
  m.kinds[0] = 1;
  m.kinds[1] = m.kinds[2] = 2;
  html_page page("Map");
  page.add_map(m, "Where.");
  const auto text = page.str();
  EXPECT_EQ(times_of(text, "<rect "), 2U);
  EXPECT_EQ(times_of(text, "<rect class=\"k2\" x=\"0\" y=\"0\""), 1U);
  EXPECT_EQ(times_of(text, "<rect class=\"k1\" x=\"124\" y=\"124\""), 1U);
  EXPECT_EQ(times_of(text, "Where. A square is 8 x 8 elements."), 1U);
}

TEST(Bits, ShowsWhichDiffer) {
  html_page page("Bits");
  page.add_bits({{{"sign", 1}, {"exponent", 4}, {"fraction", 3}},
                 {{"core", 0x7e}, {"mine", 0xfd}},
                 {1, 0, 0, 0, 0, 0, 4, 2}},
                "First.");
  const auto text = page.str();
  EXPECT_EQ(times_of(text, "colspan=\"4\">exponent<"), 1U);
  const auto mine = text.substr(text.find(">mine<"));
  EXPECT_EQ(times_of(mine, "begins differs\">1<"), 1U);  // the sign
  EXPECT_EQ(times_of(mine, "\"differs\">0<"), 1U);       // the bit of 2
  EXPECT_EQ(times_of(mine, "\"differs\">1<"), 1U);       // the bit of 1
  EXPECT_EQ(times_of(mine, "--share: 82%\" title=\"4\""), 1U);
}

}  // namespace
}  // namespace zeroulp
