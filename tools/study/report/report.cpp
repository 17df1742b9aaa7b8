// Tables as CSV and HTML, and the page that holds them.

#include "tools/study/report/report.hpp"

#include <fmt/format.h>

#include "tools/study/report/cells.hpp"

namespace zeroulp {
namespace {

constexpr std::string_view style = R"(
:root { color-scheme: light dark; --rule: #d4d7dc; --soft: #5c6370;
  --paper: #ffffff; --ink: #1b1e23; --box: #f6f7f9; }
@media (prefers-color-scheme: dark) { :root { --rule: #3a3f48;
  --soft: #a2a9b5; --paper: #15171b; --ink: #e6e8ec; --box: #1d2026; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 2rem 1rem 4rem;
  font: 1rem/1.55 system-ui, sans-serif; background: var(--paper);
  color: var(--ink); }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; }
p { max-width: 44rem; overflow-wrap: anywhere; }
a { color: inherit; }
nav ul { columns: 19rem; padding-left: 1.2rem; font-size: .9rem; }
figure { margin: 1.5rem 0; }
figcaption { color: var(--soft); font-size: .9rem; margin: .5rem 0; }
.box { overflow-x: auto; border: 1px solid var(--rule);
  border-radius: 6px; }
.plot { padding: .5rem; }
.plot svg { display: block; width: 100%; min-width: 34rem; height: auto; }
table { border-collapse: collapse; font-size: .9rem; width: 100%; }
th, td { padding: .3rem .75rem; text-align: left; white-space: nowrap;
  border-bottom: 1px solid var(--rule); }
tbody tr:last-child td { border-bottom: 0; }
thead th { background: var(--box); }
.n { text-align: right; font-variant-numeric: tabular-nums; }
@media print { :root { color-scheme: light; --paper: #ffffff; --ink: #000000;
  --rule: #b0b0b0; --soft: #333333; --box: #f3f3f3; }
  html { font-size: 75%; } body { max-width: none; padding: 0; }
  h2 { break-after: avoid; } figure { break-inside: avoid; }
  .box { overflow: visible; } .plot svg { min-width: 0; }
  th, td { white-space: normal; padding: .15rem .4rem; } }
)";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

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
  const auto mark = [&](std::size_t i) {
    return numeric[i] ? " class=\"n\"" : "";
  };
  std::string result = "<div class=\"box\"><table>\n<thead><tr>";
  for (std::size_t i = 0; i < t.columns.size(); ++i) {
    result += fmt::format("<th scope=\"col\"{}>{}</th>", mark(i),
                          escaped(t.columns[i]));
  }
  result += "</tr></thead>\n<tbody>\n";
  for (const auto& row : t.rows) {
    result += "<tr>";
    for (std::size_t i = 0; i < t.columns.size(); ++i) {
      result += fmt::format("<td{}>{}</td>", mark(i), escaped(cell(row, i)));
    }
    result += "</tr>\n";
  }
  return result + "</tbody></table></div>\n";
}

std::string figcaption(std::string_view text) {
  if (text.empty()) return {};
  return fmt::format("<figcaption>{}</figcaption>\n", escaped(text));
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

html_page::html_page(std::string_view title) : title_(escaped(title)) {}

void html_page::add_heading(std::string_view text) {
  body_ += fmt::format("<h2>{}</h2>\n", escaped(text));
}

void html_page::add_heading(std::string_view text, std::string_view id) {
  body_ += fmt::format("<h2 id=\"{}\">{}</h2>\n", escaped(id), escaped(text));
}

void html_page::add_links(
    const std::vector<std::pair<std::string, std::string>>& headings) {
  body_ += "<nav><ul>\n";
  for (const auto& [id, text] : headings) {
    body_ += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", escaped(id),
                         escaped(text));
  }
  body_ += "</ul></nav>\n";
}

void html_page::add_paragraph(std::string_view text) {
  body_ += fmt::format("<p>{}</p>\n", escaped(text));
}

void html_page::add_table(const table& t, std::string_view caption) {
  body_ += "<figure>\n" + figcaption(caption) + html_table(t) + "</figure>\n";
}

void html_page::add_figure(const plot& p, std::string_view caption,
                           const std::optional<std::string>& svg) {
  ++figures_;
  body_ += "<figure>\n";
  if (svg) {
    body_ += fmt::format(
        "<div class=\"box plot\" role=\"img\" "
        "aria-label=\"{}\">\n{}\n</div>\n",
        escaped(p.title), with_own_ids(*svg, fmt::format("f{}-", figures_)));
  } else {
    body_ += fmt::format(
        "<p><strong>{}</strong>. No plot: gnuplot was not found or failed; the "
        "table holds its numbers ({}).</p>\n",
        escaped(p.title), escaped(p.y_label));
    body_ += html_table(to_table(p));
  }
  body_ += figcaption(caption) + "</figure>\n";
}

std::string html_page::str() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{0}</title>\n<style>{1}</style>\n</head>\n"
      "<body>\n<h1>{0}</h1>\n{2}</body>\n</html>\n",
      title_, style, body_);
}

}  // namespace zeroulp
