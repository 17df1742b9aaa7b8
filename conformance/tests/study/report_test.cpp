// Tables, plots and pages: what a person or a parser relies on.

#include "tools/study/report/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace zeroulp {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos;
       at += part.size()) {
    ++n;
  }
  return n;
}

plot line_plot() {
  return {.title = "Error against K",
          .x_label = "K",
          .y_label = "Frobenius",
          .kind = plot_kind::lines,
          .log_x = true,
          .log_y = true,
          .curves = {{"none", {{1024, 0.01}, {4096, 0.06}, {16384, 0.2}}},
                     {"128", {{1024, 5e-4}, {4096, 5e-4}, {16384, 5e-4}}}},
          .categories = {},
          .x_ticks = {1024, 4096, 16384}};
}

plot bar_plot() {
  plot p = line_plot();
  p.kind = plot_kind::bars;
  p.x_label = "input";
  p.categories = {"N(0,1)", "U(0,1)", "U(-1,1)"};
  return p;
}

class Svg : public testing::Test {
 protected:
  void SetUp() override {
    if (!render_svg(line_plot())) GTEST_SKIP() << "gnuplot was not found";
  }
};

TEST(TableText, AlignsNumbersRightAndTextLeft) {
  const table t = {
      {"input", "error", "note"},
      {{"N(0,1)", "1.25", "a"}, {"U", "0.001", "b c"}, {"é", "-"}}};
  EXPECT_EQ(to_text(t),
            "input   error  note\n"
            "------  -----  ----\n"
            "N(0,1)   1.25  a\n"
            "U       0.001  b c\n"
            "é           -\n");
}

TEST(TableText, ShowsATableWithoutRows) {
  EXPECT_EQ(to_text({{"a", "bc"}, {}}), "a  bc\n-  --\n");
  EXPECT_EQ(to_text({}), "\n\n");
}

TEST(TableText, WrapsTextInItsColumnAndKeepsNumbersWhole) {
  const table t = {{"check", "cases", "verdict"},
                   {{"encode", "4294967296", "held"},
                    {"arith", "12", "MISMATCH at 3f800000: expected 1"}}};
  EXPECT_EQ(to_text(t, 52), to_text(t));
  EXPECT_EQ(to_text(t, 36),
            "check        cases  verdict\n"
            "------  ----------  ----------------\n"
            "encode  4294967296  held\n"
            "arith           12  MISMATCH at\n"
            "                    3f800000:\n"
            "                    expected 1\n");
}

TEST(TableText, CutsATableOfManyColumnsAndRepeatsTheFirst) {
  const table t = {{"name", "bits", "max", "min"},
                   {{"e4m3", "8", "448", "0.001953125"},
                    {"é", "16", "65024", "0.0000009536743"}}};
  EXPECT_EQ(to_text(t, 24),
            "name  bits    max\n"
            "----  ----  -----\n"
            "e4m3     8    448\n"
            "é       16  65024\n"
            "\n"
            "name              min\n"
            "----  ---------------\n"
            "e4m3      0.001953125\n"
            "é     0.0000009536743\n");
}

TEST(TableText, BreaksALongNameBehindAMark) {
  const table t = {{"path", "what"}, {{"hopper.wgmma.e4m3", "one word"}}};
  EXPECT_EQ(to_text(t, 20),
            "path        what\n"
            "----------  --------\n"
            "hopper.     one word\n"
            "wgmma.e4m3\n");
}

