// Makes the grid of identify_quantizer for these shapes and codes.

#include <fmt/format.h>

#include <algorithm>

#include "fuzz/identify/quantizer_search.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

void check_shapes(const quantizer_evidence& e) {
  if (e.x.rows != e.codes.rows || e.x.cols != e.codes.cols) {
    throw input_error(fmt::format(
        "{}: {} x {} codes for {} x {} elements in {}: use the codes of these "
        "elements, a code each",
        e.codes_name, e.codes.rows, e.codes.cols, e.x.rows, e.x.cols,
        e.x_name));
  }
  if (e.x.words.empty()) {
    throw input_error(
        fmt::format("{}: no elements: there is nothing to identify", e.x_name));
  }
  if (!(e.from == fp32 || e.from == bf16 || e.from == fp16)) {
    throw input_error(fmt::format("{}: elements are {}: use fp32, bf16 or fp16",
                                  e.x_name, name_of(e.from)));
  }
}

/// The formats that the codes may be of.
std::vector<format> formats_of(const quantizer_evidence& e) {
  const auto largest =
      *std::max_element(e.codes.words.begin(), e.codes.words.end());
  const auto holds = [largest](format f) {
    return is_quantizable(f) && std::uint64_t{largest} >> f.bits() == 0;
  };
  if (e.to) {
    if (!holds(*e.to)) {
      throw input_error(
          fmt::format("{}: a code is {:#x}: {} has no such code for an element",
                      e.codes_name, largest, name_of(*e.to)));
    }
    return {*e.to};
  }
  std::vector<format> found;
  for (const auto& row : named_formats) {
    const int bits = row.value.bits();
    const bool wide = e.code_bits == 8 || bits > e.code_bits / 2;
    if (wide && bits <= e.code_bits && holds(row.value)) {
      found.push_back(row.value);
    }
  }
  if (found.empty()) {
    throw input_error(fmt::format(
        "{}: codes of up to {:#x} in {} bits: no named format has these; give "
        "--format",
        e.codes_name, largest, e.code_bits));
  }
  return found;
}

/// All amaxes of the grid; equal ones appear once.
std::vector<amax_vector> amaxes_of(const grouping& g, const oracle::grid& x) {
  constexpr std::size_t rules = std::size(grid_amax_rules);
  std::vector<std::vector<std::uint32_t>> raw(2 * rules);
  const matrix_view<const std::uint32_t> view(x.words.data(), x.rows, x.cols);
  for_each_index(raw.size(), [&](std::size_t i) {
    quantizer q{fp32, fp32, zeroulp_convention, scale_kind::float32, g.shape};
    q.how.amax = grid_amax_rules[i % rules];
    q.how.bf16_amax = i >= rules;
    for (const auto& b : g.groups) {
      raw[i].push_back(group_amax(q, view.block(b.i, b.j, b.rows, b.cols)));
    }
  });
  std::vector<amax_vector> found;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    for (std::size_t f = 0; f < std::size(grid_floors); ++f) {
      auto amax = raw[i];
      for (auto& a : amax) a = std::max(a, grid_floors[f]);  // NaN is larger
      auto at = std::find_if(found.begin(), found.end(),
                             [&](const auto& v) { return v.amax == amax; });
      if (at == found.end()) {
        at = found.insert(at, amax_vector{std::move(amax), {}});
      }
      at->sources.push_back({f, i % rules, i / rules});
    }
  }
  return found;
}

}  // namespace

quantizer_grid make_quantizer_grid(const quantizer_evidence& e) {
  check_shapes(e);
  quantizer_grid grid{formats_of(e), readings_of(e), {}, e.from, e.x};
  for (auto& word : grid.x.words) word = as_fp32(e.from, word);
  for (std::size_t r = 0; r < grid.readings.size(); ++r) {
    const group_shape shape = grid.readings[r].group;
    if (grid.groupings.empty() || !(grid.groupings.back().shape == shape)) {
      grouping g{shape, {}, {}, {}};
      for_each_group(shape, e.x.rows, e.x.cols,
                     [&](std::ptrdiff_t gi, std::ptrdiff_t gj, std::ptrdiff_t i,
                         std::ptrdiff_t j, std::ptrdiff_t m, std::ptrdiff_t n) {
                       g.groups.push_back({gi, gj, i, j, m, n});
                     });
      g.amaxes = amaxes_of(g, grid.x);
      grid.groupings.push_back(std::move(g));
    }
    grid.groupings.back().readings.push_back(r);
  }
  return grid;
}

}  // namespace zeroulp::fuzz
