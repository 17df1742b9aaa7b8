// Defines the operators of a training step that run on a GPU of compute
// capability 9.0 (Hopper): bit-equal to the functions of zeroulp_model.h of the
// same names, with the same arguments, then room to work where it is needed,
// then the stream. zeroulp_cuda.h states what holds for all functions on the
// GPU. SPEC: E6 to E8, N1 to N21, T14.
//
// Activations and their gradients are BF16 (2-byte elements); weights, scores
// and sums are FP32 (4-byte elements); indices are signed 4-byte elements. Rows
// may have gaps, unless a matrix is "without gaps". What "may be NULL" is left
// out if it is. m is the number of tokens, one a row.
//
// Work      `work` is `work_bytes` of device memory, aligned to 256 bytes as
//           cudaMalloc's is; each function says how many it needs. Nothing is
//           kept there: the stream's next call may have it.
// Indices   are read on the device, where they cannot be refused. None makes a
//           kernel access memory outside the matrices.

#ifndef ZEROULP_ZEROULP_CUDA_MODEL_H_
#define ZEROULP_ZEROULP_CUDA_MODEL_H_

#include "zeroulp/zeroulp_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

// Products.

/// Which elements of K a row of D sums, and which columns of it are made, where
/// A or D is a causal matrix of attention.
enum zeroulp_cuda_gemm_span {
  ZEROULP_CUDA_SPAN_ALL = 0,
  ZEROULP_CUDA_SPAN_TO_DIAGONAL = 1,    ///< row i: k < 64 floor(i / 64) + 64
  ZEROULP_CUDA_SPAN_FROM_DIAGONAL = 2,  ///< row i: k >= 64 floor(i / 64)
  ZEROULP_CUDA_SPAN_LOWER = 3           ///< all of K; columns up to the row's
};

/// Elements from one matrix of a batch to the next, of an outer and an inner
/// index. Neither is negative.
typedef struct zeroulp_cuda_batch_strides {
  int64_t outer;
  int64_t inner;
} zeroulp_cuda_batch_strides;

/// D = A B^T of BF16 operands, each sum over K in order.
typedef struct zeroulp_cuda_bf16_gemm {
  /// m x k and n x k, BF16, on the device: one stride is 1, the other a
  /// multiple of 8, data aligned to 16 bytes; so are the batch's strides.
  zeroulp_const_matrix a;
  zeroulp_const_matrix b;
  zeroulp_cuda_matrix d;  ///< m x n
  zeroulp_format output;  ///< of D: fp32, or bf16 (nearest-even)
  int64_t splits;         ///< of K, summed in order (G7); 1 unless span is all
  int32_t span;           ///< zeroulp_cuda_gemm_span
  uint32_t factor;        ///< of each sum, FP32 bits
  /// m, FP32, or NULL: the product of A and ones, where the span is
  /// to_diagonal.
  uint32_t* row_sums;
  int64_t outer;  ///< matrices of the batch, 0 to 65535
  int64_t inner;
  zeroulp_cuda_batch_strides a_batch;
  zeroulp_cuda_batch_strides b_batch;
  zeroulp_cuda_batch_strides d_batch;
  zeroulp_cuda_batch_strides row_sums_batch;
} zeroulp_cuda_bf16_gemm;

/// SPEC clause G, row BF16 -> f32 of T12, without interval.
ZEROULP_API zeroulp_status
zeroulp_cuda_gemm_bf16(const zeroulp_cuda_bf16_gemm* gemm, void* stream);
/// D (m x n, FP32) = A B^T, one fma after the other, in ranges of `interval`
/// elements of K that are added in order; 0: one range. A (m x k) and B (n x k)
/// are on the device, BF16 (2-byte elements) or FP32 (4-byte), of any strides
/// from 0. Work: 4 ceil(k / interval) m n bytes, if there is an interval. SPEC
/// T14.
ZEROULP_API zeroulp_status zeroulp_cuda_sequential_gemm(
    int64_t interval, const zeroulp_const_matrix* a,
    const zeroulp_const_matrix* b, const zeroulp_cuda_matrix* d, void* work,
    int64_t work_bytes, void* stream);

// Attention.

/// The bytes in which attention of so many sequences at once works. The calls
/// below take as many at once as their work holds, and need room for one.
ZEROULP_API zeroulp_status
zeroulp_cuda_attention_work(const zeroulp_attention* shape, int64_t value_depth,
                            int64_t sequences, int64_t* bytes);
