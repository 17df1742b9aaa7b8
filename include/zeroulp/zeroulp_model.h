// Defines the operators of a training step in the C ABI, forward and backward:
// RMSNorm, rope, attention, the router of a mixture of experts, cross entropy,
// sums of gradients; and the table of a step's tensors. zeroulp.h states what
// holds for the whole ABI. SPEC: E6 to E8, N1 on.
//
// Activations and their gradients are BF16 (2-byte elements); weights, scores
// and sums are FP32 (4-byte elements); indices are signed 4-byte elements.
// Elements of a row are adjacent (col_stride 1), rows may have gaps. An output
// that "may be NULL" is left out if it is. m is the number of tokens, one a
// row.

#ifndef ZEROULP_ZEROULP_MODEL_H_
#define ZEROULP_ZEROULP_MODEL_H_

#include "zeroulp/zeroulp.h"

#ifdef __cplusplus
extern "C" {
#endif

/// out = log(x), both FP32 and of one shape. SPEC E6.
ZEROULP_API zeroulp_status zeroulp_log(const zeroulp_const_matrix* x,
                                       const zeroulp_matrix* out);

/// The gradients of zeroulp_rms_norm from dy and x (m x n, BF16), w (1 x n,
/// FP32) and the rows' factors rstd (m x 1, FP32). dx (m x n, BF16) and dw (1 x
/// n, FP32) may be NULL. A `residual` (m x n, BF16) that is not NULL is the
/// gradient that arrives beside the norm: dx has it added. SPEC N3.
ZEROULP_API zeroulp_status zeroulp_rms_norm_backward(
    const zeroulp_const_matrix* dy, const zeroulp_const_matrix* x,
    const zeroulp_const_matrix* w, const zeroulp_const_matrix* rstd,
    const zeroulp_const_matrix* residual, const zeroulp_matrix* dx,
    const zeroulp_matrix* dw);

enum zeroulp_rope_pairs {
  ZEROULP_ROPE_ADJACENT = 0,  ///< elements 2i and 2i + 1
  ZEROULP_ROPE_HALVES = 1     ///< elements i and i + n / 2
};

/// Turns the pairs (zeroulp_rope_pairs) of each head, n elements, of x by the
/// angles of the row's position; iff `backward`, the other way. x and y are m x
/// heads n, BF16; y may be x. Cosines and sines are positions x n / 2, FP32;
/// row i of x has position i modulo positions. SPEC N4.
ZEROULP_API zeroulp_status zeroulp_rope(int32_t pairs, int32_t backward,
                                        int64_t heads,
                                        const zeroulp_const_matrix* x,
                                        const zeroulp_const_matrix* cosines,
                                        const zeroulp_const_matrix* sines,
                                        const zeroulp_matrix* y);
/// The FP64 number nearest to 10000^(-2i / n), n a power of two from 2 to 128,
/// 0 <= i < n / 2. SPEC E7.
ZEROULP_API zeroulp_status zeroulp_rope_frequency(int64_t n, int64_t i,
                                                  double* frequency);
/// Row p of cosines and sines (positions x count, FP32) has those of (first +
/// p) times each frequency (1 x count, FP64, from 0 to 1), for positions from 0
/// to 2^20. SPEC E7.
ZEROULP_API zeroulp_status
zeroulp_rope_table(const zeroulp_const_matrix* frequencies, int64_t first,
                   const zeroulp_matrix* cosines, const zeroulp_matrix* sines);

/// Causal attention over sequences of `length` tokens, heads beside each other.
typedef struct zeroulp_attention {
  int64_t length;  ///< m is a multiple
  int32_t heads;
  uint32_t scale;  ///< of the scores, FP32 bits of a number above 0
} zeroulp_attention;

/// The scale 1 / sqrt(n), FP32 bits. n is 1 or more. SPEC E8.
ZEROULP_API zeroulp_status zeroulp_attention_scale(int64_t n, uint32_t* scale);
/// q and k are m x heads depth, v and o m x heads value_depth, BF16. Each
/// token's and head's largest score and inverse sum (m x heads, FP32) are what
/// the backward pass needs. SPEC N5, N6.
ZEROULP_API zeroulp_status zeroulp_attention_forward(
    const zeroulp_attention* shape, const zeroulp_const_matrix* q,
    const zeroulp_const_matrix* k, const zeroulp_const_matrix* v,
    const zeroulp_matrix* o, const zeroulp_matrix* largest,
    const zeroulp_matrix* inverse);
/// The gradients dq, dk, dv, BF16 of the shapes of q, k, v, from d_o (BF16) and
/// the output as it was kept, decoded: o is m x heads value_depth, FP32. SPEC
/// N7.
ZEROULP_API zeroulp_status zeroulp_attention_backward(
    const zeroulp_attention* shape, const zeroulp_const_matrix* q,
    const zeroulp_const_matrix* k, const zeroulp_const_matrix* v,
    const zeroulp_const_matrix* o, const zeroulp_const_matrix* largest,
    const zeroulp_const_matrix* inverse, const zeroulp_const_matrix* d_o,
    const zeroulp_matrix* dq, const zeroulp_matrix* dk,
    const zeroulp_matrix* dv);

enum zeroulp_mla_order {
  ZEROULP_MLA_UNABSORBED = 0,  ///< keys and values of each head, as in training
  ZEROULP_MLA_ABSORBED = 1     ///< the latent row instead, as in decoding
};

/// Attention of MLA in a zeroulp_mla_order. q is m x heads (depth + rope), with
/// rope's elements turned, `latent` m x rank, `rope_key` m x rope, `up` heads
/// (depth + value_depth) x rank: of each head the weights of its keys, then of
/// its values. o is m x heads value_depth. All are BF16; largest and inverse as
/// of zeroulp_attention_forward. SPEC N27.
ZEROULP_API zeroulp_status zeroulp_mla_forward(
    int32_t order, const zeroulp_attention* shape,
    const zeroulp_const_matrix* q, const zeroulp_const_matrix* latent,
    const zeroulp_const_matrix* rope_key, const zeroulp_const_matrix* up,
    const zeroulp_matrix* o, const zeroulp_matrix* largest,
    const zeroulp_matrix* inverse);

enum zeroulp_router_score {
  ZEROULP_ROUTER_SIGMOID = 0,
  ZEROULP_ROUTER_SOFTMAX = 1
};

enum zeroulp_group_score {
  ZEROULP_GROUP_TOP2_SUM = 0,  ///< the sum of the two best
  ZEROULP_GROUP_MAX = 1
};

/// The router of a mixture of e experts.
typedef struct zeroulp_router {
  int32_t score;       ///< zeroulp_router_score
  int32_t top;         ///< slots of a token
  int32_t groups;      ///< of consecutive experts, as many in each
  int32_t kept;        ///< groups that a token may choose from
  int32_t of_group;    ///< zeroulp_group_score
  int32_t normalized;  ///< iff 1, weights are shares of the slots' scores
  uint32_t scale;      ///< of the weights, FP32 bits
} zeroulp_router;

/// From logits (m x e, FP32): the scores (m x e, FP32), the experts of the
/// slots (m x top, indices) and their weights (m x top, FP32). A `bias` (1 x e,
/// FP32) that is not NULL counts for the choice alone. SPEC N8 to N10.
ZEROULP_API zeroulp_status zeroulp_route(const zeroulp_router* router,
                                         const zeroulp_const_matrix* logits,
                                         const zeroulp_const_matrix* bias,
                                         const zeroulp_matrix* scores,
                                         const zeroulp_matrix* experts,
                                         const zeroulp_matrix* weights);
/// The gradient dlogits (m x e, FP32) from dweights (m x top, FP32) and from
/// the scores and experts of zeroulp_route. SPEC N11.
ZEROULP_API zeroulp_status zeroulp_route_backward(
    const zeroulp_router* router, const zeroulp_const_matrix* scores,
    const zeroulp_const_matrix* experts, const zeroulp_const_matrix* dweights,
    const zeroulp_matrix* dlogits);
/// Moves the biases (1 x e, FP32) by `speed` (FP32 bits) toward equal counts of
/// the experts that were chosen (indices, any number). SPEC N12.
ZEROULP_API zeroulp_status
zeroulp_update_bias(const zeroulp_const_matrix* experts, uint32_t speed,
                    const zeroulp_matrix* bias);

/// The losses (m / length x 1, FP32) of sequences of `length` tokens whose
/// experts are not in balance, from the scores (m x e, FP32) of zeroulp_route,
/// by zeroulp_router_score, and the experts chosen (m x top, indices); alpha is
/// FP32 bits. dlogits (m x e, FP32), the gradients of the losses, may be NULL.
/// SPEC N25.
ZEROULP_API zeroulp_status zeroulp_balance_loss(
    int32_t score, int64_t length, uint32_t alpha,
    const zeroulp_const_matrix* scores, const zeroulp_const_matrix* experts,
    const zeroulp_matrix* losses, const zeroulp_matrix* dlogits);

/// The rows that any choice of so many slots fits into.
ZEROULP_API zeroulp_status zeroulp_plan_capacity(int64_t slots, int64_t experts,
                                                 int64_t align, int64_t* rows);
/// Gives each slot (m x top, its expert) a row of its expert, whose rows are
/// padded to a multiple of `align`. All are indices: `rows` (capacity x 1 or
/// more) is the token of a row, or -1; `slots` (m x top) the row of a slot;
/// rows ends[i] to ends[i + 1] are those of expert i, `ends` is (e + 1) x 1.
/// SPEC N13.
ZEROULP_API zeroulp_status
zeroulp_make_plan(const zeroulp_const_matrix* experts, int64_t align,
                  const zeroulp_matrix* rows, const zeroulp_matrix* slots,
                  const zeroulp_matrix* ends);
/// The gradients of a weighted sum of slots, from dy (m x n, BF16) and the row
/// of each slot (m x top, indices, -1: none). d_rows (rows x n, BF16) takes the
/// weights (m x top, FP32), dweights (m x top, FP32) the experts' rows y (rows
/// x n, BF16); each may be NULL, and what it takes, then, too. SPEC N14.
ZEROULP_API zeroulp_status zeroulp_slot_backward(
    const zeroulp_const_matrix* dy, const zeroulp_const_matrix* slots,
    const zeroulp_const_matrix* weights, const zeroulp_const_matrix* y,
    const zeroulp_matrix* d_rows, const zeroulp_matrix* dweights);

/// The losses (m x 1, FP32) of logits (m x n, FP32) whose targets (m x 1,
/// indices) are 0 to n - 1, or -1: none. dlogits (m x n, BF16), their gradient
/// times `factor` (FP32 bits), may be NULL. SPEC N15.
ZEROULP_API zeroulp_status zeroulp_cross_entropy(
    const zeroulp_const_matrix* logits, const zeroulp_const_matrix* targets,
    uint32_t factor, const zeroulp_matrix* losses,
    const zeroulp_matrix* dlogits);
/// The sum of losses (m x 1, FP32). SPEC N15.
ZEROULP_API zeroulp_status
zeroulp_sum_of_losses(const zeroulp_const_matrix* losses, double* sum);

/// The sum of `count` matrices, FP32 and of one shape; `count` is a power of
/// two, `out` may be one of them. SPEC N16.
ZEROULP_API zeroulp_status
zeroulp_add_shards(const zeroulp_const_matrix* shards, int64_t count,
                   const zeroulp_matrix* out);
/// Moves an average of weights (FP32) toward the weights (FP32, of one shape)
/// by `rate` (FP32 bits), which is 1 minus its decay. SPEC N26.
ZEROULP_API zeroulp_status
zeroulp_update_average(const zeroulp_const_matrix* weights, uint32_t rate,
                       const zeroulp_matrix* average);
/// The sum of squares of a parameter's gradients (FP32). The norm of all is the
/// square root of the sum of those sums. SPEC N17.
ZEROULP_API zeroulp_status zeroulp_sum_of_squares(const zeroulp_const_matrix* g,
                                                  double* sum);
/// What gradients of this norm are multiplied by, FP32 bits: clip / norm if the
/// norm is above `clip`, else 1. Neither is negative. SPEC N17.
ZEROULP_API zeroulp_status zeroulp_clip_factor(double norm, double clip,
                                               uint32_t* factor);

/// The rate of learning: it grows to `rate` in `warmup` steps, stays until step
/// `hold`, and falls to `last` times that at step `steps`.
typedef struct zeroulp_rate_schedule {
  double rate;  ///< not negative, within FP32
  int64_t warmup;
  int64_t hold;
  int64_t steps;
  double last;  ///< from 0 to 1
} zeroulp_rate_schedule;

/// The rate of a step from 1 to `steps`. SPEC N18.
ZEROULP_API zeroulp_status zeroulp_rate_of(
    const zeroulp_rate_schedule* schedule, int64_t step, double* rate);

/// What a rank of DualPipe does, in order: `steps` (3 micro_batches x 3,
/// indices) has a pass (0: forward, 1: backward of inputs, 2: gradients of
/// weights), a direction (0 or 1) and a micro-batch a row. `stages` is even,
/// `micro_batches` is even and 2 stages or more. SPEC N28.
ZEROULP_API zeroulp_status zeroulp_dual_pipe_steps(int64_t stages,
                                                   int64_t micro_batches,
                                                   int64_t rank,
                                                   const zeroulp_matrix* steps);
/// The micro-batches of a stage in the order in which their gradients of
/// weights are made: 2 x micro_batches / 2, indices, a row a direction. SPEC
/// N28.
ZEROULP_API zeroulp_status zeroulp_dual_pipe_order(int64_t stages,
                                                   int64_t micro_batches,
                                                   int64_t stage,
                                                   const zeroulp_matrix* order);
/// Adds `count` gradients, FP32 and of one shape: each row of `order` (indices
/// of gradients, none twice) is a chain, and the chains are added in order.
/// SPEC N28.
ZEROULP_API zeroulp_status zeroulp_accumulate_micro_batches(
    const zeroulp_const_matrix* gradients, int64_t count,
    const zeroulp_const_matrix* order, const zeroulp_matrix* out);

/// The replica of each slot (m x top, indices) from its expert (m x top,
/// indices); replicas ends[i] to ends[i + 1] are those of expert i, `ends` is
/// (e + 1) x 1, from 0. SPEC N29.
ZEROULP_API zeroulp_status zeroulp_choose_replicas(
    const zeroulp_const_matrix* experts, const zeroulp_const_matrix* ends,
    const zeroulp_matrix* replicas);
/// For each row of a plan by expert, the row of a plan by replica (`from`, rows
/// x 1, indices, -1: none), from the rows that both plans give the slots (m x
/// top, indices, -1: none). SPEC N29.
ZEROULP_API zeroulp_status zeroulp_merge_replicas(
    const zeroulp_const_matrix* by_replica,
    const zeroulp_const_matrix* by_expert, const zeroulp_matrix* from);

/// Logits of the lightning indexer (m x n, FP32), from codes of E4M3: q is m x
/// heads depth, k is n x depth; their scales are m x heads and n x 1, the
/// heads' weights m x heads, FP32. Query i sees the first (first + i + 1) keys;
/// others have -Inf. SPEC N30.
ZEROULP_API zeroulp_status zeroulp_indexer_logits(
    const zeroulp_const_matrix* q, const zeroulp_const_matrix* k,
    const zeroulp_const_matrix* q_scales, const zeroulp_const_matrix* k_scales,
    const zeroulp_const_matrix* weights, int64_t first,
    const zeroulp_matrix* logits);
/// The keys with the largest logits (m x n, FP32) of those that a query sees:
/// `keys` (m x top, indices) ascend, then -1; equal logits: the lower index.
/// `ties` (m x 1, indices): how many left out equal the last one taken. SPEC
/// N30.
ZEROULP_API zeroulp_status
zeroulp_indexer_keys(const zeroulp_const_matrix* logits, int64_t first,
                     const zeroulp_matrix* keys, const zeroulp_matrix* ties);

/// The tokens that a module of multi-token prediction at a depth from 1 reads
/// and predicts, from the model's targets; all are m x 1, indices, -1: none, m
/// being a multiple of `length`. SPEC N31.
ZEROULP_API zeroulp_status zeroulp_mtp_tokens(
    const zeroulp_const_matrix* targets, int64_t length, int64_t depth,
    const zeroulp_matrix* inputs, const zeroulp_matrix* predictions);
/// What the module's projection reads, joined (m x 2 d, BF16): the model's rows
/// h and the embeddings `next` (m x d, BF16), each normalized, with weights of
/// 1 x d and factors of m x 1, FP32; eps is FP32 bits. SPEC N31.
ZEROULP_API zeroulp_status zeroulp_mtp_input(
    const zeroulp_const_matrix* h, const zeroulp_const_matrix* next,
    const zeroulp_const_matrix* w_h, const zeroulp_const_matrix* w_next,
    uint32_t eps, const zeroulp_matrix* joined, const zeroulp_matrix* rstd_h,
    const zeroulp_matrix* rstd_next);
/// Its gradients, from d_joined (m x 2 d, BF16) and, unless NULL, `residual` (m
/// x d, BF16): the gradient that h has by the model itself. SPEC N31.
ZEROULP_API zeroulp_status zeroulp_mtp_input_backward(
    const zeroulp_const_matrix* d_joined, const zeroulp_const_matrix* h,
    const zeroulp_const_matrix* next, const zeroulp_const_matrix* w_h,
    const zeroulp_const_matrix* w_next, const zeroulp_const_matrix* rstd_h,
    const zeroulp_const_matrix* rstd_next, const zeroulp_const_matrix* residual,
    const zeroulp_matrix* dh, const zeroulp_matrix* d_next,
    const zeroulp_matrix* dw_h, const zeroulp_matrix* dw_next);

/// How a training step stores one of its tensors, what it is made from, what
/// reads it: DeepSeek-V3 report, Figure 6 and section 3.3. Texts live as long
/// as the process.
typedef struct zeroulp_tensor {
  const char* tensor;     ///< such as "X^T of experts' up"
  zeroulp_format format;  ///< of its elements
  zeroulp_group group;    ///< that one scale covers, columns along K
  int32_t scaled;         ///< iff 0, a conversion, without scales
  int32_t scale;          ///< zeroulp_scale_kind
  const char* made_from;
  const char* used_by;  ///< products with their sums, or operators
} zeroulp_tensor;

/// The number of tensors of an arm: a name of ZEROULP_ARMS, such as "full"
/// (DeepSeek-V3's), "bf16", "tensor", "te_blockwise", "mx", or NAME+FIELD:VALUE
/// for one with another field, such as "full+linear.dy.format:e5m2". SPEC N23.
ZEROULP_API zeroulp_status zeroulp_tensor_count(const char* arm,
                                                int64_t* count);
/// Tensor number `index`, from 0. SPEC N20 to N23.
ZEROULP_API zeroulp_status zeroulp_tensor_at(const char* arm, int64_t index,
                                             zeroulp_tensor* tensor);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ZEROULP_ZEROULP_MODEL_H_