TEST(TableText, NoLineIsLongerThanTheTerminal) {
  const table t = {{"the first", "second", "third_column_of_all"},
                   {{"a.name.that.is.long", "12345", "ααααααααααααααααααααα"},
                    {"", "-", "words and words and words and words"}}};
  for (std::size_t width = 20; width < 70; ++width) {
    std::istringstream lines(to_text(t, width));
    for (std::string line; std::getline(lines, line);) {
      const auto points = std::count_if(
          line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
      EXPECT_LE(static_cast<std::size_t>(points), width) << line;
    }
  }
}

TEST(TableCsv, QuotesWhatRfc4180AsksFor) {
  const table t = {{"a", "b,c"},
                   {{"x\"y", "1\n2"}, {"plain", ""}, {"short"}, {"\r", "=1"}}};
  EXPECT_EQ(to_csv(t),
            "a,\"b,c\"\n\"x\"\"y\",\"1\n2\"\nplain,\nshort,\n\"\r\",=1\n");
}

TEST(PlotTable, HasARowForEachXAndAColumnForEachSeries) {
  plot p = line_plot();
  p.curves[1].points.erase(p.curves[1].points.begin() + 1);
  p.curves[1].points.emplace_back(256, 0.5);
  EXPECT_EQ(to_csv(to_table(p)),
            "K,none,128\n256,,0.5\n1024,0.01,0.0005\n4096,0.06,\n"
            "16384,0.2,0.0005\n");
  EXPECT_EQ(to_csv(to_table(bar_plot())),
            "input,none,128\n\"N(0,1)\",0.01,0.0005\n\"U(0,1)\",0.06,0.0005\n"
            "\"U(-1,1)\",0.2,0.0005\n");
}

TEST(Plot, IsAbsentWithoutGnuplotOrWhereItFails) {
  EXPECT_FALSE(render_svg(line_plot(), "/nonexistent/gnuplot").has_value());
  EXPECT_FALSE(render_svg(line_plot(), "no-such-program").has_value());
  EXPECT_FALSE(render_svg(line_plot(), "false").has_value());
  EXPECT_FALSE(render_svg(line_plot(), "true").has_value());
}

TEST(Plot, IsAbsentWithoutAPointToDraw) {
  plot p = line_plot();
  for (series& s : p.curves) s.points = {{1, 0}, {2, -1}, {0, 1}, {1, inf}};
  EXPECT_FALSE(render_svg(p).has_value());
  p.kind = plot_kind::bars;
  p.log_y = true;
  for (series& s : p.curves) s.points = {{0, 0}, {0, std::nan("")}};
  EXPECT_FALSE(render_svg(p).has_value());
  EXPECT_FALSE(render_svg({}).has_value());
}

TEST_F(Svg, IsOneElementThatFollowsThePagesColours) {
  for (const plot& p : {line_plot(), bar_plot()}) {
    const std::string svg = render_svg(p).value();
    EXPECT_EQ(svg.rfind("<svg", 0), 0U);
    EXPECT_EQ(svg.substr(svg.size() - 6), "</svg>");
    EXPECT_EQ(count(svg, "<svg"), 1U);
    EXPECT_EQ(count(svg, "black"), 0U);
    EXPECT_FALSE(std::regex_search(svg, std::regex(R"(rgb\( *0, *0, *0\))")));
    for (const char* text : {p.title.c_str(), "none", "128", "Frobenius"}) {
      EXPECT_NE(svg.find(text), std::string::npos) << text;
    }
    EXPECT_EQ(render_svg(p).value(), svg);
  }
}

TEST_F(Svg, ShowsTextAsItIsAndExecutesNoneOfIt) {
  plot p = bar_plot();
  p.title = "é it's `echo pwned` \"$HOME\" {/Bold x_1^2} 50% \\n @macro";
  p.curves[0].name = "'; system 'false'; '";
  p.categories[1] = "a\nb' 1, 'c 9%d`8`";
  const std::string svg = render_svg(p).value();
  EXPECT_NE(svg.find("it's `echo pwned`"), std::string::npos);
  EXPECT_NE(svg.find("{/Bold x_1^2} 50% \\n @macro"), std::string::npos);
  EXPECT_NE(svg.find("'; system 'false'; '"), std::string::npos);
  EXPECT_NE(svg.find("a b' 1, 'c 9%d`8`"), std::string::npos);
}

TEST_F(Svg, LeavesOutPointsThatTheAxisCannotShow) {
  plot p = line_plot();
  p.curves[0].points = {{1, 0.5}, {2, 0}, {3, inf}, {4, std::nan("")}, {5, 1}};
  EXPECT_TRUE(render_svg(p).has_value());
  p.curves[0].points = {{0, 0.5}, {-1, 0.5}, {1, 0.5}, {5, 1}};
  EXPECT_TRUE(render_svg(p).has_value());
  p.log_y = false;
  p.curves = {{"negative", {{1, -0.5}, {2, 0.25}}}};
  EXPECT_TRUE(render_svg(p).has_value());
  p.kind = plot_kind::bars;
  EXPECT_FALSE(render_svg(p).has_value());  // no category to stand at
  p.categories = {"a", "b"};
  EXPECT_TRUE(render_svg(p).has_value());
  p.curves = {{"one point", {{1, 1}}}};
  p.kind = plot_kind::lines;
  EXPECT_TRUE(render_svg(p).has_value());
}

TEST_F(Svg, IdsAreUniqueInAPageAndEveryReferenceHasItsTarget) {
  html_page page("Plots");
  const auto svg = render_svg(line_plot());
  page.add_figure(line_plot(), "one", svg);
  page.add_figure(line_plot(), "two", svg);
  page.add_figure(bar_plot(), "three", render_svg(bar_plot()));
  const std::string text = page.str();
  std::set<std::string> ids;
  const std::regex id(R"(\sid=["']([^"']*)["'])");
  std::size_t found = 0;
  for (std::sregex_iterator i(text.begin(), text.end(), id), end; i != end;
       ++i, ++found) {
    EXPECT_TRUE(ids.insert((*i)[1]).second) << (*i)[1];
  }
  EXPECT_GT(found, 30U);
  const std::regex reference(R"((?:href=["']#|url\(#)([^"')]*)["')])");
  for (std::sregex_iterator i(text.begin(), text.end(), reference), end;
       i != end; ++i) {
    EXPECT_EQ(ids.count((*i)[1]), 1U) << (*i)[1];
  }
}

// The page needs nothing from anywhere: namespaces are the only addresses.
TEST_F(Svg, PageIsSelfContained) {
  html_page page("Study");
  page.add_figure(line_plot(), "c", render_svg(line_plot()));
  const std::string text = page.str();
  EXPECT_EQ(count(text, "http"), count(text, "http://www.w3.org/"));
  for (const char* part : {"<script", "<link", "src=", "@import", "url(h"}) {
    EXPECT_EQ(count(text, part), 0U) << part;
  }
}

