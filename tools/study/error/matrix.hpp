// Defines a matrix of the user's as the input of a cell: a .npy file of FP16,
// FP32, FP64 or (uint16) BF16 numbers.
//
//   FILE.npy   FILE.npy:bf16   either with @ and the file's SHA-256
//
// A digest that is given must be the file's. Internal.

#ifndef ZEROULP_TOOLS_STUDY_ERROR_MATRIX_HPP_
#define ZEROULP_TOOLS_STUDY_ERROR_MATRIX_HPP_

#include <memory>
#include <string>
#include <string_view>

#include "zeroulp/io.hpp"

namespace zeroulp::study {

/// Every element is finite, and there is one.
struct user_matrix {
  std::string name;  ///< as in settings, with the digest
  std::string file;  ///< its path, as it was given
  bool is_bf16 = false;
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
  double largest = 0;  ///< magnitude
  array values;

  /// Element (i, k), exact.
  double at(std::ptrdiff_t i, std::ptrdiff_t k) const;
};

/// True iff settings such as `text` mean a file.
bool names_matrix(std::string_view text);

/// Reads the file, or gives what it has read and somebody still holds. Throws
/// input_error.
std::shared_ptr<const user_matrix> read_matrix(std::string_view text);

}  // namespace zeroulp::study

#endif  // ZEROULP_TOOLS_STUDY_ERROR_MATRIX_HPP_
