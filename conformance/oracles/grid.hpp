// Defines `grid`: a matrix of 32-bit words as oracles keep it, dense and
// row-major, so that strides are the caller's business alone.

#ifndef ZEROULP_CONFORMANCE_ORACLES_GRID_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_GRID_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zeroulp::oracle {

struct grid {
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
  std::vector<std::uint32_t> words;

  grid() = default;
  grid(std::ptrdiff_t m, std::ptrdiff_t n, std::uint32_t fill = 0)
      : rows(m), cols(n), words(static_cast<std::size_t>(m * n), fill) {}

  std::uint32_t& operator()(std::ptrdiff_t i, std::ptrdiff_t j) {
    return words[static_cast<std::size_t>(i * cols + j)];
  }
  std::uint32_t operator()(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return words[static_cast<std::size_t>(i * cols + j)];
  }
  friend bool operator==(const grid&, const grid&) = default;
};

/// The transpose.
inline grid flipped(const grid& g) {
  grid t(g.cols, g.rows);
  for (std::ptrdiff_t i = 0; i < g.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < g.cols; ++j) t(j, i) = g(i, j);
  }
  return t;
}

/// The number of groups of `size` (0: the whole of it) along `length`.
inline std::ptrdiff_t groups_along(std::ptrdiff_t length, std::ptrdiff_t size) {
  if (length == 0) return 0;
  return size == 0 ? 1 : (length - 1) / size + 1;
}

/// The group of element `i`.
inline std::ptrdiff_t group_of(std::ptrdiff_t i, std::ptrdiff_t size) {
  return size == 0 ? 0 : i / size;
}

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_GRID_HPP_
