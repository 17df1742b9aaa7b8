// Defines how the GPU's operators of a training step take matrices and room to
// work. A matrix in device memory passes for one of the host, of adjacent
// elements, so that the requests of src/c_abi check both. Internal.

#ifndef ZEROULP_CUDA_C_ABI_MODEL_ROWS_HPP_
#define ZEROULP_CUDA_C_ABI_MODEL_ROWS_HPP_

#include <span>

#include "cuda/c_abi/c_abi.hpp"
#include "src/c_abi/model_requests.hpp"
#include "zeroulp/cuda_model.hpp"
#include "zeroulp/zeroulp_cuda_model.h"

namespace zeroulp::c_abi {

/// What the requests take for a pointer to the host's struct; lives as long as
/// the expression.
template <class Matrix>
class host_form {
 public:
  host_form() = default;
  explicit host_form(const Matrix& m) : m_(m), is_null_(false) {}
  const Matrix* pointer() const { return is_null_ ? nullptr : &m_; }
  operator const Matrix*() const { return pointer(); }  // NOLINT: converts

 private:
  Matrix m_{};
  bool is_null_ = true;
};

/// A matrix of elements T. NULL stays NULL.
template <class T, class Matrix>
auto as_host(const Matrix* m, const char* what) {
  using host =
      std::conditional_t<std::is_same_v<Matrix, zeroulp_cuda_const_matrix>,
                         zeroulp_const_matrix, zeroulp_matrix>;
  if (m == nullptr) return host_form<host>();
  if (m->rows > 0 && m->cols > 0 && m->stride < m->cols) {
    refuse("{}: a stride of {}, below its {} columns", what, m->stride,
           m->cols);
  }
  return host_form<host>({m->data, m->rows, m->cols, m->stride, 1, sizeof(T)});
}

/// Its rows as the kernels take them.
template <class T, class Matrix>
auto rows_on_gpu(const Matrix* m, const char* what) {
  return rows_of<T>(as_host<T>(m, what).pointer(), what);
}
template <class T, class Matrix>
auto rows_on_gpu(const Matrix* m, const char* what, std::ptrdiff_t rows,
                 std::ptrdiff_t cols) {
  return rows_of<T>(as_host<T>(m, what).pointer(), what, rows, cols);
}
template <class T, class Matrix>
auto optional_rows_on_gpu(const Matrix* m, const char* what,
                          std::ptrdiff_t rows, std::ptrdiff_t cols) {
  return optional_rows_of<T>(as_host<T>(m, what).pointer(), what, rows, cols);
}

/// The elements of a matrix without gaps.
template <class T>
std::span<T> elements_of(const matrix_view<T>& v, const char* what) {
  if (v.rows == 0 || v.cols == 0) return {};
  if (v.rows > 1 && v.row_stride != v.cols) {
    refuse("{}: rows are {} apart, but {} columns: without gaps is needed",
           what, v.row_stride, v.cols);
  }
  return {v.data, static_cast<std::size_t>(v.rows * v.cols)};
}

/// Room for `count` x `each` elements T.
template <class T>
std::span<T> room_of(void* work, std::int64_t work_bytes, std::int64_t count,
                     std::int64_t each) {
  if (work_bytes < 0) refuse("work: {} bytes", work_bytes);
  std::int64_t elements = 0, bytes = 0;
  if (__builtin_mul_overflow(count, each, &elements) ||
      __builtin_mul_overflow(elements, std::int64_t{sizeof(T)}, &bytes)) {
    refuse("work: more than an address space is needed");
  }
  if (work_bytes < bytes) {
    refuse("work: {} bytes, but {} are needed", work_bytes, bytes);
  }
  if (bytes > 0 && work == nullptr) refuse("work is NULL");
  if (reinterpret_cast<std::uintptr_t>(work) % 256 != 0) {
    refuse("work: not aligned to 256 bytes");
  }
  return {static_cast<T*>(work), static_cast<std::size_t>(elements)};
}

}  // namespace zeroulp::c_abi

#endif  // ZEROULP_CUDA_C_ABI_MODEL_ROWS_HPP_
