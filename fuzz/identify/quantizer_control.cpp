// Measures how many scales and codes agree by chance.

#include "fuzz/identify/quantizer_control.hpp"

#include <algorithm>
#include <map>

namespace zeroulp::fuzz {

agreement chance_of_scales(const quantizer_evidence& e,
                           const quantizer_grid& grid,
                           const judged_scales& nearest) {
  const auto& reading = grid.readings[nearest.reading];
  const auto& groups = grid.groupings[nearest.choice.grouping].groups;
  std::map<std::uint32_t, std::uint64_t> given;
  std::vector<std::uint32_t> expected;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto at = reading.position(groups[g].gi, groups[g].gj);
    ++given[word_at(e.scales, reading.place, at)];
    expected.push_back(
        stored_word(reading.holds, scale_of(grid, nearest.choice, g)));
  }
  std::uint64_t equal_pairs = 0;
  for (const auto word : expected) {
    const auto at = given.find(word);
    if (at != given.end()) equal_pairs += at->second;
  }
  return {equal_pairs / groups.size(), groups.size()};
}

agreement chance_of_codes(const quantizer_evidence& e,
                          const quantizer_grid& grid,
                          const judged_scales& nearest, std::size_t element,
                          const policy& conversion) {
  constexpr std::size_t most = 1 << 14;  // elements
  // FP32: 2^(i / 4), i = -4 to 4 without 0.
  constexpr float factors[] = {0.5f,         0.594603558f, 0.707106781f,
                               0.840896415f, 1.18920712f,  1.41421356f,
                               1.68179283f,  2.0f};
  const auto& c = nearest.choice;
  const auto& grouping = grid.groupings[c.grouping];
  quantizer q{fp32, grid.formats[c.format], zeroulp_convention,
              scale_kind::float32, grouping.shape};
  c.set(q.how);
  set_element(q.how, element);
  q.how.conversion = conversion;
  const std::size_t stride = grid.x.words.size() / most + 1;
  agreement best[std::size(factors)] = {};
  std::size_t n = 0;
  for (std::size_t g = 0; g < grouping.groups.size(); ++g) {
    const auto s = scale_of(grid, c, g);
    const auto& b = grouping.groups[g];
    for (std::ptrdiff_t i = b.i; i < b.i + b.rows; ++i) {
      for (std::ptrdiff_t j = b.j; j < b.j + b.cols; ++j) {
        if (n++ % stride != 0) continue;
        for (std::size_t f = 0; f < std::size(factors); ++f) {
          const auto by = bit_cast<std::uint32_t>(factors[f]);
          const group_scale other{detail::fl_multiply(s.scale, by),
                                  detail::fl_divide(s.inverse, by)};
          const auto code = quantize_element(q, other, grid.x(i, j));
          best[f].agree += code == e.codes(i, j) ? 1 : 0;
          ++best[f].count;
        }
      }
    }
  }
  return *std::max_element(
      std::begin(best), std::end(best),
      [](const agreement& a, const agreement& b) { return a.agree < b.agree; });
}

}  // namespace zeroulp::fuzz
