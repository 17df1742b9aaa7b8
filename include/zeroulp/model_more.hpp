// Defines the compiled operators of a model that a plain step does not need:
//
//   engine::dual_pipe_steps   dual_pipe_order   accumulate_micro_batches
//   engine::choose_replicas   merge_replicas
//   engine::indexer_logits   indexer_keys
//   engine::mtp_tokens   mtp_input   mtp_input_backward
//
// Views and errors are as in model.hpp. Source: SPEC N28 to N31.

#ifndef ZEROULP_MODEL_MORE_HPP_
#define ZEROULP_MODEL_MORE_HPP_

#include <span>

#include "zeroulp/core/model/dual_pipe.hpp"
#include "zeroulp/core/model/indexer.hpp"
#include "zeroulp/core/model/mtp.hpp"
#include "zeroulp/core/model/replicas.hpp"

#pragma GCC visibility push(default)
namespace zeroulp::engine {

/// What a rank of DualPipe does: `steps` has 3 micro_batches rows of pipe_pass,
/// direction and micro-batch. SPEC N28.
void dual_pipe_steps(const dual_pipe_shape& shape, std::ptrdiff_t rank,
                     matrix_view<std::int32_t> steps);

/// The micro-batches of a stage in the order in which their gradients of
/// weights are made: 2 x micro_batches / 2, a row a direction. SPEC N28.
void dual_pipe_order(const dual_pipe_shape& shape, std::ptrdiff_t stage,
                     matrix_view<std::int32_t> order);

/// Adds gradients (FP32, of one shape) in an order, such as
/// dual_pipe_order()'s: each row of `order` is a chain, and the chains are
/// added in order. `out` may be the first of them. SPEC N28.
void accumulate_micro_batches(
    std::span<const matrix_view<const std::uint32_t>> gradients,
    matrix_view<const std::int32_t> order, matrix_view<std::uint32_t> out);

/// SPEC N29.
void choose_replicas(const replica_choice& c);

/// SPEC N29.
void merge_replicas(const replica_rows& r);

/// Codes are E4M3; heads of a query are beside each other.
struct indexer_inputs {
  matrix_view<const std::uint8_t> q;          ///< m x heads depth
  matrix_view<const std::uint8_t> k;          ///< n x depth
  matrix_view<const std::uint32_t> q_scales;  ///< m x heads, FP32
  matrix_view<const std::uint32_t> k_scales;  ///< n x 1, FP32
  matrix_view<const std::uint32_t> weights;   ///< m x heads, FP32
  std::ptrdiff_t first;  ///< query i sees the first (first + i + 1) keys
};

/// logits are m x n, FP32. SPEC N30.
void indexer_logits(const indexer_inputs& t, matrix_view<std::uint32_t> logits);

/// The `top` keys (m x top) with the largest logits of those that a query sees,
/// ascending, then -1; and how many left out equal the last one taken (m x 1).
/// SPEC N30.
void indexer_keys(matrix_view<const std::uint32_t> logits, std::ptrdiff_t first,
                  matrix_view<std::int32_t> keys,
                  matrix_view<std::int32_t> ties);

/// SPEC N31.
void mtp_tokens(const mtp_shift& t);

/// What the projection of an MTP module reads; m tokens of width d.
struct mtp_rows {
  matrix_view<const std::uint16_t> h;       ///< m x d, BF16: of the model
  matrix_view<const std::uint16_t> next;    ///< m x d, BF16: embeddings
  matrix_view<const std::uint32_t> w_h;     ///< 1 x d, FP32
  matrix_view<const std::uint32_t> w_next;  ///< 1 x d, FP32
};

/// joined is m x 2 d, BF16: both rows, normalized; the factors are m x 1, FP32.
/// SPEC N31.
void mtp_input(const mtp_rows& t, std::uint32_t eps,
               matrix_view<std::uint16_t> joined,
               matrix_view<std::uint32_t> rstd_h,
               matrix_view<std::uint32_t> rstd_next);

struct mtp_gradients {
  matrix_view<const std::uint16_t> d_joined;   ///< m x 2 d, BF16
  matrix_view<const std::uint32_t> rstd_h;     ///< of mtp_input
  matrix_view<const std::uint32_t> rstd_next;  ///< of mtp_input
  /// m x d, BF16: the gradient of h by the model itself; or no data.
  matrix_view<const std::uint16_t> residual;
  matrix_view<std::uint16_t> dh;       ///< m x d, BF16
  matrix_view<std::uint16_t> d_next;   ///< m x d, BF16
  matrix_view<std::uint32_t> dw_h;     ///< 1 x d, FP32
  matrix_view<std::uint32_t> dw_next;  ///< 1 x d, FP32
};

/// SPEC N31.
void mtp_input_backward(const mtp_rows& t, const mtp_gradients& g);

}  // namespace zeroulp::engine
#pragma GCC visibility pop

#endif  // ZEROULP_MODEL_MORE_HPP_
