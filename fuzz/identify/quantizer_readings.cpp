// The ways in which identify_quantizer may read a file of scales.

#include <fmt/format.h>

#include <algorithm>

#include "fuzz/identify/quantizer_search.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

constexpr group_shape usual_shapes[] = {
    {1, 128}, {128, 1}, {128, 128}, {1, 0}, {0, 0}};
// Left out where they divide the matrix as an earlier shape does.
constexpr group_shape rare_shapes[] = {{1, 32},  {32, 1},  {32, 32}, {1, 64},
                                       {64, 1},  {64, 64}, {1, 16},  {16, 1},
                                       {1, 256}, {256, 1}, {0, 1}};

std::vector<group_shape> shapes_for(const quantizer_evidence& e) {
  if (e.group) return {*e.group};
  const auto cut = [&e](group_shape g) {
    return layout_shape{std::min(g.height(e.x.rows), e.x.rows),
                        std::min(g.width(e.x.cols), e.x.cols)};
  };
  std::vector<group_shape> shapes(std::begin(usual_shapes),
                                  std::end(usual_shapes));
  for (const group_shape g : rare_shapes) {
    const bool is_new =
        std::none_of(shapes.begin(), shapes.end(), [&](group_shape other) {
          return cut(g).rows == cut(other).rows &&
                 cut(g).cols == cut(other).cols;
        });
    if (is_new) shapes.push_back(g);
  }
  return shapes;
}

/// The shape of the scales of groups of an m x n matrix.
scale_shape shape_of(group_shape g, const oracle::grid& x) {
  const auto rows = ceil_div(x.rows, g.height(x.rows));
  const auto cols = ceil_div(x.cols, g.width(x.cols));
  return has_k_in_rows(g) ? scale_shape{cols, rows} : scale_shape{rows, cols};
}

std::string needs_text(const quantizer_evidence& e) {
  std::string text;
  for (const group_shape g : shapes_for(e)) {
    const auto shape = shape_of(g, e.x);
    text += fmt::format("{}{} has {} x {}", text.empty() ? "" : ", ",
                        name_of(g), shape.mn, shape.k);
  }
  return text;
}

}  // namespace

std::vector<scale_reading> readings_of(const quantizer_evidence& e) {
  using enum scale_storage;
  const auto stored =
      e.words == scale_words::numbers
          ? std::vector<scale_storage>{scale, reciprocal, inverse}
          : std::vector<scale_storage>{exponent};
  const layout_shape file{e.scales.rows, e.scales.cols};
  std::vector<scale_reading> found;
  for (const group_shape g : shapes_for(e)) {
    for (const auto& place :
         places_of(e.words, file, shape_of(g, e.x), e.layout)) {
      for (const auto s : stored) found.push_back({g, place, s});
    }
  }
  if (found.empty()) {
    throw input_error(fmt::format(
        "{}: {} x {} {} for {} x {} elements: no group fits, padded, packed or "
        "transposed ({}): give --group",
        e.scales_name, file.rows, file.cols,
        e.words == scale_words::packed ? "words of four scales" : "scales",
        e.x.rows, e.x.cols, needs_text(e)));
  }
  return found;
}

}  // namespace zeroulp::fuzz
