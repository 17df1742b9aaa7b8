// Defines the training path on a GPU of compute capability 9.0. It is bit-equal
// to the core's functions of the same names (core/training_matrices.hpp) if
// slots and row numbers are -1 or rows:
//
//   cuda::swiglu_forward   swiglu_backward   rms_norm
//   cuda::adamw   combine   dispatch
//
// Matrices, streams and errors are as in cuda.hpp. An optional output without
// data is left out. AdamW updates m, v and w in place.
//
// Quantized outputs come from the same pass, but only for BF16 numbers and
// groups of 1x128. For others, ask for the values and quantize these.

#ifndef ZEROULP_CUDA_TRAINING_HPP_
#define ZEROULP_CUDA_TRAINING_HPP_

#include "zeroulp/core/training_matrices.hpp"
#include "zeroulp/cuda.hpp"

namespace zeroulp::cuda {

/// The codes and scales of a matrix, as an input.
struct const_quantized {
  const_matrix codes;
  const_scales scales;
};

/// Computes h (of layer.out.from) from g and u (m x n, of layer.cache.from). In
/// the same pass, h is quantized by layer.out, g and u by layer.cache. Numbers
/// are of bf16, fp16 or fp32. If anything is quantized, all are of bf16, in
/// groups of 1x128. SPEC: S1, S2.
void swiglu_forward(const swiglu_layer& layer, const const_matrix& g,
                    const const_matrix& u, const matrix& h,
                    const quantized& h_out = {}, const quantized& g_cache = {},
                    const quantized& u_cache = {},
                    CUstream_st* stream = nullptr);

/// Computes h, dg and du (of layer.out.from) from dh (of `from`) and from g and
/// u as layer.cache stored them: e4m3, e5m2 or e5m6 in groups of any shape. In
/// the same pass, dg and du are quantized by layer.out, if all numbers are of
/// bf16 and all groups are 1x128. h alone needs no dh: leave out its data, not
/// its shape. SPEC: S1, S3.
void swiglu_backward(const swiglu_layer& layer, format from,
                     const const_matrix& dh, const const_quantized& g_cache,
                     const const_quantized& u_cache, const matrix& h,
                     const matrix& dg, const matrix& du,
                     const quantized& dg_out = {}, const quantized& du_out = {},
                     CUstream_st* stream = nullptr);

/// For each row of x (m x n, of layer.from), with w 1 x n (of layer.weight),
/// computes:
///
///   y      of layer.out.from
///   rstd   the row's factor: FP32 bits, m x 1
///   out    y quantized by layer.out in the same pass, if x and y are of bf16,
///          w of bf16 or fp32, and groups are 1x128
///
/// The same x gives the same y again, so the backward pass need not keep it.
/// SPEC: S1, S4, S5.
void rms_norm(const rms_layer& layer, const const_matrix& x,
              const const_matrix& w, const matrix& y,
              matrix_view<std::uint32_t> rstd, const quantized& out = {},
              CUstream_st* stream = nullptr);

/// Updates m and v (of step.moment: bf16 or fp32) and the weights w (fp32) from
/// the gradient g (fp32 or bf16), all m x n. `copy` receives w in BF16. The
/// mode is nearest_even or stochastic. SPEC: S6, S8.
void adamw(const adamw_step& step, const const_matrix& g, const matrix& m,
           const matrix& v, const matrix& w, const matrix& copy = {},
           CUstream_st* stream = nullptr);

/// Row numbers are read on the device, where they cannot be refused. One that
/// is neither -1 nor a row is never followed; it makes its whole row of the
/// result NaN.
using row_numbers = basic_matrix<const std::int32_t>;

/// Row t of `out` is the sum of rows slots(t, 0), slots(t, 1), ... of x, all in
/// BF16; a slot of -1 is skipped. Weights (FP32 bits) have the shape of slots,
/// or no data. SPEC: S9, S10.
void combine(combine_rule rule, const const_matrix& x, const row_numbers& slots,
             const basic_matrix<const std::uint32_t>& weights,
             const matrix& out, CUstream_st* stream = nullptr);

/// Row r of y is row rows(r, 0) of x, quantized by q as quantize does it. Row
/// number -1 gives codes 0 with scale 1; an invalid one gives codes 0 with
/// scale NaN. q.group is 1x128. SPEC: S11.
void dispatch(const quantizer& q, const const_matrix& x,
              const row_numbers& rows, const quantized& y,
              CUstream_st* stream = nullptr);

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_TRAINING_HPP_
