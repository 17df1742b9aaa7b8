// Defines what the files of oracle_implementation share: views to the oracles'
// grids and back.

#ifndef ZEROULP_CONFORMANCE_CONTRACT_ORACLE_PARTS_HPP_
#define ZEROULP_CONFORMANCE_CONTRACT_ORACLE_PARTS_HPP_

#include "conformance/contract/implementation.hpp"
#include "conformance/oracles/grid.hpp"

namespace zeroulp::conformance {

template <class T>
oracle::grid to_grid(matrix_view<const T> v) {
  oracle::grid g(v.rows, v.cols);
  for (std::ptrdiff_t i = 0; i < v.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < v.cols; ++j) g(i, j) = v(i, j);
  }
  return g;
}

template <class T>
void from_grid(const oracle::grid& g, matrix_view<T> v) {
  for (std::ptrdiff_t i = 0; i < v.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < v.cols; ++j) {
      v(i, j) = static_cast<T>(g(i, j));
    }
  }
}

/// The training path, in oracle_training.cpp.
void set_oracle_training(implementation& i);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CONTRACT_ORACLE_PARTS_HPP_
