// Defines `placed`: a matrix laid into a larger buffer of guard values, so that
// strides, gaps and what lies around a matrix are part of a case.

#ifndef ZEROULP_CONFORMANCE_CASES_PLACEMENT_HPP_
#define ZEROULP_CONFORMANCE_CASES_PLACEMENT_HPP_

#include <cstdint>
#include <vector>

#include "conformance/oracles/grid.hpp"
#include "zeroulp/core/view.hpp"

namespace zeroulp::conformance {

/// How a matrix lies in its buffer.
enum class placement : std::uint8_t {
  dense,       ///< row-major without gaps
  padded,      ///< row-major with a leading dimension
  transposed,  ///< column-major with a leading dimension
  spread,      ///< every second element of every row
};

inline constexpr int placement_count = 4;

/// A matrix in a buffer of guards.
template <class T>
class placed {
 public:
  placed(placement how, std::ptrdiff_t m, std::ptrdiff_t n, T guard)
      : guard_(guard) {
    std::ptrdiff_t by_row = n;
    std::ptrdiff_t by_col = 1;
    if (how == placement::padded) by_row = n + 5;
    if (how == placement::transposed) {
      by_row = 1;
      by_col = m + 3;
    }
    if (how == placement::spread) {
      by_row = 2 * n + 7;
      by_col = 2;
    }
    const std::ptrdiff_t size = m * by_row + n * by_col + 2 * margin;
    buffer_.assign(static_cast<std::size_t>(size), guard);
    view_ = {buffer_.data() + margin, m, n, by_row, by_col};
  }
  placed(const placed&) = delete;
  placed& operator=(const placed&) = delete;

  matrix_view<T> view() { return view_; }
  matrix_view<const T> input() const { return view_; }

  void load(const oracle::grid& g) {
    for (std::ptrdiff_t i = 0; i < g.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < g.cols; ++j) {
        view_(i, j) = static_cast<T>(g(i, j));
      }
    }
  }
  oracle::grid read() const {
    oracle::grid g(view_.rows, view_.cols);
    for (std::ptrdiff_t i = 0; i < g.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < g.cols; ++j) g(i, j) = view_(i, j);
    }
    return g;
  }
  /// Returns true iff nothing but elements has changed.
  bool guards_hold() const {
    auto copy = buffer_;
    for (std::ptrdiff_t i = 0; i < view_.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < view_.cols; ++j) {
        const auto at = i * view_.row_stride + j * view_.col_stride + margin;
        copy[static_cast<std::size_t>(at)] = guard_;
      }
    }
    for (const T& x : copy) {
      if (x != guard_) return false;
    }
    return true;
  }

 private:
  static constexpr std::ptrdiff_t margin = 37;
  std::vector<T> buffer_;
  matrix_view<T> view_;
  T guard_;
};

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CASES_PLACEMENT_HPP_
