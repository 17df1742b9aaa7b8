// Tables as text, also where a line has few columns.

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <numeric>

#include "tools/study/report/cells.hpp"

namespace zeroulp {
namespace {

constexpr std::size_t gap = 2;         ///< between columns
constexpr std::size_t wide_word = 24;  ///< a longer one may be broken
constexpr std::size_t narrow = 8;      ///< text is broken down to this
constexpr std::size_t readable = 32;   ///< text needs no more before it wraps

bool is_number(const std::string& text) {
  if (text.empty() || text == "-") return true;
  const char first = text.front();
  if (std::isspace(static_cast<unsigned char>(first)) != 0) return false;
  char* end = nullptr;
  (void)std::strtod(text.c_str(), &end);
  const std::string_view rest(end);
  return end != text.c_str() &&
         (rest.empty() || rest == "*" || rest == "%" || rest == " %");
}

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// The byte where code point `n` of `text` begins, or its end.
std::size_t byte_of(std::string_view text, std::size_t n) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (!continues(text[at]) && n-- == 0) break;
  }
  return at;
}

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    longest = std::max(longest, width_of(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return longest;
}

/// Where a line of at most `width` ends: before a space, else behind a mark
/// that joins the parts of a name, else where it is full.
std::size_t end_of_line(std::string_view text, std::size_t width) {
  const std::size_t most = byte_of(text, width);
  if (most == text.size() || text[most] == ' ') return most;
  const auto full = text.substr(0, most);
  const auto space = full.rfind(' ');
  if (space != full.npos && space != 0) return space;
  const auto mark = full.find_last_of(",;/._-+:*");
  return mark != full.npos && mark != 0 ? mark + 1 : most;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (width_of(text) > width) {
    const auto end = end_of_line(text, width);
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  lines.emplace_back(text);
  return lines;
}

/// What a column asks for.
struct column {
  std::size_t index;
  bool numeric;
  std::size_t least;    ///< below it, words of usual length would be broken
  std::size_t natural;  ///< so that nothing wraps
  std::size_t width;    ///< as printed
};

std::vector<column> columns_of(const table& t) {
  const auto numeric = numeric_columns(t);
  std::vector<column> all;
  for (std::size_t i = 0; i < t.columns.size(); ++i) {
    column c{i, numeric[i], longest_word(t.columns[i]), width_of(t.columns[i]),
             0};
    for (const auto& row : t.rows) {
      const auto& text = cell(row, i);
      c.natural = std::max(c.natural, width_of(text));
      // A number stays whole.
      c.least = std::max(c.least,
                         numeric[i] ? width_of(text)
                                    : std::min(longest_word(text), wide_word));
    }
    c.width = c.natural;
    all.push_back(c);
  }
  return all;
}

template <class Width>
std::size_t total_of(const std::vector<column>& columns, Width width) {
  return std::accumulate(
      columns.begin(), columns.end(),
      columns.empty() ? 0 : (columns.size() - 1) * gap,
      [&](auto sum, const auto& c) { return sum + width(c); });
}

/// Sets the widths: the widest columns give up what is too much, down to
/// `least`.
void fit(std::vector<column>& columns, std::size_t width) {
  const auto total = [&](std::size_t cap) {
    return total_of(columns, [cap](const column& c) {
      return std::min(c.natural, std::max(c.least, cap));
    });
  };
  if (total(1) > width) {
    for (auto& c : columns) {
      if (!c.numeric) c.least = std::min(c.least, narrow);
    }
  }
  std::size_t cap = width;
  while (cap > 1 && total(cap) > width) --cap;
  for (auto& c : columns) {
    c.width = std::min(c.natural, std::max(c.least, cap));
  }
}

std::string line_of(const std::vector<column>& columns,
                    const std::vector<std::string>& cells) {
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto used = width_of(cells[i]);
    const std::string fill(
        columns[i].width > used ? columns[i].width - used : 0, ' ');
    if (i != 0) text.append(gap, ' ');
    text += columns[i].numeric ? fill + cells[i] : cells[i] + fill;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

/// One row, of as many lines as its longest cell.
std::string row_of(const std::vector<column>& columns,
                   const std::vector<std::string>& row) {
  std::vector<std::vector<std::string>> parts;
  std::size_t lines = 1;
  for (const auto& c : columns) {
    parts.push_back(wrapped(cell(row, c.index), c.width));
    lines = std::max(lines, parts.back().size());
  }
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) {
    std::vector<std::string> cells;
    for (const auto& part : parts) cells.push_back(cell(part, i));
    text += line_of(columns, cells);
  }
  return text;
}

std::string panel(const table& t, const std::vector<column>& columns) {
  std::vector<std::string> rules;
  for (const auto& c : columns) rules.emplace_back(c.width, '-');
  std::string text = row_of(columns, t.columns) + line_of(columns, rules);
  for (const auto& row : t.rows) text += row_of(columns, row);
  return text;
}

/// The columns of each panel: the first one, and as many as fit beside it.
std::vector<std::vector<column>> panels_of(const std::vector<column>& all,
                                           std::size_t width) {
  const auto wanted = [](const column& c) {
    return std::max(c.least, std::min(c.natural, readable));
  };
  std::vector<std::vector<column>> panels;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (!panels.empty()) {
      panels.back().push_back(all[i]);
      if (total_of(panels.back(), wanted) <= width) continue;
      panels.back().pop_back();
    }
    panels.push_back({all[0], all[i]});
  }
  return panels;
}

}  // namespace

const std::string& cell(const std::vector<std::string>& row, std::size_t i) {
  static const std::string empty;
  return i < row.size() ? row[i] : empty;
}

std::vector<bool> numeric_columns(const table& t) {
  std::vector<bool> result;
  for (std::size_t i = 0; i < t.columns.size(); ++i) {
    result.push_back(!t.rows.empty() &&
                     std::all_of(t.rows.begin(), t.rows.end(),
                                 [&](const std::vector<std::string>& row) {
                                   return is_number(cell(row, i));
                                 }));
  }
  return result;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string to_text(const table& t, std::size_t width) {
  auto all = columns_of(t);
  const auto natural = [](const column& c) { return c.natural; };
  const auto least = [](const column& c) { return c.least; };
  if (width == 0 || total_of(all, natural) <= width) return panel(t, all);
  if (total_of(all, least) <= width || all.size() < 3) {
    fit(all, width);
    return panel(t, all);
  }
  std::string text;
  for (auto& columns : panels_of(all, width)) {
    fit(columns, width);
    text += (text.empty() ? "" : "\n") + panel(t, columns);
  }
  return text;
}

}  // namespace zeroulp