/// The same for heads whose q and k are of this depth. Fused kernels, of heads
/// of 192 by 128, 128 by 128 and 64 by 64, have no scores in memory: 64 GB less
/// of 16 heads of 8192 tokens.
ZEROULP_API zeroulp_status zeroulp_cuda_attention_work_of_depth(
    const zeroulp_attention* shape, int64_t depth, int64_t value_depth,
    int64_t sequences, int64_t* bytes);
/// As zeroulp_attention_forward. Widths of a head are multiples of 8; rows of
/// q, k and v start on multiples of 16 bytes. SPEC N5, N6.
ZEROULP_API zeroulp_status zeroulp_cuda_attention_forward(
    const zeroulp_attention* shape, const zeroulp_cuda_const_matrix* q,
    const zeroulp_cuda_const_matrix* k, const zeroulp_cuda_const_matrix* v,
    const zeroulp_cuda_matrix* o, const zeroulp_cuda_matrix* largest,
    const zeroulp_cuda_matrix* inverse, void* work, int64_t work_bytes,
    void* stream);
/// As zeroulp_attention_backward; so start rows of d_o. `largest` and `inverse`
/// are what the forward pass made of the same q and k. SPEC N7.
ZEROULP_API zeroulp_status zeroulp_cuda_attention_backward(
    const zeroulp_attention* shape, const zeroulp_cuda_const_matrix* q,
    const zeroulp_cuda_const_matrix* k, const zeroulp_cuda_const_matrix* v,
    const zeroulp_cuda_const_matrix* o,
    const zeroulp_cuda_const_matrix* largest,
    const zeroulp_cuda_const_matrix* inverse,
    const zeroulp_cuda_const_matrix* d_o, const zeroulp_cuda_matrix* dq,
    const zeroulp_cuda_matrix* dk, const zeroulp_cuda_matrix* dv, void* work,
    int64_t work_bytes, void* stream);
/// As zeroulp_rope. SPEC N4.
ZEROULP_API zeroulp_status
zeroulp_cuda_rope(int32_t pairs, int32_t backward, int64_t heads,
                  const zeroulp_cuda_const_matrix* x,
                  const zeroulp_cuda_const_matrix* cosines,
                  const zeroulp_cuda_const_matrix* sines,
                  const zeroulp_cuda_matrix* y, void* stream);

/// What multi-head latent attention makes q, k and v from. Widths are even and
/// up to 2^24. SPEC N20 (c).
typedef struct zeroulp_cuda_mla {
  int64_t heads;
  int64_t plain;   ///< of a head's q and k: without position
  int64_t turned;  ///< with rope, adjacent pairs; depth is plain + turned
  int64_t value;
  int64_t rank;  ///< of the latent, between q and the shared key
} zeroulp_cuda_mla;

/// q and k (m x heads depth) and v (m x heads value) from `first` (m x heads
/// depth + rank + turned, or wider) and `second` (m x heads (plain + value)).
/// Cosines and sines are positions x turned / 2, FP32; row i has position i
/// modulo positions. SPEC N20 (c).
ZEROULP_API zeroulp_status zeroulp_cuda_mla_assemble(
    const zeroulp_cuda_mla* shape, const zeroulp_cuda_const_matrix* cosines,
    const zeroulp_cuda_const_matrix* sines,
    const zeroulp_cuda_const_matrix* first,
    const zeroulp_cuda_const_matrix* second, const zeroulp_cuda_matrix* q,
    const zeroulp_cuda_matrix* k, const zeroulp_cuda_matrix* v, void* stream);
/// The gradients of first, but for the latent's columns, which stay as they
/// are, and of second, from those of q, k and v. SPEC N21 (d).
ZEROULP_API zeroulp_status zeroulp_cuda_mla_assemble_backward(
    const zeroulp_cuda_mla* shape, const zeroulp_cuda_const_matrix* cosines,
    const zeroulp_cuda_const_matrix* sines, const zeroulp_cuda_const_matrix* dq,
    const zeroulp_cuda_const_matrix* dk, const zeroulp_cuda_const_matrix* dv,
    const zeroulp_cuda_matrix* dfirst, const zeroulp_cuda_matrix* dsecond,
    void* stream);

