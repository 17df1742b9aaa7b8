// Defines the compiled operators of a training step, forward and backward: the
// bits of core/model, on all cores.
//
//   engine::attention_forward   attention_backward   rope   rope_table
//   engine::rms_norm_backward   route   route_backward   update_bias
//   engine::make_plan   slot_backward   cross_entropy   sum_of_losses
//   engine::add_shards   sum_of_squares   log   balance_loss
//   engine::update_average   mla_forward
//
// Activations and their gradients are BF16 codes; weights, scores and sums are
// FP32 bits. Elements of a row are adjacent (column stride 1). Outputs named
// "or no data" are left out if they have none; an output is no input of the
// same call but where it is said. Source: SPEC section N.
//
// Errors: input_error, before anything is written, for shapes that do not fit
// each other, rows with gaps, and indices of nothing.

#ifndef ZEROULP_MODEL_HPP_
#define ZEROULP_MODEL_HPP_

#include <span>

#include "zeroulp/core/model/attention.hpp"
#include "zeroulp/core/model/balance_loss.hpp"
#include "zeroulp/core/model/cross_entropy.hpp"
#include "zeroulp/core/model/expert_rows.hpp"
#include "zeroulp/core/model/gradient_norm.hpp"
#include "zeroulp/core/model/mla.hpp"
#include "zeroulp/core/model/rms_norm_backward.hpp"
#include "zeroulp/core/model/rope.hpp"
#include "zeroulp/core/model/router.hpp"
#include "zeroulp/core/model/weight_average.hpp"

#pragma GCC visibility push(default)
namespace zeroulp::engine {

/// out(i, j) = log(x(i, j)), FP32 bits; out may be x. SPEC E6.
void log(matrix_view<const std::uint32_t> x, matrix_view<std::uint32_t> out);

/// SPEC N3.
void rms_norm_backward(const rms_norm_gradients& t);

/// SPEC N4.
void rope(const rope_rows& t);

/// Returns the FP64 number nearest to 10000^(-2i / n), n a power of two from 2
/// to 128, 0 <= i < n / 2. SPEC E7.
double rope_frequency(std::ptrdiff_t n, std::ptrdiff_t i);

/// cosines(p, i) and sines(p, i) are the FP32 numbers nearest to those of
/// (first + p) frequencies[i], for positions from 0 to 2^20 and frequencies
/// from 0 to 1. SPEC E7.
void rope_table(std::span<const double> frequencies, std::ptrdiff_t first,
                matrix_view<std::uint32_t> cosines,
                matrix_view<std::uint32_t> sines);

/// Rows are tokens, a multiple of the length; heads are beside each other.
struct attention_inputs {
  matrix_view<const std::uint16_t> q;  ///< m x heads depth, BF16
  matrix_view<const std::uint16_t> k;  ///< m x heads depth, BF16
  matrix_view<const std::uint16_t> v;  ///< m x heads value_depth, BF16
};

/// o is m x heads value_depth, BF16; the largest score of each token and head
/// and its inverse sum, m x heads, FP32, are what the backward pass needs. SPEC
/// N5 and N6.
void attention_forward(const attention_shape& shape, const attention_inputs& t,
                       matrix_view<std::uint16_t> o,
                       matrix_view<std::uint32_t> largest,
                       matrix_view<std::uint32_t> inverse);

/// What the backward pass reads besides.
struct attention_kept {
  matrix_view<const std::uint32_t> o;  ///< as it was kept, decoded: FP32
  matrix_view<const std::uint32_t> largest;
  matrix_view<const std::uint32_t> inverse;
};

/// Gradients as the inputs are, BF16. SPEC N7.
struct attention_gradients_out {
  matrix_view<std::uint16_t> dq;
  matrix_view<std::uint16_t> dk;
  matrix_view<std::uint16_t> dv;
};
void attention_backward(const attention_shape& shape, const attention_inputs& t,
                        const attention_kept& kept,
                        matrix_view<const std::uint16_t> d_o,
                        const attention_gradients_out& out);

/// Attention of MLA, its products in one of two orders; outputs as of
/// attention_forward. SPEC N27.
void mla_forward(mla_order order, const mla_shape& shape, const mla_tokens& t,
                 matrix_view<std::uint16_t> o,
                 matrix_view<std::uint32_t> largest,
                 matrix_view<std::uint32_t> inverse);

/// SPEC N8 to N10. t.work is not read.
void route(const router& r, const routing& t);

/// SPEC N11.
void route_backward(const router& r, const routing_gradients& t);

/// Moves the biases (1 x e, FP32) by `speed` (FP32 bits) toward equal counts of
/// the experts that were chosen (any number of slots). SPEC N12.
void update_bias(matrix_view<const std::int32_t> experts, std::uint32_t speed,
                 matrix_view<std::uint32_t> bias);

/// The losses of sequences that route's experts are not in balance, and their
/// gradients. t.work is not read. SPEC N25.
void balance_loss(const balance_rows& t);

/// SPEC N13. p.rows has plan_capacity() rows at least.
void make_plan(const expert_plan& p);

/// SPEC N14: rows without a slot become +0.
void slot_backward(const slot_gradients& t);

/// SPEC N15. t.work is not read.
void cross_entropy(const cross_entropy_rows& t);

/// The sum of losses (m x 1, FP32) in FP64. SPEC N15.
double sum_of_losses(matrix_view<const std::uint32_t> losses);

/// The sum of 1, 2, 4, .. matrices of FP32 numbers; `out` may be one of them.
/// SPEC N16.
void add_shards(std::span<const matrix_view<const std::uint32_t>> shards,
                matrix_view<std::uint32_t> out);

/// Moves an average of weights (FP32, m x n) toward `weights` by `rate` (FP32
/// bits), 1 minus its decay. SPEC N26.
void update_average(matrix_view<const std::uint32_t> weights,
                    std::uint32_t rate, matrix_view<std::uint32_t> average);

/// The sum of squares of a parameter's gradients (FP32), in FP64. SPEC N17.
double sum_of_squares(matrix_view<const std::uint32_t> g);

}  // namespace zeroulp::engine
#pragma GCC visibility pop

#endif  // ZEROULP_MODEL_HPP_
