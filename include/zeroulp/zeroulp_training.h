// Defines the training path of the C ABI: elementary functions, SwiGLU,
// RMSNorm, AdamW, combine, dispatch. zeroulp.h states what holds for the whole
// ABI. SPEC: E1 to E5, S1 to S11.

#ifndef ZEROULP_ZEROULP_TRAINING_H_
#define ZEROULP_ZEROULP_TRAINING_H_

#include "zeroulp/zeroulp.h"

#ifdef __cplusplus
extern "C" {
#endif

enum zeroulp_elementary {
  ZEROULP_EXP = 0,
  ZEROULP_SIGMOID = 1,
  ZEROULP_RSQRT = 2
};

/// out = f(x), both FP32 and of one shape.
ZEROULP_API zeroulp_status zeroulp_apply(int32_t function,
                                         const zeroulp_const_matrix* x,
                                         const zeroulp_matrix* out);

/// A matrix of codes and its scales, one for each group of the quantizer.
typedef struct zeroulp_quantized {
  zeroulp_matrix codes;
  zeroulp_matrix scales;
} zeroulp_quantized;

/// A quantized matrix that a call only reads.
typedef struct zeroulp_const_quantized {
  zeroulp_const_matrix codes;
  zeroulp_const_matrix scales;
} zeroulp_const_quantized;

/// The quantizers of SwiGLU's inputs and outputs.
typedef struct zeroulp_swiglu {
  zeroulp_quantizer cache;  ///< of g and u; `from` is their format
  zeroulp_quantizer out;  ///< of h, dg, du; `from` is what these are rounded to
} zeroulp_swiglu;

/// h = g sigmoid(g) u. Writes those outputs that are not NULL: the values h
/// (codes of out.from), h quantized, g and u quantized.
ZEROULP_API zeroulp_status zeroulp_swiglu_forward(
    const zeroulp_swiglu* layer, const zeroulp_const_matrix* g,
    const zeroulp_const_matrix* u, const zeroulp_matrix* h,
    const zeroulp_quantized* h_out, const zeroulp_quantized* g_cache,
    const zeroulp_quantized* u_cache);
/// Computes the gradients from dh (codes of `from`) and the cached g and u.
/// Writes those outputs that are not NULL: the values h, dg and du (codes of
/// out.from), dg and du quantized.
ZEROULP_API zeroulp_status zeroulp_swiglu_backward(
    const zeroulp_swiglu* layer, const zeroulp_format* from,
    const zeroulp_const_matrix* dh, const zeroulp_const_quantized* g_cache,
    const zeroulp_const_quantized* u_cache, const zeroulp_matrix* h,
    const zeroulp_matrix* dg, const zeroulp_matrix* du,
    const zeroulp_quantized* dg_out, const zeroulp_quantized* du_out);

/// RMSNorm and the quantizer of its result.
typedef struct zeroulp_rms_layer {
  zeroulp_format from;    ///< of x: fp32, bf16 or fp16
  zeroulp_format weight;  ///< of w: fp32, bf16 or fp16
  uint32_t eps;           ///< FP32 bits
  zeroulp_quantizer out;  ///< of y; `from` is what y is rounded to
} zeroulp_rms_layer;

/// y = x / sqrt(mean(x^2) + eps) w for each row of x, m x n; w is 1 x n. Writes
/// those outputs that are not NULL: the values y (codes of out.from), the rows'
/// factors (FP32, m x 1), y quantized.
ZEROULP_API zeroulp_status zeroulp_rms_norm(const zeroulp_rms_layer* layer,
                                            const zeroulp_const_matrix* x,
                                            const zeroulp_const_matrix* w,
                                            const zeroulp_matrix* y,
                                            const zeroulp_matrix* rstd,
                                            const zeroulp_quantized* out);

/// AdamW's settings: betas in [0, 1), the others not negative and within FP32;
/// `step` counts from 1.
typedef struct zeroulp_adamw_settings {
  double rate;
  double beta1;
  double beta2;
  double eps;
  double weight_decay;
  int64_t step;
} zeroulp_adamw_settings;

/// The factors that the settings give at their step, FP32 bits.
typedef struct zeroulp_adamw_factors {
  uint32_t one_minus_beta1;
  uint32_t one_minus_beta2;
  uint32_t inverse_sqrt_bias2;
  uint32_t eps;
  uint32_t decay;
  uint32_t step;
} zeroulp_adamw_factors;

ZEROULP_API zeroulp_status zeroulp_make_adamw_factors(
    const zeroulp_adamw_settings* settings, zeroulp_adamw_factors* factors);

typedef struct zeroulp_adamw_step {
  zeroulp_adamw_factors factors;
  zeroulp_format gradient;
  zeroulp_format moment;  ///< of m and v
  int32_t rounding;       ///< zeroulp_rounding, of m and v
} zeroulp_adamw_step;

/// Updates m, v and the weights w (FP32) from the gradient g, all of one shape.
/// A `copy` that is not NULL receives w in BF16. Stochastic rounding uses
/// `seed`: pass a different one for each step. `first` is the index of element
/// (0, 0); the others count from it, row by row.
ZEROULP_API zeroulp_status zeroulp_adamw(const zeroulp_adamw_step* step,
                                         uint64_t seed, uint64_t first,
                                         const zeroulp_const_matrix* g,
                                         const zeroulp_matrix* m,
                                         const zeroulp_matrix* v,
                                         const zeroulp_matrix* w,
                                         const zeroulp_matrix* copy);

enum zeroulp_combine_rule {
  ZEROULP_COMBINE_FP32_SLOTS = 0,
  ZEROULP_COMBINE_BF16_HOPS = 1,
  ZEROULP_COMBINE_BF16_PAIR = 2  ///< at most two slots, no weights
};

/// Row t of `out` is the sum of those rows of x, both BF16, that row t of
/// `slots` names (4-byte integers; -1: none). Each row is multiplied by its
/// weight unless `weights` (FP32, of the shape of `slots`) is NULL.
ZEROULP_API zeroulp_status zeroulp_combine(int32_t rule,
                                           const zeroulp_const_matrix* x,
                                           const zeroulp_const_matrix* slots,
                                           const zeroulp_const_matrix* weights,
                                           const zeroulp_matrix* out);
/// Row r of the result is row rows[r] of x, quantized; -1 gives codes 0 and
/// scales 1. `rows` is m x 1, 4-byte integers; groups are one row high.
ZEROULP_API zeroulp_status zeroulp_dispatch(const zeroulp_quantizer* quantizer,
                                            const zeroulp_const_matrix* x,
                                            const zeroulp_const_matrix* rows,
                                            const zeroulp_matrix* codes,
                                            const zeroulp_matrix* scales);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ZEROULP_ZEROULP_TRAINING_H_
