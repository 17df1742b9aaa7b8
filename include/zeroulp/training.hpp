// Defines the compiled training path: the bits of core/training_matrices.hpp,
// in hardware arithmetic and on all cores.
//
//   engine::swiglu_forward   swiglu_backward   rms_norm   adamw   combine
//   engine::dispatch         elementary (exp, sigmoid, rsqrt)
//
// Errors: input_error for shapes that do not fit each other, for element types
// too narrow for their format, for row numbers without a row.

#ifndef ZEROULP_TRAINING_HPP_
#define ZEROULP_TRAINING_HPP_

#include "zeroulp/arrays.hpp"
#include "zeroulp/core/training_matrices.hpp"

#pragma GCC visibility push(default)
namespace zeroulp::engine {

/// A function of core/elementary.hpp.
enum class elementary : std::uint8_t { exp, sigmoid, rsqrt };

/// out(i, j) = f(x(i, j)), FP32 bits.
void apply(elementary f, matrix_view<const std::uint32_t> x,
           matrix_view<std::uint32_t> out);

/// A quantized matrix that a call writes; left out if it has no data.
struct quantized_view {
  code_view codes{};
  matrix_view<std::uint32_t> scales{};
};
/// A quantized matrix that a call only reads.
struct const_quantized_view {
  const_code_view codes;
  matrix_view<const std::uint32_t> scales;
};

// The functions below leave out an output of values (h, dg, du, y) without
// data, too: callers may need these values only as intermediate results.

void swiglu_forward(const swiglu_layer& layer, const_code_view g,
                    const_code_view u, code_view h,
                    const quantized_view& h_out = {},
                    const quantized_view& g_cache = {},
                    const quantized_view& u_cache = {});

void swiglu_backward(const swiglu_layer& layer, format from, const_code_view dh,
                     const const_quantized_view& g_cache,
                     const const_quantized_view& u_cache, code_view h,
                     code_view dg, code_view du,
                     const quantized_view& dg_out = {},
                     const quantized_view& du_out = {});

/// `rstd` may have null data.
void rms_norm(const rms_layer& layer, const_code_view x, const_code_view w,
              code_view y, matrix_view<std::uint32_t> rstd,
              const quantized_view& out = {});

/// `copy` may have null data.
void adamw(const adamw_step& step, const_code_view g, code_view m, code_view v,
           matrix_view<std::uint32_t> w, code_view copy = {});

/// `weights` may have null data.
void combine(combine_rule rule, const_code_view x,
             matrix_view<const std::int32_t> slots,
             matrix_view<const std::uint32_t> weights, code_view out);

void dispatch(const quantizer& q, const_code_view x,
              matrix_view<const std::int32_t> rows, code_view codes,
              matrix_view<std::uint32_t> scales);

}  // namespace zeroulp::engine
#pragma GCC visibility pop

#endif  // ZEROULP_TRAINING_HPP_
