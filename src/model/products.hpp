// Declares what the operators that are made of products share: matrices that a
// call makes for itself, and the product of section N. Internal.

#ifndef ZEROULP_SRC_MODEL_PRODUCTS_HPP_
#define ZEROULP_SRC_MODEL_PRODUCTS_HPP_

#include <algorithm>
#include <vector>

#include "zeroulp/core/view.hpp"

namespace zeroulp::engine {

/// A matrix that a call makes for itself.
template <class T>
class scratch {
 public:
  /// Without elements there is a place, too: blocks of it begin somewhere.
  scratch(std::ptrdiff_t m, std::ptrdiff_t n)
      : data_(std::max(static_cast<std::size_t>(m * n), sizeof(T))),
        rows_(m),
        cols_(n) {}
  matrix_view<T> view() { return {data_.data(), rows_, cols_}; }

 private:
  std::vector<T> data_;
  std::ptrdiff_t rows_;
  std::ptrdiff_t cols_;
};

/// D = A B^T on the tensor core: BF16 operands, FP32 sums. attention.cpp
void product(const matrix_view<const std::uint16_t>& a,
             const matrix_view<const std::uint16_t>& b,
             matrix_view<std::uint32_t> d);

}  // namespace zeroulp::engine

#endif  // ZEROULP_SRC_MODEL_PRODUCTS_HPP_
