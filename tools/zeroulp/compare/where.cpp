#include "tools/zeroulp/compare/where.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace zeroulp::program {
namespace {

constexpr std::size_t tile = 128;   ///< of the usual kernels and scales
constexpr std::size_t few = 4;      ///< that are named each
constexpr std::size_t rhythm = 64;  ///< longer distances are no pattern

/// The one distance between neighbours, or 0 where there are several.
std::size_t distance_in(const std::vector<std::size_t>& at) {
  const std::size_t d = at[1] - at[0];
  for (std::size_t i = 2; i < at.size(); ++i) {
    if (at[i] - at[i - 1] != d) return 0;
  }
  return d;
}

/// "th", but "nd" of 2 and "rd" of 3, 32, 63.
const char* ordinal(std::size_t n) {
  if (n % 100 / 10 == 1) return "th";
  constexpr const char* ends[] = {"th", "st", "nd", "rd"};
  return n % 10 < 4 ? ends[n % 10] : "th";
}

/// Where they are, in a few words.
std::string pattern_of(const differing_lines& lines) {
  const auto& at = lines.at;
  if (at.size() == lines.of || at.empty()) return "";
  if (at.size() <= few) return fmt::format("{}", fmt::join(at, ", "));
  const auto d = distance_in(at);
  if (d == 1) return fmt::format("{} to {}", at.front(), at.back());
  if (d > 0 && d <= rhythm) {
    return fmt::format("every {}{} from {} to {}", d, ordinal(d), at.front(),
                       at.back());
  }
  const auto first = at.front() / tile * tile;
  if (lines.of <= tile || at.back() / tile != at.front() / tile) {
    return fmt::format("between {} and {}", at.front(), at.back());
  }
  if (first + tile > lines.of) {
    return fmt::format("in the tail {} to {}", first, lines.of - 1);
  }
  return fmt::format("in the tile {} to {}", first, first + tile - 1);
}

std::string text_of(const differing_lines& lines, const char* name) {
  const auto where = pattern_of(lines);
  return fmt::format("{} of {} {}{}", lines.at.size(), lines.of, name,
                     where.empty() ? "" : " (" + where + ")");
}

nlohmann::ordered_json json_of(const differing_lines& lines) {
  return {{"different", lines.at.size()},
          {"of", lines.of},
          {"first", lines.at.front()},
          {"last", lines.at.back()},
          {"pattern", pattern_of(lines)}};
}

differing_lines lines_of(const std::vector<bool>& differs) {
  differing_lines lines{{}, differs.size()};
  for (std::size_t i = 0; i < differs.size(); ++i) {
    if (differs[i]) lines.at.push_back(i);
  }
  return lines;
}

/// What of the two explains the number of elements, or "".
const char* whole_of(const differing_places& p) {
  if (p.elements == p.rows.at.size() * p.columns.of) return "whole rows";
  if (p.elements == p.columns.at.size() * p.rows.of) return "whole columns";
  const bool is_block = p.rows.at.size() > 1 && p.columns.at.size() > 1 &&
                        p.elements == p.rows.at.size() * p.columns.at.size();
  return is_block ? "a whole block" : "";
}

}  // namespace

differing_places places_of(std::span<const std::uint64_t> x,
                           std::span<const std::uint64_t> y,
                           const std::vector<std::size_t>& shape) {
  const std::size_t n = shape.empty() ? 1 : shape.back();
  std::vector<bool> rows(n == 0 ? 0 : x.size() / n), columns(n);
  differing_places p;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i]) continue;
    ++p.elements;
    rows[i / n] = columns[i % n] = true;
  }
  p.rows = lines_of(rows);
  p.columns = lines_of(columns);
  return p;
}

std::string to_text(const differing_places& p) {
  std::string text = text_of(p.columns, "columns");
  if (p.rows.of > 1) text = text_of(p.rows, "rows") + ", " + text;
  const std::string whole = p.rows.of > 1 ? whole_of(p) : "";
  return whole.empty() ? text : text + ", " + whole;
}

nlohmann::ordered_json to_json(const differing_places& p) {
  return {{"rows", json_of(p.rows)}, {"columns", json_of(p.columns)}};
}

}  // namespace zeroulp::program
