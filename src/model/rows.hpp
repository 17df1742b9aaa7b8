// Declares the operators of model.hpp over ranges of rows: in hardware
// arithmetic, on the vector set in use, or by the core's own where
// simd::reference is. For callers within a float_mode that rounds to nearest.
// Internal.

#ifndef ZEROULP_SRC_MODEL_ROWS_HPP_
#define ZEROULP_SRC_MODEL_ROWS_HPP_

#include "zeroulp/model.hpp"
#include "zeroulp/model_more.hpp"

namespace zeroulp::engine {

/// Queries of one sequence and head: what attention does between its products.
struct query_block {
  std::uint32_t scale;
  std::ptrdiff_t first;  ///< the position of row 0; row i sees first + i + 1
  std::ptrdiff_t rows;
  std::ptrdiff_t keys;  ///< columns
};

/// e and the largest score of each query, from scores (rows x keys).
struct query_weights {
  matrix_view<const std::uint32_t> scores;
  matrix_view<std::uint16_t> e;
  matrix_view<std::uint32_t> largest;  ///< rows x 1
};
/// The output and inverse sum of each query, from its products: o, then l.
struct query_outputs {
  matrix_view<const std::uint32_t> sums;  ///< rows x (n + 1)
  matrix_view<std::uint16_t> o;           ///< rows x n
  matrix_view<std::uint32_t> inverse;     ///< rows x 1
};
/// P and dS of each query.
struct query_gradients {
  matrix_view<const std::uint32_t> scores;
  matrix_view<const std::uint32_t> dp;
  matrix_view<const std::uint32_t> largest;
  matrix_view<const std::uint32_t> inverse;
  matrix_view<const std::uint16_t> d_o;  ///< rows x n
  matrix_view<const std::uint32_t> o;    ///< rows x n, as it was kept
  matrix_view<std::uint16_t> p;
  matrix_view<std::uint16_t> ds;
};
/// bf(fl(c x)), or bf(x) where there is no c.
struct scaled_rows {
  matrix_view<const std::uint32_t> x;
  std::uint32_t scale;
  bool scaled;
  matrix_view<std::uint16_t> out;
};

/// X(name, parameters, arguments) for each function.
#define ZEROULP_MODEL_ROWS(X)                                                  \
  X(log_words, (const std::uint32_t* x, std::uint32_t* out, std::ptrdiff_t n), \
    (x, out, n))                                                               \
  X(dx_rows,                                                                   \
    (const rms_norm_gradients& t, std::ptrdiff_t begin, std::ptrdiff_t end),   \
    (t, begin, end))                                                           \
  X(dw_elements,                                                               \
    (const rms_norm_gradients& t, std::ptrdiff_t begin, std::ptrdiff_t end),   \
    (t, begin, end))                                                           \
  X(turned_rows,                                                               \
    (const rope_rows& t, std::ptrdiff_t begin, std::ptrdiff_t end),            \
    (t, begin, end))                                                           \
  X(routed_rows,                                                               \
    (const router& r, const routing& t, std::ptrdiff_t begin,                  \
     std::ptrdiff_t end),                                                      \
    (r, t, begin, end))                                                        \
  X(dlogits_rows,                                                              \
    (const router& r, const routing_gradients& t, std::ptrdiff_t begin,        \
     std::ptrdiff_t end),                                                      \
    (r, t, begin, end))                                                        \
  X(balanced_sequences,                                                        \
    (const balance_rows& t, std::ptrdiff_t begin, std::ptrdiff_t end),         \
    (t, begin, end))                                                           \
  X(average_words,                                                             \
    (const std::uint32_t* x, std::uint32_t rate, std::uint32_t* average,       \
     std::ptrdiff_t n),                                                        \
    (x, rate, average, n))                                                     \
  X(slot_rows,                                                                 \
    (const slot_gradients& t, std::ptrdiff_t begin, std::ptrdiff_t end),       \
    (t, begin, end))                                                           \
  X(loss_rows,                                                                 \
    (const cross_entropy_rows& t, std::ptrdiff_t begin, std::ptrdiff_t end),   \
    (t, begin, end))                                                           \
  X(squares, (const std::uint32_t* g, std::ptrdiff_t n, double& sum),          \
    (g, n, sum))                                                               \
  X(sum_words,                                                                 \
    (const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out,       \
     std::ptrdiff_t n),                                                        \
    (a, b, out, n))                                                            \
  X(weights_of_queries, (const query_block& b, const query_weights& t),        \
    (b, t))                                                                    \
  X(outputs_of_queries, (const query_block& b, const query_outputs& t),        \
    (b, t))                                                                    \
  X(gradients_of_queries, (const query_block& b, const query_gradients& t),    \
    (b, t))                                                                    \
  X(scaled, (const scaled_rows& t), (t))                                       \
  X(logits_of_query, (const indexer_query& t), (t))

#define ZEROULP_DECLARE(NAME, PARAMETERS, ARGUMENTS) void NAME PARAMETERS;
ZEROULP_MODEL_ROWS(ZEROULP_DECLARE)
#undef ZEROULP_DECLARE

}  // namespace zeroulp::engine

#endif  // ZEROULP_SRC_MODEL_ROWS_HPP_
