// Defines the checks of the model's operators: each throws input_error, and
// comes before the first write. Internal.

#ifndef ZEROULP_SRC_MODEL_CHECKS_HPP_
#define ZEROULP_SRC_MODEL_CHECKS_HPP_

#include "zeroulp/core/view.hpp"

namespace zeroulp::engine {

/// Rows of adjacent elements, rows x cols.
void check_rows_of(std::ptrdiff_t v_rows, std::ptrdiff_t v_cols,
                   std::ptrdiff_t col_stride, std::ptrdiff_t rows,
                   std::ptrdiff_t cols, const char* what);

template <class T>
void check_rows_of(const matrix_view<T>& v, std::ptrdiff_t rows,
                   std::ptrdiff_t cols, const char* what) {
  check_rows_of(v.rows, v.cols, v.col_stride, rows, cols, what);
}

/// The same, or a view without data.
template <class T>
void check_if_any(const matrix_view<T>& v, std::ptrdiff_t rows,
                  std::ptrdiff_t cols, const char* what) {
  if (v.data != nullptr) check_rows_of(v, rows, cols, what);
}

/// Throws input_error unless each is from `least` to below `count`.
void check_indices(matrix_view<const std::int32_t> x, std::ptrdiff_t least,
                   std::ptrdiff_t count, const char* what);

}  // namespace zeroulp::engine

#endif  // ZEROULP_SRC_MODEL_CHECKS_HPP_
