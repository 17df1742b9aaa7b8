// Defines windows of a problem: a rectangle of it, and of its outputs, small
// enough to run every suspect on.

#ifndef ZEROULP_FUZZ_EXPLAIN_WINDOW_HPP_
#define ZEROULP_FUZZ_EXPLAIN_WINDOW_HPP_

#include <vector>

#include "fuzz/cases/problem.hpp"

namespace zeroulp::fuzz {

/// A contiguous range of a dimension.
struct range {
  std::ptrdiff_t first = 0;
  std::ptrdiff_t length = 0;
};

/// Ranges of the dimensions m and n; K, if there is one, is whole.
struct window {
  range m;
  range n;
};

/// The axes of an output, as operand_spec has them; name 0: one row or column.
struct output_axes {
  axis rows;
  axis cols;
};

/// Returns the axes of each output, in the order of the target's outputs; empty
/// if the target's problems have no windows.
std::vector<output_axes> axes_of_outputs(const problem& p);

window whole(const problem& p);

/// Returns the elements of m x n.
inline std::ptrdiff_t size_of(const window& w) {
  return w.m.length * w.n.length;
}

/// Returns the windows that divide the problem, each of at most about
/// `elements` elements of m x n; no window cuts a group of a larger one, but
/// where a group alone is larger. One window, the whole, if the target has no
/// axes.
std::vector<window> windows_of(const problem& p, std::ptrdiff_t elements);

problem part_of(const problem& p, const window& w);
outputs part_of(const problem& p, const outputs& of, const window& w);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_EXPLAIN_WINDOW_HPP_
