// Defines the training path on a GPU of compute capability 9.0, bit-equal to
// the core's functions of the same names (core/training_matrices.hpp) where
// slots and row numbers are -1 or rows:
//
//   cuda::swiglu_forward   swiglu_backward   rms_norm
//   cuda::adamw   combine   dispatch
//
// Matrices, streams and errors are as in cuda.hpp; an output that may be left
// out is, without data. AdamW updates m, v and w where they are. What is
// quantized comes out of the same pass, for BF16 numbers and groups of 1x128
// alone: for others ask for the values and quantize these.

#ifndef ZEROULP_CUDA_TRAINING_HPP_
#define ZEROULP_CUDA_TRAINING_HPP_

#include "zeroulp/core/training_matrices.hpp"
#include "zeroulp/cuda.hpp"

namespace zeroulp::cuda {

/// Codes and scales of a matrix, to be read.
struct const_quantized {
  const_matrix codes;
  const_scales scales;
};

/// g and u (m x n, of layer.cache.from) give h (of layer.out.from); h, g and u
/// are quantized by layer.out and layer.cache in the same pass. Numbers are of
/// bf16, fp16 or fp32; where anything is quantized, all of bf16, in groups of
/// 1x128. SPEC: S1, S2.
void swiglu_forward(const swiglu_layer& layer, const const_matrix& g,
                    const const_matrix& u, const matrix& h,
                    const quantized& h_out = {}, const quantized& g_cache = {},
                    const quantized& u_cache = {},
                    CUstream_st* stream = nullptr);

/// dh (of `from`) and g and u as layer.cache stored them, e4m3, e5m2 or e5m6 in
/// groups of any shape, give h, dg and du (of layer.out.from); dg and du are
/// quantized by layer.out in the same pass, where all numbers are of bf16, all
/// groups of 1x128. SPEC: S1, S3.
void swiglu_backward(const swiglu_layer& layer, format from,
                     const const_matrix& dh, const const_quantized& g_cache,
                     const const_quantized& u_cache, const matrix& h,
                     const matrix& dg, const matrix& du,
                     const quantized& dg_out = {}, const quantized& du_out = {},
                     CUstream_st* stream = nullptr);

/// Each row of x (m x n, of layer.from) by itself, w being 1 x n (of
/// layer.weight): y (of layer.out.from), its factor rstd (FP32 bits, m x 1),
/// and y quantized by layer.out in the same pass: with x and y of bf16, w of
/// bf16 or fp32, groups of 1x128. Again with the same x it is the same y: the
/// backward pass need not keep it. SPEC: S1, S4, S5.
void rms_norm(const rms_layer& layer, const const_matrix& x,
              const const_matrix& w, const matrix& y,
              matrix_view<std::uint32_t> rstd, const quantized& out = {},
              CUstream_st* stream = nullptr);

/// Updates m, v (of step.moment: bf16 or fp32) and the weights w (fp32) from
/// the gradient g (fp32 or bf16), all m x n; w in BF16 goes to `copy`. The mode
/// is nearest_even or stochastic. SPEC: S6, S8.
void adamw(const adamw_step& step, const const_matrix& g, const matrix& m,
           const matrix& v, const matrix& w, const matrix& copy = {},
           CUstream_st* stream = nullptr);

/// Row numbers are read on the device, where nobody can refuse them: one that
/// is neither -1 nor that of a row is never followed, but makes all of its row
/// of the result NaN.
using row_numbers = basic_matrix<const std::int32_t>;

/// Row t of `out` is the sum of the rows slots(t, 0), slots(t, 1), ... of x, in
/// BF16 all; a slot of -1 is none. Weights (FP32 bits) are as slots are, or
/// without data. SPEC: S9, S10.
void combine(combine_rule rule, const const_matrix& x, const row_numbers& slots,
             const basic_matrix<const std::uint32_t>& weights,
             const matrix& out, CUstream_st* stream = nullptr);

/// Row r of y is row rows(r, 0) of x, quantized by q as quantize does it; of -1
/// codes 0 with scale 1, of a number that no row has codes 0 with scale NaN.
/// q.group is 1x128. SPEC: S11.
void dispatch(const quantizer& q, const const_matrix& x,
              const row_numbers& rows, const quantized& y,
              CUstream_st* stream = nullptr);

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_TRAINING_HPP_
