// Tables as CSV, and the page that holds them: its text, its tables, its
// verdicts.

#include "tools/study/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tools/study/report/cells.hpp"
#include "tools/study/report/markup.hpp"
#include "tools/study/report/page_template.hpp"

namespace zeroulp {
namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

std::string html_table(const table& t) {
  const std::vector<bool> numeric = numeric_columns(t);
  const auto kind = [&](std::size_t i) { return numeric[i] ? "n" : ""; };
  std::string head, rows;
  for (std::size_t i = 0; i < t.columns.size(); ++i) {
    head += fill_part("head", {{"kind", kind(i)}, {"text", t.columns[i]}});
  }
  for (const auto& row : t.rows) {
    std::string cells;
    for (std::size_t i = 0; i < t.columns.size(); ++i) {
      cells += fill_part("cell", {{"kind", kind(i)}, {"text", cell(row, i)}});
    }
    rows += fill_part("row", {{"cells", cells}}) + "\n";
  }
  return fill_part("table", {{"kind", ""}, {"head", head}, {"rows", rows}}) +
         "\n";
}

/// The colour of a share in percent: none of what is no number, or 0.
std::string heat_of(const std::string& percent) {
  char* end = nullptr;
  const double share = std::strtod(percent.c_str(), &end);
  if (end == percent.c_str() || !(share > 0)) return "";
  // Small shares are to be seen, too; text stays readable on the strongest.
  return fmt::format("{:.0f}", 10 + 0.55 * std::min(share, 100.0));
}

std::string_view class_of(mark m) {
  constexpr std::string_view names[] = {"good", "bad", "doubtful", "none"};
  return names[static_cast<std::size_t>(m)];
}

// Puts `prefix` before every id and every reference to one, inside tags only.
std::string with_own_ids(std::string_view svg, std::string_view prefix) {
  constexpr std::string_view marks[] = {" id=\"", " id='", "href=\"#",
                                        "href='#", "url(#"};
  std::string result;
  bool in_tag = false;
  for (std::size_t at = 0; at < svg.size();) {
    const std::string_view rest = svg.substr(at);
    std::size_t step = 1;
    for (const std::string_view mark : marks) {
      if (in_tag && rest.substr(0, mark.size()) == mark) step = mark.size();
    }
    if (step == 1 && rest[0] == '<') in_tag = true;
    if (step == 1 && rest[0] == '>') in_tag = false;
    result += rest.substr(0, step);
    if (step > 1) result += prefix;
    at += step;
  }
  return result;
}

}  // namespace

std::string to_csv(const table& t) {
  std::string result;
  const auto line = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < t.columns.size(); ++i) {
      if (i != 0) result += ',';
      result += csv_field(cell(row, i));
    }
    result += '\n';
  };
  line(t.columns);
  for (const auto& row : t.rows) line(row);
  return result;
}

badge badge_of(bool held) {
  return held ? badge{mark::good, "held"} : badge{mark::bad, "FAILED"};
}

html_page::html_page(std::string_view title) : title_(title) {}

void html_page::add_heading(std::string_view text) { add_heading(text, ""); }

void html_page::add_heading(std::string_view text, std::string_view id) {
  body_ += fill_part("heading", {{"id", id}, {"text", text}}) + "\n";
}

void html_page::add_links(
    const std::vector<std::pair<std::string, std::string>>& headings) {
  std::string items;
  for (const auto& [id, text] : headings) {
    items += fill_part("link", {{"id", id}, {"text", text}}) + "\n";
  }
  body_ += fill_part("links", {{"items", items}}) + "\n";
}

void html_page::add_paragraph(std::string_view text) {
  body_ += fill_part("paragraph", {{"text", text}}) + "\n";
}

void html_page::add_lines(std::string_view text) {
  body_ += fill_part("lines", {{"text", text}}) + "\n";
}

void html_page::add_figure(std::string_view body, std::string_view caption) {
  body_ +=
      fill_part("captioned", {{"body", body}, {"caption", caption}}) + "\n";
}

void html_page::add_table(const table& t, std::string_view caption) {
  add_figure(html_table(t), caption);
}

void html_page::add_figure(const plot& p, std::string_view caption,
                           const std::optional<std::string>& svg) {
  ++figures_;
  const std::string body =
      svg ? fill_part(
                "plot",
                {{"title", p.title},
                 {"svg", with_own_ids(*svg, fmt::format("f{}-", figures_))}}) +
                "\n"
          : fill_part("no_plot", {{"title", p.title}, {"label", p.y_label}}) +
                "\n" + html_table(to_table(p));
  body_ += fill_part("figure", {{"body", body}, {"caption", caption}}) + "\n";
}

void html_page::add_badges(const std::vector<badge>& all) {
  std::string badges;
  for (const auto& b : all) {
    badges +=
        fill_part("badge", {{"kind", class_of(b.is)}, {"text", b.word}}) + " ";
  }
  body_ += fill_part("counts", {{"badges", badges}}) + "\n";
}

void html_page::add_verdicts(const std::vector<shown_verdict>& all) {
  std::string head, rows;
  for (const char* name : {"verdict", "of", "what was found"}) {
    head += fill_part("head", {{"kind", ""}, {"text", name}});
  }
  for (const auto& v : all) {
    rows += fill_part("verdict", {{"kind", class_of(v.said.is)},
                                  {"word", v.said.word},
                                  {"id", v.id},
                                  {"of", v.of},
                                  {"text", v.text}}) +
            "\n";
  }
  add_figure(fill_part("table",
                       {{"kind", "verdicts"}, {"head", head}, {"rows", rows}}) +
                 "\n",
             "");
}

void html_page::add_matrix(const table& t, std::string_view caption) {
  std::string head, rows;
  for (const auto& name : t.columns) {
    head += fill_part("upright_head", {{"text", name}});
  }
  for (const auto& row : t.rows) {
    std::string cells;
    for (std::size_t i = 0; i < t.columns.size(); ++i) {
      const auto& text = cell(row, i);
      const auto share = i == 0 ? "" : heat_of(text);
      cells +=
          share.empty()
              ? fill_part("cell", {{"kind", ""}, {"text", text}})
              : fill_part("shaded_cell",
                          {{"share", share}, {"title", ""}, {"text", text}});
    }
    rows += fill_part("row", {{"cells", cells}}) + "\n";
  }
  add_figure(
      fill_part("table", {{"kind", "matrix"}, {"head", head}, {"rows", rows}}) +
          "\n",
      caption);
}

std::string html_page::str() const {
  return fill(page_template, {{"title", title_}, {"body", body_}});
}

}  // namespace zeroulp