/// As zeroulp_rms_norm_backward. Work: 4 ceil(m / 256) n bytes, unless dw is
/// NULL. SPEC N3.
ZEROULP_API zeroulp_status zeroulp_cuda_rms_norm_backward(
    const zeroulp_cuda_const_matrix* dy, const zeroulp_cuda_const_matrix* x,
    const zeroulp_cuda_const_matrix* w, const zeroulp_cuda_const_matrix* rstd,
    const zeroulp_cuda_const_matrix* residual, const zeroulp_cuda_matrix* dx,
    const zeroulp_cuda_matrix* dw, void* work, int64_t work_bytes,
    void* stream);
/// SwiGLU's backward pass from g and u as they are (m x n, BF16): h, and dg and
/// du from dh. Each output may be NULL, and dh if dg and du are. SPEC S3.
ZEROULP_API zeroulp_status zeroulp_cuda_swiglu_backward_bf16(
    const zeroulp_cuda_const_matrix* g, const zeroulp_cuda_const_matrix* u,
    const zeroulp_cuda_const_matrix* dh, const zeroulp_cuda_matrix* h,
    const zeroulp_cuda_matrix* dg, const zeroulp_cuda_matrix* du, void* stream);

// Experts.

/// As zeroulp_route. Work: 4 m (e + router.groups) bytes. SPEC N8 to N10.
ZEROULP_API zeroulp_status zeroulp_cuda_route(
    const zeroulp_router* router, const zeroulp_cuda_const_matrix* logits,
    const zeroulp_cuda_const_matrix* bias, const zeroulp_cuda_matrix* scores,
    const zeroulp_cuda_matrix* experts, const zeroulp_cuda_matrix* weights,
    void* work, int64_t work_bytes, void* stream);
/// As zeroulp_route_backward. An expert that is none makes its token's dlogits
/// NaN. SPEC N11.
ZEROULP_API zeroulp_status zeroulp_cuda_route_backward(
    const zeroulp_router* router, const zeroulp_cuda_const_matrix* scores,
    const zeroulp_cuda_const_matrix* experts,
    const zeroulp_cuda_const_matrix* dweights,
    const zeroulp_cuda_matrix* dlogits, void* stream);
/// As zeroulp_update_bias, for 1 to 4096 experts; others in `experts` are not
/// counted. SPEC N12.
ZEROULP_API zeroulp_status zeroulp_cuda_update_bias(
    const zeroulp_cuda_const_matrix* experts, uint32_t speed,
    const zeroulp_cuda_matrix* bias, void* stream);
/// As zeroulp_make_plan, for 1 to 1024 experts. One that is none has slot -1.
/// Work: 4 ceil(m top / 256) e bytes. SPEC N13.
ZEROULP_API zeroulp_status zeroulp_cuda_make_plan(
    const zeroulp_cuda_const_matrix* experts, int64_t align,
    const zeroulp_cuda_matrix* rows, const zeroulp_cuda_matrix* slots,
    const zeroulp_cuda_matrix* ends, void* work, int64_t work_bytes,
    void* stream);
/// Row r of y (BF16) is row rows(r, 0) of x (BF16, as wide); of -1, and of a
/// row that x has not: +0. `rows` is as high as y, indices. SPEC N14.
ZEROULP_API zeroulp_status zeroulp_cuda_gather(
    const zeroulp_cuda_const_matrix* x, const zeroulp_cuda_const_matrix* rows,
    const zeroulp_cuda_matrix* y, void* stream);
/// As zeroulp_slot_backward. A slot of no row gives dweights of +0. SPEC N14.
ZEROULP_API zeroulp_status zeroulp_cuda_slot_backward(
    const zeroulp_cuda_const_matrix* dy, const zeroulp_cuda_const_matrix* slots,
    const zeroulp_cuda_const_matrix* weights,
    const zeroulp_cuda_const_matrix* y, const zeroulp_cuda_matrix* d_rows,
    const zeroulp_cuda_matrix* dweights, void* stream);
/// Adds an expert that every token visits, for zeroulp_cuda_combine: row t of
/// `all` (m x top + 1, indices) is that of slots (m x top), then first + t; row
/// t of `by` (m x top + 1, FP32) that of weights (m x top), then 1. `by` may be
/// NULL, and weights, then, too.
ZEROULP_API zeroulp_status
zeroulp_cuda_append_slot(const zeroulp_cuda_const_matrix* slots,
                         const zeroulp_cuda_const_matrix* weights,
                         int64_t first, const zeroulp_cuda_matrix* all,
                         const zeroulp_cuda_matrix* by, void* stream);

