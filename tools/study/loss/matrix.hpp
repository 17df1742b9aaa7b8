// Defines `matrix`: FP32 numbers, row-major.
//
// A value that the tensor table has as BF16 is an FP32 word that holds a BF16
// number: the engine reads every value as FP32, with the same bits. Internal.

#ifndef ZEROULP_TOOLS_STUDY_LOSS_MATRIX_HPP_
#define ZEROULP_TOOLS_STUDY_LOSS_MATRIX_HPP_

#include <vector>

#include "zeroulp/arrays.hpp"

namespace zeroulp::loss {

struct matrix {
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
  std::vector<float> data;

  matrix() = default;
  /// Zeros.
  matrix(std::ptrdiff_t m, std::ptrdiff_t n)
      : rows(m), cols(n), data(static_cast<std::size_t>(m * n)) {}

  float* row(std::ptrdiff_t i) { return data.data() + i * cols; }
  const float* row(std::ptrdiff_t i) const { return data.data() + i * cols; }

  /// FP32 bits for the engine, which is compiled apart.
  matrix_view<std::uint32_t> words() {
    return {reinterpret_cast<std::uint32_t*>(data.data()), rows, cols};
  }
  matrix_view<const std::uint32_t> words() const {
    return {reinterpret_cast<const std::uint32_t*>(data.data()), rows, cols};
  }
};

/// Rounds each number to `to`, nearest-even, where it stands.
void round_to(format to, matrix& x);

/// a += b, each sum rounded to `to`.
void add(format to, matrix& a, const matrix& b);

}  // namespace zeroulp::loss

#endif  // ZEROULP_TOOLS_STUDY_LOSS_MATRIX_HPP_
