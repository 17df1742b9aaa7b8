// Defines how the C ABI takes the matrices of a training step's operators:
// rows of adjacent elements of one type. Internal.

#ifndef ZEROULP_SRC_C_ABI_MODEL_ROWS_HPP_
#define ZEROULP_SRC_C_ABI_MODEL_ROWS_HPP_

#include "src/c_abi/c_abi.hpp"

namespace zeroulp::c_abi {

using bf16_bits = std::uint16_t;
using fp32_bits = std::uint32_t;
using row_index = std::int32_t;

/// The elements of a matrix that a call reads, or writes.
template <class T, class Matrix>
using element_of =
    std::conditional_t<std::is_same_v<Matrix, zeroulp_const_matrix>, const T,
                       T>;

/// A matrix of elements T, those of a row adjacent.
template <class T, class Matrix>
matrix_view<element_of<T, Matrix>> rows_of(const Matrix* m, const char* what) {
  const auto v = view_of(m, what);
  need_bytes(v, sizeof(T), sizeof(T), what);
  auto* const data = static_cast<element_of<T, Matrix>*>(v.data);
  if (v.is_empty()) return {data, v.rows, v.cols};
  if (v.cols > 1 && v.col_stride != 1) {
    refuse("{}: elements of a row are {} apart, not adjacent", what,
           v.col_stride);
  }
  return {data, v.rows, v.cols, v.row_stride, v.col_stride};
}

/// The same, of rows x cols.
template <class T, class Matrix>
auto rows_of(const Matrix* m, const char* what, std::ptrdiff_t rows,
             std::ptrdiff_t cols) {
  need_shape(view_of(m, what), what, rows, cols, "are needed");
  return rows_of<T>(m, what);
}

/// The same, or a view without data.
template <class T, class Matrix>
matrix_view<element_of<T, Matrix>> optional_rows_of(const Matrix* m,
                                                    const char* what,
                                                    std::ptrdiff_t rows,
                                                    std::ptrdiff_t cols) {
  if (m == nullptr) return {};
  return rows_of<T>(m, what, rows, cols);
}

/// `count` matrices of rows x cols, called what[0], what[1], ..
template <class T, class Matrix>
auto all_rows_of(const Matrix* list, std::int64_t count, const char* what,
                 std::ptrdiff_t rows, std::ptrdiff_t cols) {
  std::vector<matrix_view<element_of<T, Matrix>>> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto name = fmt::format("{}[{}]", what, i);
    all.push_back(rows_of<T>(list + i, name.c_str(), rows, cols));
  }
  return all;
}

/// Rows without elements are not counted.
template <class T>
matrix_view<T> without_empty_rows(matrix_view<T> v) {
  if (v.cols == 0) v.rows = 0;
  return v;
}

}  // namespace zeroulp::c_abi

#endif  // ZEROULP_SRC_C_ABI_MODEL_ROWS_HPP_
