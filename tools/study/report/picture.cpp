// What a page shows of single elements: a map of a matrix, and words bit by
// bit.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tools/study/report/markup.hpp"
#include "tools/study/report/report.hpp"

namespace zeroulp {
namespace {

constexpr std::size_t most_squares = 128;  // along a side
constexpr std::size_t widest = 640;        // pixels of a map
constexpr std::size_t kind_count = 5;

/// How many elements a side of a square has.
std::size_t side_of(std::size_t length) {
  return std::max<std::size_t>(1, (length + most_squares - 1) / most_squares);
}

/// A map as squares of several elements each.
struct squares {
  std::size_t height, width;  ///< elements of a square
  std::size_t rows, columns;
  std::vector<std::uint8_t> kinds;
};

/// The commonest kind in a square but 0, unless that is all there is: one
/// element that differs is seen among a thousand that do not.
squares squares_of(const shown_map& m) {
  const std::size_t height = side_of(m.rows), width = side_of(m.columns);
  squares s{height,
            width,
            (m.rows + height - 1) / height,
            (m.columns + width - 1) / width,
            {}};
  std::vector<std::array<std::size_t, kind_count>> counts(s.rows * s.columns);
  for (std::size_t i = 0; i < m.rows; ++i) {
    for (std::size_t j = 0; j < m.columns; ++j) {
      ++counts[i / height * s.columns + j / width].at(
          m.kinds[i * m.columns + j]);
    }
  }
  for (const auto& count : counts) {
    const auto most = std::max_element(count.begin() + 1, count.end());
    s.kinds.push_back(
        *most == 0 ? 0 : static_cast<std::uint8_t>(most - count.begin()));
  }
  return s;
}

/// A rectangle for each run of a kind in a row.
std::string rectangles_of(const squares& s) {
  std::string all;
  for (std::size_t i = 0; i < s.rows; ++i) {
    for (std::size_t j = 0; j < s.columns;) {
      const auto kind = s.kinds[i * s.columns + j];
      std::size_t end = j + 1;
      while (end < s.columns && s.kinds[i * s.columns + end] == kind) ++end;
      if (kind != 0) {
        all += fill_part("square", {{"kind", std::to_string(kind)},
                                    {"x", std::to_string(j)},
                                    {"y", std::to_string(i)},
                                    {"width", std::to_string(end - j)}}) +
               "\n";
      }
      j = end;
    }
  }
  return all;
}

bool bit_of(std::uint64_t word, int bit) { return (word >> bit & 1) != 0; }

/// How a bit's cell looks: where a field begins, and where it differs.
std::string_view look_of(bool begins, bool differs) {
  return begins    ? differs ? "begins differs" : "begins"
         : differs ? "differs"
                   : "";
}

}  // namespace

void html_page::add_map(const shown_map& m, std::string_view caption) {
  const auto s = squares_of(m);
  const std::size_t pixels =
      std::clamp<std::size_t>(widest / std::max<std::size_t>(s.columns, 1), 5,
                              14) *
      s.columns;
  std::string items, label;
  for (std::size_t k = 0; k < m.names.size(); ++k) {
    const auto number = std::count(m.kinds.begin(), m.kinds.end(), k + 1);
    if (number == 0) continue;
    const auto text = fmt::format("{}: {}", m.names[k], number);
    items += fill_part("legend_item",
                       {{"kind", std::to_string(k + 1)}, {"text", text}});
    label += (label.empty() ? "" : ", ") + text;
  }
  label = fmt::format("Map of {} x {} elements: {}", m.rows, m.columns, label);
  const auto map = fill_part("map", {{"label", label},
                                     {"rows", std::to_string(s.rows)},
                                     {"columns", std::to_string(s.columns)},
                                     {"width", std::to_string(pixels)},
                                     {"squares", rectangles_of(s)}});
  const auto legend = fill_part("legend", {{"items", items}});
  const auto square =
      s.height * s.width == 1
          ? std::string()
          : fmt::format(" A square is {} x {} elements.", s.height, s.width);
  add_figure(map + "\n" + legend + "\n", std::string(caption) + square);
}

void html_page::add_bits(const shown_bits& b, std::string_view caption) {
  int width = 0;
  std::vector<bool> begins;
  std::string head = fill_part("head", {{"kind", ""}, {"text", ""}});
  for (const auto& f : b.fields) {
    if (f.bits == 0) continue;
    head += fill_part("wide_head",
                      {{"columns", std::to_string(f.bits)}, {"text", f.name}});
    for (int i = 0; i < f.bits; ++i) begins.push_back(i == 0);
    width += f.bits;
  }
  std::string rows;
  for (const auto& w : b.words) {
    std::string cells = fill_part("row_head", {{"text", w.of}});
    for (int i = 0; i < width; ++i) {
      const int bit = width - 1 - i;
      const bool differs = bit_of(w.bits ^ b.words[0].bits, bit);
      cells += fill_part(
          "cell",
          {{"kind", look_of(begins[static_cast<std::size_t>(i)], differs)},
           {"text", bit_of(w.bits, bit) ? "1" : "0"}});
    }
    rows += fill_part("row", {{"cells", cells}}) + "\n";
  }
  const auto most = b.differing.empty() ? 0
                                        : *std::max_element(b.differing.begin(),
                                                            b.differing.end());
  if (most > 0) {
    std::string cells = fill_part("row_head", {{"text", "how often"}});
    for (const auto n : b.differing) {
      const auto share =
          fmt::format("{:.0f}", n == 0 ? 0.0
                                       : 12 + 70 * static_cast<double>(n) /
                                                  static_cast<double>(most));
      cells += fill_part(
          "shaded_cell",
          {{"share", share}, {"title", std::to_string(n)}, {"text", ""}});
    }
    rows += fill_part("row", {{"cells", cells}}) + "\n";
  }
  add_figure(
      fill_part("table", {{"kind", "bits"}, {"head", head}, {"rows", rows}}) +
          "\n",
      caption);
}

}  // namespace zeroulp