// Embedding, losses, gradients.

/// Row t of x (m x n, BF16) is row ids(t, 0) of w (vocabulary x n, FP32),
/// rounded to nearest-even; NaN if w has no such row. SPEC N19.
ZEROULP_API zeroulp_status zeroulp_cuda_embed(
    const zeroulp_cuda_const_matrix* w, const zeroulp_cuda_const_matrix* ids,
    const zeroulp_cuda_matrix* x, void* stream);
/// y(v, t) (vocabulary x m, BF16) is 1 if ids(t, 0) is v, else +0: the product
/// with it is the gradient of an embedding. SPEC N19.
ZEROULP_API zeroulp_status
zeroulp_cuda_one_hot(const zeroulp_cuda_const_matrix* ids,
                     const zeroulp_cuda_matrix* y, void* stream);
/// As zeroulp_log; out may be x. SPEC E6.
ZEROULP_API zeroulp_status zeroulp_cuda_log(const zeroulp_cuda_const_matrix* x,
                                            const zeroulp_cuda_matrix* out,
                                            void* stream);
/// As zeroulp_cross_entropy. A target that is none is as -1. Work: 4 m n bytes.
/// SPEC N15.
ZEROULP_API zeroulp_status zeroulp_cuda_cross_entropy(
    const zeroulp_cuda_const_matrix* logits,
    const zeroulp_cuda_const_matrix* targets, uint32_t factor,
    const zeroulp_cuda_matrix* losses, const zeroulp_cuda_matrix* dlogits,
    void* work, int64_t work_bytes, void* stream);
/// The sum of losses (m x 1, FP32), to `sum` on the device. Work: 8 ceil(m /
/// 1024) bytes. SPEC N15.
ZEROULP_API zeroulp_status
zeroulp_cuda_sum_of_losses(const zeroulp_cuda_const_matrix* losses, double* sum,
                           void* work, int64_t work_bytes, void* stream);
/// The sum of squares of a parameter's gradients (FP32, without gaps), to `sum`
/// on the device. Work: 8 ceil(elements / 65536) bytes. SPEC N17.
ZEROULP_API zeroulp_status
zeroulp_cuda_sum_of_squares(const zeroulp_cuda_const_matrix* g, double* sum,
                            void* work, int64_t work_bytes, void* stream);
/// The sum of 1, 2, 4, .. up to 64 matrices, FP32, without gaps and of one
/// shape; `out` may be one of them. `shards` is on the host. SPEC N16.
ZEROULP_API zeroulp_status
zeroulp_cuda_add_shards(const zeroulp_cuda_const_matrix* shards, int64_t count,
                        const zeroulp_cuda_matrix* out, void* stream);
/// x = fl(x factor); x is FP32 without gaps, `factor` FP32 bits. SPEC N17.
ZEROULP_API zeroulp_status zeroulp_cuda_scale(const zeroulp_cuda_matrix* x,
                                              uint32_t factor, void* stream);

// Elementwise; matrices are without gaps and of one shape.

/// sum = bf(fl(a + b)); a and sum are BF16, b is of `from`, bf16 or fp32. SPEC
/// N20.
ZEROULP_API zeroulp_status zeroulp_cuda_add(const zeroulp_format* from,
                                            const zeroulp_cuda_const_matrix* a,
                                            const zeroulp_cuda_const_matrix* b,
                                            const zeroulp_cuda_matrix* sum,
                                            void* stream);
/// y (FP32) = x (BF16).
ZEROULP_API zeroulp_status
zeroulp_cuda_widen(const zeroulp_cuda_const_matrix* x,
                   const zeroulp_cuda_matrix* y, void* stream);
/// y (BF16) = x (FP32), rounded to nearest-even.
ZEROULP_API zeroulp_status
zeroulp_cuda_narrow(const zeroulp_cuda_const_matrix* x,
                    const zeroulp_cuda_matrix* y, void* stream);
/// Row i of `rows` (m x n, 4-byte elements) is row i / each of `blocks` (ceil(m
/// / each) x n): scales of blocks as scales of rows. Rows may have gaps.
ZEROULP_API zeroulp_status
zeroulp_cuda_expand_rows(const zeroulp_cuda_const_matrix* blocks, int64_t each,
                         const zeroulp_cuda_matrix* rows, void* stream);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ZEROULP_ZEROULP_CUDA_MODEL_H_
