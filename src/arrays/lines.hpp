// Defines how matrices are cut into lines: tiles over all cores, codes gathered
// from and scattered to any stride, `number_reader` and `code_writer`, which
// take the vector kernels where they apply and else the core. Internal.

#ifndef ZEROULP_SRC_ARRAYS_LINES_HPP_
#define ZEROULP_SRC_ARRAYS_LINES_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "src/arrays/kernels.hpp"
#include "src/arrays/reference.hpp"
#include "src/base/float_mode.hpp"
#include "src/base/threads.hpp"
#include "zeroulp/arrays.hpp"

namespace zeroulp::engine {

/// The longest line that is worked on at once: its buffers stay in L1.
inline constexpr std::ptrdiff_t line = 1024;

/// Numbers of a line, or their scales.
struct line_buffer {
  alignas(64) std::uint32_t word[line];
};

/// Calls use(i, j, m, n) for the tiles of a rows x cols matrix, on all cores,
/// which round to nearest whatever their threads had set. `use` must not throw;
/// an element takes it `each` nanoseconds.
template <class Use>
void for_tiles(std::ptrdiff_t rows, std::ptrdiff_t cols, std::ptrdiff_t height,
               std::ptrdiff_t width, Use use, double each = line_work) {
  const std::ptrdiff_t across = ceil_div(cols, width);
  const std::ptrdiff_t tiles = ceil_div(rows, height) * across;
  [[maybe_unused]] const double work =
      tiles > 1 ? each * static_cast<double>(rows) * static_cast<double>(cols)
                : 0;
#pragma omp parallel for schedule(static) num_threads(threads_for(work))
  for (std::ptrdiff_t t = 0; t < tiles; ++t) {
    const float_mode mode(float_mode::nearest);
    const std::ptrdiff_t i = t / across * height;
    const std::ptrdiff_t j = t % across * width;
    use(i, j, std::min(height, rows - i), std::min(width, cols - j));
  }
}

/// Calls use(i, j, n) for the lines of a rows x cols matrix, on all cores.
/// Unless every view has its rows in one piece, lines are short and one below
/// the other, so that the cache lines of columns are used while they are there.
template <class Use>
void for_lines(std::ptrdiff_t rows, std::ptrdiff_t cols, bool in_rows, Use use,
               double each = line_work) {
  for_tiles(
      rows, cols, in_rows ? 1 : 64, in_rows ? line : 64,
      [&](std::ptrdiff_t i0, std::ptrdiff_t j, std::ptrdiff_t m,
          std::ptrdiff_t n) {
        for (std::ptrdiff_t i = i0; i < i0 + m; ++i) use(i, j, n);
      },
      each);
}

/// Returns true iff lines should run down the columns of `v`.
template <class View>
bool runs_down(const View& v) {
  return v.row_stride == 1 && (v.col_stride != 1 || v.cols == 1) && v.rows > 1;
}

template <class T>
basic_code_view<T> transposed(const basic_code_view<T>& v) {
  return {v.data, v.cols, v.rows, v.col_stride, v.row_stride, v.bytes};
}

/// Returns true iff the rows of `v` follow each other without gaps.
template <class View>
bool is_dense(const View& v) {
  return v.col_stride == 1 && (v.row_stride == v.cols || v.rows <= 1);
}

/// Calls use(m), m being `v` as a matrix_view of the elements' type.
template <class T, class Use>
void with_type(const basic_code_view<T>& v, Use use) {
  const auto as = [&](auto zero) {
    using element = std::conditional_t<std::is_const_v<T>, const decltype(zero),
                                       decltype(zero)>;
    use(matrix_view<element>(static_cast<element*>(v.data), v.rows, v.cols,
                             v.row_stride, v.col_stride));
  };
  switch (v.bytes) {
    case 1:
      return as(std::uint8_t{});
    case 2:
      return as(std::uint16_t{});
    default:
      return as(std::uint32_t{});
  }
}

/// The address of element (i, j).
const void* address(const const_code_view& v, std::ptrdiff_t i,
                    std::ptrdiff_t j);
void* address(const code_view& v, std::ptrdiff_t i, std::ptrdiff_t j);

/// Reads n codes from (i, j) on along a row.
void gather(const const_code_view& v, std::ptrdiff_t i, std::ptrdiff_t j,
            std::ptrdiff_t n, std::uint32_t* out);

/// Returns n words from (i, j) on: those of `v` itself or a copy in `buffer`.
const std::uint32_t* words_at(const const_code_view& v, std::ptrdiff_t i,
                              std::ptrdiff_t j, std::ptrdiff_t n,
                              line_buffer& buffer);

/// Writes n codes from (i, j) on along a row.
void scatter(const std::uint32_t* codes, const code_view& v, std::ptrdiff_t i,
             std::ptrdiff_t j, std::ptrdiff_t n);

/// Fills `out` with what each element of a line takes from its group: elements
/// first, first + 1, ... of a row whose groups are `width` wide.
template <class Value>
void spread(std::ptrdiff_t first, std::ptrdiff_t n, std::ptrdiff_t width,
            Value value, std::uint32_t* out) {
  std::ptrdiff_t g = first / width;
  std::ptrdiff_t end = (g + 1) * width - first;
  for (std::ptrdiff_t k = 0; k < n; end += width) {
    const std::ptrdiff_t stop = std::min(end, n);
    std::fill(out + k, out + stop, value(g++));
    k = stop;
  }
}

/// Reads a matrix of codes as FP32 numbers: core's as_fp32.
class number_reader {
 public:
  number_reader(format from, const_code_view codes);

  /// Returns n numbers from (i, j) on, n <= line: in place where the matrix
  /// holds them as they are, else in `buffer`.
  const std::uint32_t* read(std::ptrdiff_t i, std::ptrdiff_t j,
                            std::ptrdiff_t n, line_buffer& buffer) const;

 private:
  format from_;
  const_code_view codes_;
  bool decodes_;
  decoding decoding_;
};

/// Writes FP32 numbers as a matrix of codes: core's encode.
class code_writer {
 public:
  code_writer(format to, rounding mode, policy how, code_view codes);

  /// Writes n codes from (i, j) on, n <= line. `random` as in encode_line.
  void write(const std::uint32_t* numbers, const std::uint32_t* random,
             std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n) const;

 private:
  format to_;
  rounding mode_;
  policy how_;
  code_view codes_;
  bool encodes_;
  encoding encoding_;
};

/// Throws input_error unless codes of `f` fit into the elements of `v`.
void check_width(format f, const const_code_view& v, const char* what);

/// Throws input_error unless `v` is rows x cols, as `of` needs.
void check_shape(std::ptrdiff_t v_rows, std::ptrdiff_t v_cols,
                 std::ptrdiff_t rows, std::ptrdiff_t cols, const char* what,
                 const char* of);

template <class View>
void check_shape(const View& v, std::ptrdiff_t rows, std::ptrdiff_t cols,
                 const char* what, const char* of) {
  check_shape(v.rows, v.cols, rows, cols, what, of);
}

}  // namespace zeroulp::engine

#endif  // ZEROULP_SRC_ARRAYS_LINES_HPP_
