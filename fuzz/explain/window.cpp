// Cuts windows out of problems and outputs.

#include "fuzz/explain/window.hpp"

#include <algorithm>

namespace zeroulp::fuzz {
namespace {

/// The largest group along a dimension in operands and outputs; 0: all of it.
std::int32_t largest_group(const problem& p, char dimension) {
  std::int32_t largest = 1;
  bool all = false;
  const auto see = [&](const axis& a) {
    if (a.name != dimension) return;
    all = all || a.group == 0;
    largest = std::max(largest, a.group);
  };
  for (const auto& spec : info_of(p.what).operands(p.with)) {
    see(spec.rows);
    see(spec.cols);
  }
  for (const auto& axes : axes_of_outputs(p)) {
    see(axes.rows);
    see(axes.cols);
  }
  return all ? 0 : largest;
}

/// True if a group of that dimension may be cut: each output element depends on
/// its own row or column alone, and a group only says which scale is its.
bool may_cut_groups(const problem& p) { return p.what == target::gemm; }

/// Divides a dimension into ranges of about `step`.
std::vector<range> ranges_of(std::ptrdiff_t length, std::int32_t group,
                             std::ptrdiff_t step, bool may_cut) {
  if (group == 0) {
    if (!may_cut) return {{0, length}};
    group = 1;  // one scale for all: any range has it
  }
  if (step >= group || !may_cut) {
    step = std::max<std::ptrdiff_t>(step / group, 1) * group;
  } else {
    while (group % step != 0) --step;
  }
  std::vector<range> all;
  for (std::ptrdiff_t i = 0; i < length; i += step) {
    all.push_back({i, std::min(step, length - i)});
  }
  return all;
}

matrix part_of(const matrix& x, const output_axes& axes, const window& w) {
  const auto place = [&w](const axis& a) -> range {
    if (a.name == 0 || a.group == 0) return {0, 1};
    const range& r = a.name == 'm' ? w.m : w.n;
    return {r.first / a.group, ceil_div(r.length, a.group)};
  };
  const range rows = place(axes.rows);
  const range cols = place(axes.cols);
  matrix part(x.name, x.type, rows.length, cols.length);
  for (std::ptrdiff_t i = 0; i < rows.length; ++i) {
    for (std::ptrdiff_t j = 0; j < cols.length; ++j) {
      part(i, j) = x(rows.first + i, cols.first + j);
    }
  }
  return part;
}

}  // namespace

std::vector<output_axes> axes_of_outputs(const problem& p) {
  const settings& s = p.with;
  const axis m{'m', 1}, n{'n', 1}, one{0, 1};
  switch (p.what) {
    case target::quantize:
      return {{{'m', s.group.rows}, {'n', s.group.cols}},
              {m, n},
              {m, n},
              {one, one},
              {one, one}};
    case target::retile:
      return {{n, {'m', s.tile}}, {n, m}, {one, one}};
    case target::gemm:
      return {{m, n}, {one, one}};
    default:
      return {};
  }
}

window whole(const problem& p) {
  return {{0, length_of(p, 'm')}, {0, length_of(p, 'n')}};
}

std::vector<window> windows_of(const problem& p, std::ptrdiff_t elements) {
  const window all = whole(p);
  if (axes_of_outputs(p).empty() || size_of(all) <= elements) return {all};
  const bool may_cut = may_cut_groups(p);
  // Wide windows: the elements of a row tell most about scales.
  const std::ptrdiff_t square = p.what == target::gemm ? 1 : 8;
  std::ptrdiff_t width = 1;
  while (width * width < elements * square) width *= 2;
  width = std::min(width, all.n.length);
  const auto columns =
      ranges_of(all.n.length, largest_group(p, 'n'), width, may_cut);
  const std::ptrdiff_t height =
      std::max<std::ptrdiff_t>(elements / columns[0].length, 1);
  std::vector<window> found;
  for (const range m :
       ranges_of(all.m.length, largest_group(p, 'm'), height, may_cut)) {
    for (const range n : columns) found.push_back({m, n});
  }
  return found;
}

problem part_of(const problem& p, const window& w) {
  if (axes_of_outputs(p).empty()) return p;
  return rearranged(p, w.m.length, w.n.length, length_of(p, 'k'),
                    [&w](char dimension, std::ptrdiff_t i) {
                      return dimension == 'm'   ? w.m.first + i
                             : dimension == 'n' ? w.n.first + i
                                                : i;
                    });
}

outputs part_of(const problem& p, const outputs& of, const window& w) {
  const auto axes = axes_of_outputs(p);
  if (axes.empty()) return of;
  outputs part;
  for (std::size_t i = 0; i < of.size(); ++i) {
    part.push_back(of[i].words.empty() ? of[i] : part_of(of[i], axes[i], w));
  }
  return part;
}

}  // namespace zeroulp::fuzz