TEST(HtmlPage, EscapesEveryText) {
  const std::string evil = "<b>&\"'</b>";
  const std::string safe = "&lt;b&gt;&amp;&quot;&#39;&lt;/b&gt;";
  html_page page(evil);
  page.add_heading(evil, evil);
  page.add_links({{evil, evil}});
  page.add_paragraph(evil);
  page.add_table({{evil}, {{evil}}}, evil);
  plot p = line_plot();
  p.title = p.x_label = p.y_label = p.curves[0].name = evil;
  page.add_figure(p, evil, std::nullopt);
  EXPECT_EQ(count(page.str(), "<b>"), 0U);
  EXPECT_EQ(count(page.str(), safe), 15U);
}

TEST_F(Svg, HasDotsWhereABarWouldStandOnNothing) {
  plot p = bar_plot();
  p.log_y = false;
  // gnuplot fills the box of a bar; a marker is a <use>.
  const auto bars = render_svg(p).value();
  p.log_y = true;
  const auto dots = render_svg(p).value();
  EXPECT_GT(count(bars, "<polygon"), 5U);
  EXPECT_LT(count(dots, "<polygon"), count(bars, "<polygon"));
  EXPECT_GE(count(dots, "<use"), count(bars, "<use") + 6);
}

TEST_F(Svg, TellsSeriesThatCoincideApart) {
  plot p = line_plot();
  EXPECT_EQ(count(render_svg(p).value(), "stroke-dasharray"), 0U);
  p.curves[1].points = p.curves[0].points;
  EXPECT_GT(count(render_svg(p).value(), "stroke-dasharray"), 0U);
}

TEST(HtmlPage, ShowsVerdictsWithBadges) {
  html_page page("Study");
  page.add_verdicts({{badge_of(true), "E & F", "e", "fell"},
                     {badge_of(false), "G", "", "grew"},
                     {{mark::doubtful, "<?>"}, "H", "", "-"}});
  const std::string text = page.str();
  EXPECT_NE(text.find("<span class=\"badge doubtful\">&lt;?&gt;</span>"),
            std::string::npos);
  EXPECT_NE(text.find("<span class=\"badge good\">held</span></td><td><a "
                      "href=\"#e\">E &amp; F</a></td><td>fell</td>"),
            std::string::npos);
  EXPECT_NE(text.find("<span class=\"badge bad\">FAILED</span></td><td>G"),
            std::string::npos);
}

TEST(HtmlPage, ColoursAMatrixByItsShares) {
  html_page page("Study");
  page.add_matrix({{"", "a", "b"}, {{"a", "-", "100"}, {"b", "0", "-"}}}, "c");
  const std::string text = page.str();
  EXPECT_NE(text.find("<th scope=\"col\"><span>b</span></th>"),
            std::string::npos);
  EXPECT_NE(text.find("<td>-</td><td style=\"--share: 65%\">100</td>"),
            std::string::npos);
  EXPECT_NE(text.find("<td>b</td><td>0</td>"), std::string::npos);
}

TEST(HtmlPage, WhatIsPutInIsNotLookedAt) {
  html_page page("{{body}}");
  page.add_paragraph("{{title}}");
  const std::string text = page.str();
  EXPECT_EQ(count(text, "<p>{{title}}</p>"), 1U);
  EXPECT_EQ(count(text, "<h1>{{body}}</h1>"), 1U);
}

TEST(HtmlPage, ShowsTheNumbersAndSaysWhyWithoutGnuplot) {
  html_page page("Study");
  page.add_figure(line_plot(), "caption", std::nullopt);
  const std::string text = page.str();
  EXPECT_NE(text.find("gnuplot was not found"), std::string::npos);
  EXPECT_NE(text.find("<td class=\"n\">16384</td><td class=\"n\">0.2</td>"),
            std::string::npos);
  EXPECT_EQ(count(text, "<svg"), 0U);
}

TEST(HtmlPage, ClosesEveryElement) {
  html_page page("Study");
  page.add_heading("h");
  page.add_paragraph("p");
  page.add_table({{"a", "b"}, {{"1"}, {"2", "3", "dropped"}}}, "c");
  page.add_figure(bar_plot(), "c", render_svg(bar_plot()));
  const std::string text = page.str();
  std::vector<std::string> open;
  const std::regex tag(R"(<(/?)([a-zA-Z0-9]+)([^>]*)>)");
  for (std::sregex_iterator i(text.begin(), text.end(), tag), end; i != end;
       ++i) {
    const std::string name = (*i)[2], rest = (*i)[3];
    if ((*i)[1] == "/") {
      ASSERT_FALSE(open.empty()) << name;
      ASSERT_EQ(open.back(), name);
      open.pop_back();
    } else if (name != "meta" && (rest.empty() || rest.back() != '/')) {
      open.push_back(name);
    }
  }
  EXPECT_TRUE(open.empty());
}

}  // namespace
}  // namespace zeroulp
