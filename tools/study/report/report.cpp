// Tables as CSV and HTML, and the page that holds them.

#include "tools/study/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tools/study/report/cells.hpp"
#include "tools/study/report/page_template.hpp"

namespace zeroulp {
namespace {

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

/// The colour of a share in percent: none of what is no number, or 0.
std::string heat_of(const std::string& percent) {
  char* end = nullptr;
  const double share = std::strtod(percent.c_str(), &end);
  if (end == percent.c_str() || !(share > 0)) return "";
  // Small shares are to be seen, too; text stays readable on the strongest.
  return fmt::format(" style=\"--share: {:.0f}%\"",
                     10 + 0.55 * std::min(share, 100.0));
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

void html_page::add_verdicts(const std::vector<shown_verdict>& all) {
  body_ +=
      "<figure>\n<div class=\"box verdicts\"><table>\n<thead><tr><th "
      "scope=\"col\">verdict</th><th scope=\"col\">of</th><th "
      "scope=\"col\">what was found</th></tr></thead>\n<tbody>\n";
  for (const auto& v : all) {
    const auto name = escaped(v.of);
    body_ += fmt::format(
        "<tr><td><span class=\"badge {}\">{}</span></td><td>{}</td><td>{}</td>"
        "</tr>\n",
        v.held ? "held" : "failed", v.held ? "held" : "FAILED",
        v.id.empty()
            ? name
            : fmt::format("<a href=\"#{}\">{}</a>", escaped(v.id), name),
        escaped(v.text));
  }
  body_ += "</tbody></table></div>\n</figure>\n";
}

void html_page::add_matrix(const table& t, std::string_view caption) {
  std::string rows = "<thead><tr>";
  for (const auto& name : t.columns) {
    rows +=
        fmt::format("<th scope=\"col\"><span>{}</span></th>", escaped(name));
  }
  rows += "</tr></thead>\n<tbody>\n";
  for (const auto& row : t.rows) {
    rows += "<tr>";
    for (std::size_t i = 0; i < t.columns.size(); ++i) {
      rows += fmt::format("<td{}>{}</td>", i == 0 ? "" : heat_of(cell(row, i)),
                          escaped(cell(row, i)));
    }
    rows += "</tr>\n";
  }
  body_ += fmt::format(
      "<figure>\n{}<div class=\"box matrix\"><table>\n{}</tbody></table></div>"
      "\n</figure>\n",
      figcaption(caption), rows);
}

// What is put in is not looked at: it may have marks in it.
std::string html_page::str() const {
  std::string page;
  std::string_view rest = page_template;
  for (std::size_t at; (at = rest.find("{{")) != rest.npos;) {
    page += rest.substr(0, at);
    rest.remove_prefix(at + 2);
    const auto end = rest.find("}}");
    page += rest.substr(0, end) == "title" ? title_ : body_;
    rest.remove_prefix(end + 2);
  }
  return page += rest;
}

}  // namespace zeroulp
