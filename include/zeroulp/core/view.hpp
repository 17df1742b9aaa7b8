// Defines `matrix_view`: a matrix that somebody else owns, with a stride in
// each direction, so that a transpose is a view.

#ifndef ZEROULP_CORE_VIEW_HPP_
#define ZEROULP_CORE_VIEW_HPP_

#include "zeroulp/core/config.hpp"

namespace zeroulp {

/// Element (i, j) is data[i * row_stride + j * col_stride]; strides count
/// elements.
template <class T>
struct matrix_view {
  T* data = nullptr;
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t col_stride = 1;

  matrix_view() = default;
  /// A row-major matrix without gaps.
  ZEROULP_HD constexpr matrix_view(T* p, std::ptrdiff_t m, std::ptrdiff_t n)
      : matrix_view(p, m, n, n, 1) {}
  ZEROULP_HD constexpr matrix_view(T* p, std::ptrdiff_t m, std::ptrdiff_t n,
                                   std::ptrdiff_t by_row, std::ptrdiff_t by_col)
      : data(p), rows(m), cols(n), row_stride(by_row), col_stride(by_col) {}

  /// The same elements, read-only.
  template <class U>
  requires requires(U* p) { static_cast<T*>(p); }
  ZEROULP_HD constexpr matrix_view(const matrix_view<U>& v)
      : matrix_view(v.data, v.rows, v.cols, v.row_stride, v.col_stride) {}

  ZEROULP_HD constexpr T& operator()(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return data[i * row_stride + j * col_stride];
  }
  /// The m x n block whose first element is (i, j). A matrix without elements
  /// may have no address to count from.
  ZEROULP_HD constexpr matrix_view block(std::ptrdiff_t i, std::ptrdiff_t j,
                                         std::ptrdiff_t m,
                                         std::ptrdiff_t n) const {
    if (data == nullptr) return {data, m, n, row_stride, col_stride};
    return {data + i * row_stride + j * col_stride, m, n, row_stride,
            col_stride};
  }
  ZEROULP_HD constexpr matrix_view transposed() const {
    return {data, cols, rows, col_stride, row_stride};
  }
};

/// Returns a / b rounded up; a >= 0, b > 0.
ZEROULP_HD constexpr std::ptrdiff_t ceil_div(std::ptrdiff_t a,
                                             std::ptrdiff_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

static_assert(matrix_view<int>(nullptr, 0, 4).block(0, 2, 0, 2).cols == 2);
static_assert(ceil_div(0, 128) == 0 && ceil_div(129, 128) == 2);

}  // namespace zeroulp

#endif  // ZEROULP_CORE_VIEW_HPP_
