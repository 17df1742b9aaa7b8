// The C ABI: matrices, checked.

#include <cstdlib>
#include <numeric>

#include "src/c_abi/c_abi.hpp"

namespace zeroulp::c_abi {
namespace {

constexpr std::int64_t most = PTRDIFF_MAX;

/// How far `count` elements reach, in elements; -1: beyond the address space.
std::int64_t reach(std::int64_t count, std::int64_t stride) {
  std::int64_t distance = 0;
  if (stride == INT64_MIN ||
      __builtin_mul_overflow(count - 1, std::llabs(stride), &distance)) {
    return -1;
  }
  return distance;
}

/// Returns true iff two of the elements are one: some (di, dj) but (0, 0) with
/// |di| < rows and |dj| < cols has di * row_stride + dj * col_stride = 0.
bool overlaps(const const_code_view& v) {
  if (v.row_stride == 0 || v.col_stride == 0) {
    return (v.row_stride == 0 && v.rows > 1) ||
           (v.col_stride == 0 && v.cols > 1);
  }
  const std::int64_t by_row = std::llabs(v.row_stride);
  const std::int64_t by_col = std::llabs(v.col_stride);
  const std::int64_t common = std::gcd(by_row, by_col);
  return by_col / common < v.rows && by_row / common < v.cols;
}

template <class View, class Matrix>
View checked_view(const Matrix* m, const char* what) {
  needed(m, what);
  const auto bytes = m->element_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) {
    refuse("{}: elements of {} bytes: 1, 2, 4 or 8 are taken", what, bytes);
  }
  if (m->rows < 0 || m->cols < 0) {
    refuse("{}: {} x {} elements", what, m->rows, m->cols);
  }
  const View v(m->data, m->rows, m->cols, m->row_stride, m->col_stride,
               static_cast<int>(bytes));
  if (v.is_empty()) {
    // So that no count of groups or bytes leaves 64 bits.
    if (v.rows <= most / 64 && v.cols <= most / 64) return v;
    refuse("{}: {} x {} elements exceed the memory", what, v.rows, v.cols);
  }
  if (v.data == nullptr) {
    refuse("{}: data is NULL, but there are {} x {} elements", what, v.rows,
           v.cols);
  }
  if (reinterpret_cast<std::uintptr_t>(v.data) %
          static_cast<std::uintptr_t>(bytes) !=
      0) {
    refuse("{}: data is not aligned to elements of {} bytes", what, bytes);
  }
  const std::int64_t down = reach(v.rows, v.row_stride);
  const std::int64_t right = reach(v.cols, v.col_stride);
  std::int64_t end = 0;
  // Elements that broadcast take no memory, but are counted and copied.
  if (down < 0 || right < 0 || __builtin_add_overflow(down, right, &end) ||
      end >= most / bytes || v.cols > most / 64 / v.rows) {
    refuse("{}: {} x {} elements with strides {} and {} exceed the memory",
           what, v.rows, v.cols, v.row_stride, v.col_stride);
  }
  return v;
}

}  // namespace

const_code_view view_of(const zeroulp_const_matrix* m, const char* what) {
  return checked_view<const_code_view>(m, what);
}

code_view view_of(const zeroulp_matrix* m, const char* what) {
  const auto v = checked_view<code_view>(m, what);
  if (!v.is_empty() && overlaps(v)) {
    refuse("{}: elements overlap: {} x {} with strides {} and {}", what, v.rows,
           v.cols, v.row_stride, v.col_stride);
  }
  return v;
}

void need_bytes(const const_code_view& v, int least, int most_bytes,
                const char* what) {
  if (v.bytes >= least && v.bytes <= most_bytes) return;
  refuse("{}: elements of {} bytes, but {} are taken here", what, v.bytes,
         least == most_bytes ? fmt::format("{}", least)
                             : fmt::format("{} to {}", least, most_bytes));
}

void need_room(format f, const const_code_view& v, const char* what) {
  if (f.bits() > 8 * v.bytes) {
    refuse("{}: elements of {} bytes, but codes of {} bits", what, v.bytes,
           f.bits());
  }
}

void need_shape(const const_code_view& v, const char* what, std::ptrdiff_t rows,
                std::ptrdiff_t cols, const char* why) {
  if (v.rows == rows && v.cols == cols) return;
  refuse("{}: {} x {}, but {} x {} {}", what, v.rows, v.cols, rows, cols, why);
}

matrix_view<const std::uint32_t> words_of(const const_code_view& v,
                                          const char* what) {
  need_bytes(v, 4, 4, what);
  return {static_cast<const std::uint32_t*>(v.data), v.rows, v.cols,
          v.row_stride, v.col_stride};
}

matrix_view<std::uint32_t> words_of(const code_view& v, const char* what) {
  need_bytes(v, 4, 4, what);
  return {static_cast<std::uint32_t*>(v.data), v.rows, v.cols, v.row_stride,
          v.col_stride};
}

matrix_view<const std::uint32_t> optional_words_of(
    const zeroulp_const_matrix* m, const char* what) {
  return m == nullptr ? matrix_view<const std::uint32_t>{}
                      : words_of(view_of(m, what), what);
}

}  // namespace zeroulp::c_abi
