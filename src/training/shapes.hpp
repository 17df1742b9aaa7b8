// Declares the checks of the training path's arguments: each throws
// input_error, and comes before the first write. Internal.

#ifndef ZEROULP_SRC_TRAINING_SHAPES_HPP_
#define ZEROULP_SRC_TRAINING_SHAPES_HPP_

#include "zeroulp/training.hpp"

namespace zeroulp::engine {

/// A matrix of codes of `f`, rows x cols.
void check_input(format f, const const_code_view& v, std::ptrdiff_t rows,
                 std::ptrdiff_t cols, const char* what);
/// The same, or a view without data.
void check_values(format f, const code_view& v, std::ptrdiff_t rows,
                  std::ptrdiff_t cols, const char* what);
/// Codes of q.to and one scale a group, or codes without data.
void check_quantized(const quantizer& q, const quantized_view& v,
                     std::ptrdiff_t rows, std::ptrdiff_t cols,
                     const char* what);
/// Codes of q.to and one scale a group.
void check_cache(const quantizer& q, const const_quantized_view& v,
                 std::ptrdiff_t rows, std::ptrdiff_t cols, const char* what);
/// Each row is one of `count`, or -1.
void check_rows(const matrix_view<const std::int32_t>& rows,
                std::ptrdiff_t count, const char* what);

}  // namespace zeroulp::engine

#endif  // ZEROULP_SRC_TRAINING_SHAPES_HPP_
