// Defines `tensor`: a row-major matrix of codes that is its owner's. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_TENSORS_HPP_
#define ZEROULP_TOOLS_TRAIN_TENSORS_HPP_

#include <cstdint>
#include <vector>

#include "zeroulp/core/view.hpp"

namespace zeroulp::train {

template <class T>
struct tensor {
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
  std::vector<T> data{};

  tensor() = default;
  tensor(std::ptrdiff_t m, std::ptrdiff_t n)
      : rows(m), cols(n), data(static_cast<std::size_t>(m * n)) {}

  /// For an operator that writes all of it; zeros here.
  static tensor unwritten(std::ptrdiff_t m, std::ptrdiff_t n) { return {m, n}; }

  matrix_view<T> view() { return {data.data(), rows, cols}; }
  matrix_view<const T> view() const { return {data.data(), rows, cols}; }
};

using half_tensor = tensor<std::uint16_t>;  ///< BF16
using word_tensor = tensor<std::uint32_t>;  ///< FP32
using index_tensor = tensor<std::int32_t>;

/// Some bytes of a tensor, wherever it is.
struct byte_part {
  const void* data;
  std::size_t count;
};

using half_view = matrix_view<const std::uint16_t>;
using word_view = matrix_view<const std::uint32_t>;

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_TENSORS_HPP_
