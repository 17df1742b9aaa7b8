// The plug-in: a C ABI that you implement, so that zeroulp calls your kernel
// and holds it against the oracle. C99 and C++; it needs no other file of
// zeroulp, and nothing to link.
//
//   #include <zeroulp/plugin.h>
//
//   void my_kernel(const uint16_t* x, uint8_t* codes, float* scales,
//                  int64_t rows, int64_t cols);
//
//   static int32_t quantize(const zeroulp_plugin_quantize* r) {
//     my_kernel(r->x.data, r->codes.data, r->scales.data, r->x.rows,
//               r->x.cols);
//     return ZEROULP_PLUGIN_DONE;
//   }
//   static const zeroulp_plugin_claim claims[] = {
//       {ZEROULP_PLUGIN_QUANTIZE, "vllm",
//        "from=bf16,to=e4m3,scale=fp32,group=1x128,place=dense", {0, 0, 0}}};
//   static const zeroulp_plugin mine = {
//       ZEROULP_PLUGIN_VERSION, sizeof mine, "mine", ZEROULP_PLUGIN_ON_HOST,
//       1, claims, quantize, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
//   const zeroulp_plugin* zeroulp_plugin_table(void) { return &mine; }
//
//   cc -shared -fPIC -I include -o mine.so mine.c my_kernel.c
//   zeroulp conform --plugin ./mine.so
//   zeroulp fuzz quantize --against ./mine.so
//
// Procedure   zeroulp loads your library into a process of its own. It ends
//             that process when a call takes too long (--limit, 10 s) or
//             loading does (--load-limit, 120 s). A library that hung is not
//             called again. Each request is made twice, with different bytes in
//             and around the outputs. zeroulp reports what you write outside
//             the outputs or into an input, what you leave unwritten, what
//             differs between the two calls, signals and exits. Host memory far
//             from every matrix is not accessible.
// Seal        The process has no network. It writes only to a folder of its own
//             ($HOME and $TMPDIR, removed afterwards). It signals and traces
//             only its own processes. It has limits: private memory (a quarter
//             of the machine's per process, at least 4 GiB), files (1 GiB
//             each), threads and processes (256, plus 16 per core). Its
//             environment has PATH, LD_*, LC_*, OMP_*, CUDA_*, PYTHON*,
//             ZEROULP_* and a few more. It may read what you may read. The seal
//             is on before your constructors run; --trust lifts it. Where the
//             kernel lacks Landlock or seccomp, reports say so.
// Leave       as you found it: MXCSR and the x87 control word (FPCR), the
//             handlers of SIGSEGV and SIGBUS. Leave no process that a call
//             started. Threads may stay and wait, as a pool's do, but must not
//             compute or touch a matrix once the call has returned. zeroulp
//             ends and reports all that is left, together with your library.
// Memory      zeroulp owns it; you may use it during the call. Device memory is
//             an allocation of the CUDA runtime on device 0, guarded in the
//             same way. Launch on the default stream; zeroulp waits for it.
// Formats     By name: fp32, bf16, fp16, e4m3, e5m2, e5m6, ...; `zeroulp
//             formats` lists them, and describes their bits.
// Codes       A number travels as its bits, in the narrowest unsigned integer
//             of 1, 2 or 4 bytes: E4M3 in 1, BF16 and E5M6 in 2, FP32 in 4.
//             Bits above the format's are 0. Expect NaN and Inf, too.
// Scales      FP32. A number is its code times the scale of its group.
// Sizes       No matrix of a request is empty; it may be a single element. The
//             last group or tile of a dimension may be shorter.
// Right bits  conformance/SPEC.md defines them: each request names the clauses.
// Versions    zeroulp takes this version and those before it. A table may end
//             early: the functions that it lacks are NULL. A later version adds
//             functions, and members at the end of a request, which begins with
//             its own size. Version 2 has the scales `ocp`, and tables that end
//             early; version 3 rms_norm_backward to attention_backward.

#ifndef ZEROULP_PLUGIN_H_
#define ZEROULP_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#define ZEROULP_PLUGIN_VERSION 3

#if defined(__GNUC__)
#define ZEROULP_PLUGIN_VISIBLE __attribute__((visibility("default")))
#else
#define ZEROULP_PLUGIN_VISIBLE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The result of a call. Any other value is a failure, such as a launch's or a
/// library's error code; zeroulp reports it with its number.
enum zeroulp_plugin_status {
  ZEROULP_PLUGIN_DONE = 0,
  /// The plug-in does not serve this request: counted, and no finding. But
  /// claim only what you serve. A claim is VACUOUS, and no pass, if you answer
  /// less than half of it, or nothing of a kind that was asked (a coverage bin,
  /// a size).
  ZEROULP_PLUGIN_REFUSED = 1
};

/// Where all matrices of a plug-in lie.
enum zeroulp_plugin_memory {
  ZEROULP_PLUGIN_ON_HOST = 0,
  ZEROULP_PLUGIN_ON_DEVICE = 1
};

/// rows x cols elements of element_bytes (1, 2 or 4) bytes. Element (i, j)
/// stands `i * row_stride + j * col_stride` elements after `data`. `data` is
/// aligned to 256 bytes; with place=dense and padded, rows are aligned only to
/// an element. Do not write between elements. A matrix that this request does
/// not have is NULL data, and 0 elsewhere.
typedef struct zeroulp_plugin_matrix {
  void* data;
  int64_t rows;
  int64_t cols;
  int64_t row_stride;  ///< in elements
  int64_t col_stride;  ///< in elements
  int64_t element_bytes;
} zeroulp_plugin_matrix;

/// Quantizes x, m x n, to codes, m x n, and scales, ceil(m / group_rows) x
/// ceil(n / group_cols). Each group of group_rows x group_cols elements has one
/// scale; 0: the whole dimension. Codes saturate. SPEC Q1 to Q13.
typedef struct zeroulp_plugin_quantize {
  int64_t size;      ///< of this struct, in bytes
  const char* from;  ///< of x: fp32, bf16 or fp16
  const char* to;    ///< of the codes: e4m3, e5m2, ...
  /// fp32; pow2 (rounded up), pow2_down, pow2_nearest, ocp
  const char* scale;
  const char* convention;  ///< the claimed one; NULL: none is claimed
  int64_t group_rows;
  int64_t group_cols;
  zeroulp_plugin_matrix x;
  zeroulp_plugin_matrix codes;   ///< to be written
  zeroulp_plugin_matrix scales;  ///< to be written
} zeroulp_plugin_quantize;

/// The inverse: x = code * scale, m x n, rounded once to FP32. Groups as in
/// zeroulp_plugin_quantize. SPEC Q10.
typedef struct zeroulp_plugin_dequantize {
  int64_t size;
  const char* from;  ///< of the codes
  int64_t group_rows;
  int64_t group_cols;
  zeroulp_plugin_matrix codes;
  zeroulp_plugin_matrix scales;
  zeroulp_plugin_matrix x;  ///< FP32, to be written
} zeroulp_plugin_dequantize;

/// Transposes a quantized matrix; tiles lie along the rows of the result. m x n
/// codes with m x ceil(n / tile) scales become n x m codes with
/// n x ceil(m / tile) scales. SPEC W1 to W5, W7.
typedef struct zeroulp_plugin_retile {
  int64_t size;
  const char* from;   ///< of the codes
  const char* to;     ///< of out_codes
  const char* scale;  ///< of out_scales, as zeroulp_plugin_quantize has it
  const char* rule;   ///< of out_scales: amax, max_scale
  int64_t tile;       ///< elements; 0: the whole dimension
  zeroulp_plugin_matrix codes;
  zeroulp_plugin_matrix scales;
  zeroulp_plugin_matrix out_codes;   ///< to be written
  zeroulp_plugin_matrix out_scales;  ///< to be written
} zeroulp_plugin_retile;

/// D = A B^T. A is m x k, B n x k, D m x n; C, m x n, FP32, is present only if
/// `accumulate`. One scale covers a_group_mn rows of A and a_group_k columns;
/// 0: all. A has ceil(m / a_group_mn) x ceil(k / a_group_k) scales; B likewise,
/// over its n rows. SPEC G1 to G12.
typedef struct zeroulp_plugin_gemm {
  int64_t size;
  const char* a_format;
  const char* b_format;
  const char* output;  ///< of D: fp32 or bf16
  const char* recipe;  ///< the claimed one; NULL: none is claimed
  int64_t a_group_mn;
  int64_t a_group_k;
  int64_t b_group_mn;
  int64_t b_group_k;
  int64_t interval;    ///< elements of K between promotions; 0: none
  int64_t accumulate;  ///< 1: C is added
  zeroulp_plugin_matrix a;
  zeroulp_plugin_matrix b;
  zeroulp_plugin_matrix a_scales;
  zeroulp_plugin_matrix b_scales;
  zeroulp_plugin_matrix c;
  zeroulp_plugin_matrix d;  ///< to be written
} zeroulp_plugin_gemm;

/// h = g sigmoid(g) u, all m x n. SPEC S1, S2, E1, E3.
typedef struct zeroulp_plugin_swiglu {
  int64_t size;
  const char* from;  ///< of g and u: fp32, bf16 or fp16
  const char* to;    ///< of h: fp32, bf16 or fp16
  zeroulp_plugin_matrix g;
  zeroulp_plugin_matrix u;
  zeroulp_plugin_matrix h;  ///< to be written
} zeroulp_plugin_swiglu;

/// One step of AdamW on matrices of one shape. The factors are FP32 bits, in
/// the order in which S7 calls them c1, c2, q, eps, decay and step. SPEC S6 to
/// S8.
typedef struct zeroulp_plugin_adamw {
  int64_t size;
  const char* gradient;  ///< of g: fp32, bf16 or fp16
  const char* moment;    ///< of m and v: bf16, fp32, fp16, e4m3 or e5m2
  /// The rounding of m and v: nearest_even, stochastic, toward_zero, ...
  const char* rounding;
  int64_t one_minus_beta1;
  int64_t one_minus_beta2;
  int64_t inverse_sqrt_bias2;  ///< 1 / sqrt(1 - beta2^t)
  int64_t eps;
  int64_t decay;  ///< rate * weight_decay
  int64_t step;   ///< rate / (1 - beta1^t)
  int64_t seed;   ///< of stochastic rounding, 64 bits
  int64_t first;  ///< index of element (0, 0); the others count row by row
  zeroulp_plugin_matrix g;
  zeroulp_plugin_matrix m;     ///< to be updated
  zeroulp_plugin_matrix v;     ///< to be updated
  zeroulp_plugin_matrix w;     ///< FP32, to be updated
  zeroulp_plugin_matrix copy;  ///< w in BF16, to be written; may be absent
} zeroulp_plugin_adamw;

/// Row t of `out`, m x n, is a sum of rows of x, k x n: the rows that row t of
/// `slots` names, in the order of the s slots. Each row is multiplied by its
/// weight if there are weights. SPEC S9, S10.
typedef struct zeroulp_plugin_combine {
  int64_t size;
  const char* rule;               ///< fp32_slots, bf16_hops, bf16_pair
  zeroulp_plugin_matrix x;        ///< BF16
  zeroulp_plugin_matrix slots;    ///< m x s, int32_t; -1: none
  zeroulp_plugin_matrix weights;  ///< m x s, FP32; may be absent
  zeroulp_plugin_matrix out;      ///< BF16, to be written
} zeroulp_plugin_combine;

/// The gradients of RMSNorm from dy and x, m x n. `residual` is the gradient
/// that arrives beside the norm. Rows of all matrices have adjacent elements,
/// here and in what follows. SPEC N1 to N3.
typedef struct zeroulp_plugin_rms_norm_backward {
  int64_t size;
  zeroulp_plugin_matrix dy;        ///< BF16
  zeroulp_plugin_matrix x;         ///< BF16
  zeroulp_plugin_matrix w;         ///< 1 x n, FP32
  zeroulp_plugin_matrix rstd;      ///< m x 1, FP32
  zeroulp_plugin_matrix residual;  ///< BF16; may be absent
  zeroulp_plugin_matrix dx;        ///< BF16, to be written
  zeroulp_plugin_matrix dw;        ///< 1 x n, FP32, to be written
} zeroulp_plugin_rms_norm_backward;

/// The router of a mixture of e experts: scores of all, the chosen experts and
/// their weights, in order. `groups` of consecutive experts, as many in each,
/// of which `kept` may be chosen from. SPEC N8 to N10.
typedef struct zeroulp_plugin_route {
  int64_t size;
  const char* score;        ///< sigmoid or softmax
  const char* group_score;  ///< top2_sum or max
  int64_t top;              ///< slots of a token
  int64_t groups;
  int64_t kept;
  int64_t normalized;            ///< 1: weights are shares of the slots' scores
  int64_t scale;                 ///< of the weights, FP32 bits
  zeroulp_plugin_matrix logits;  ///< m x e, FP32
  zeroulp_plugin_matrix bias;    ///< 1 x e, FP32; may be absent
  zeroulp_plugin_matrix scores;  ///< m x e, FP32, to be written
  zeroulp_plugin_matrix experts;  ///< m x top, int32_t, to be written
  zeroulp_plugin_matrix weights;  ///< m x top, FP32, to be written
} zeroulp_plugin_route;

/// The gradient of the logits, from scores and experts of the same router. SPEC
/// N11.
typedef struct zeroulp_plugin_route_backward {
  int64_t size;
  const char* score;
  const char* group_score;
  int64_t top;
  int64_t groups;
  int64_t kept;
  int64_t normalized;
  int64_t scale;
  zeroulp_plugin_matrix scores;    ///< m x e, FP32
  zeroulp_plugin_matrix experts;   ///< m x top, int32_t
  zeroulp_plugin_matrix dweights;  ///< m x top, FP32
  zeroulp_plugin_matrix dlogits;   ///< m x e, FP32, to be written
} zeroulp_plugin_route_backward;

/// Causal attention over sequences of `length` tokens, m in all; `heads` lie
/// beside each other in a row. SPEC N5, N6.
typedef struct zeroulp_plugin_attention_forward {
  int64_t size;
  int64_t length;
  int64_t heads;
  int64_t scale;            ///< of the scores, FP32 bits of a number above 0
  zeroulp_plugin_matrix q;  ///< m x heads depth, BF16
  zeroulp_plugin_matrix k;  ///< m x heads depth, BF16
  zeroulp_plugin_matrix v;  ///< m x heads width, BF16
  zeroulp_plugin_matrix o;  ///< m x heads width, BF16, to be written
  zeroulp_plugin_matrix largest;  ///< m x heads, FP32, to be written
  zeroulp_plugin_matrix inverse;  ///< m x heads, FP32, to be written
} zeroulp_plugin_attention_forward;

/// The gradients of attention. `o` is the output as it was kept, in FP32. SPEC
/// N5, N7.
typedef struct zeroulp_plugin_attention_backward {
  int64_t size;
  int64_t length;
  int64_t heads;
  int64_t scale;
  zeroulp_plugin_matrix q;
  zeroulp_plugin_matrix k;
  zeroulp_plugin_matrix v;
  zeroulp_plugin_matrix o;        ///< m x heads width, FP32
  zeroulp_plugin_matrix largest;  ///< m x heads, FP32
  zeroulp_plugin_matrix inverse;  ///< m x heads, FP32
  zeroulp_plugin_matrix d_o;      ///< m x heads width, BF16
  zeroulp_plugin_matrix dq;       ///< BF16, to be written
  zeroulp_plugin_matrix dk;       ///< BF16, to be written
  zeroulp_plugin_matrix dv;       ///< BF16, to be written
} zeroulp_plugin_attention_backward;

enum zeroulp_plugin_operation {
  ZEROULP_PLUGIN_QUANTIZE = 0,
  ZEROULP_PLUGIN_DEQUANTIZE = 1,
  ZEROULP_PLUGIN_RETILE = 2,
  ZEROULP_PLUGIN_GEMM = 3,
  ZEROULP_PLUGIN_SWIGLU = 4,
  ZEROULP_PLUGIN_ADAMW = 5,
  ZEROULP_PLUGIN_COMBINE = 6,
  ZEROULP_PLUGIN_RMS_NORM_BACKWARD = 7,
  ZEROULP_PLUGIN_ROUTE = 8,
  ZEROULP_PLUGIN_ROUTE_BACKWARD = 9,
  ZEROULP_PLUGIN_ATTENTION_FORWARD = 10,
  ZEROULP_PLUGIN_ATTENTION_BACKWARD = 11
};

/// One operation that you implement; several claims on one are alternatives.
typedef struct zeroulp_plugin_claim {
  int32_t operation;
  /// The definition that your bits follow: a convention (quantize; `zeroulp
  /// conventions` lists them), a recipe (gemm; `zeroulp recipes`), a rule
  /// (combine). NULL: none; `zeroulp identify plugin` then finds it.
  const char* as;
  /// zeroulp makes only requests with these settings, "from=bf16,to=e4m3". A
  /// setting that is not named may have any value; NULL names none. They are
  ///   quantize, dequantize  from, to, convention, scale, group (1x128,
  ///                         tensor); `to` is of the codes, both ways
  ///   retile                from, to, scale, rule, tile
  ///   gemm                  path, interval, update, a_group, b_group (1x128),
  ///                         splits, end (store, accumulate), output
  ///   swiglu                from, to (--from, --value of the fuzzer)
  ///   adamw                 gradient, moment, rounding (--from, --to, --round)
  ///   combine               rule (--sum)
  ///   route, route_backward score, groups, kept, group_score, normalized,
  ///                         scale (--route-scale)
  ///   attention_forward, attention_backward   heads, length
  /// with the values of `zeroulp fuzz OPERATION --help`. Every operation also
  /// has place: dense (row-major without gaps), padded (row-major, gaps between
  /// rows); not named: any strides.
  const char* settings;
  /// m, n and k are multiples of these; 0: any size. zeroulp pads smaller
  /// problems: with zeros, scales with 1, slots with -1. From rms_norm_backward
  /// on it pads none and leaves out those of other sizes: n are columns,
  /// experts or the columns of q, k slots or the columns of v.
  int32_t multiple[3];
} zeroulp_plugin_claim;

typedef struct zeroulp_plugin {
  int32_t version;      ///< ZEROULP_PLUGIN_VERSION
  int32_t size;         ///< of this table, in bytes
  const char* name;     ///< as reports call it
  int32_t memory;       ///< zeroulp_plugin_memory
  int32_t claim_count;  ///< 1 to 1024
  const zeroulp_plugin_claim* claims;
  // NULL where nothing is claimed. All return a zeroulp_plugin_status. One
  // thread of a process makes the calls, one after the other. Several processes
  // may run at a time on the host, only one on a device.
  int32_t (*quantize)(const zeroulp_plugin_quantize*);
  int32_t (*dequantize)(const zeroulp_plugin_dequantize*);
  int32_t (*retile)(const zeroulp_plugin_retile*);
  int32_t (*gemm)(const zeroulp_plugin_gemm*);
  int32_t (*swiglu)(const zeroulp_plugin_swiglu*);
  int32_t (*adamw)(const zeroulp_plugin_adamw*);
  int32_t (*combine)(const zeroulp_plugin_combine*);
  int32_t (*rms_norm_backward)(const zeroulp_plugin_rms_norm_backward*);
  int32_t (*route)(const zeroulp_plugin_route*);
  int32_t (*route_backward)(const zeroulp_plugin_route_backward*);
  int32_t (*attention_forward)(const zeroulp_plugin_attention_forward*);
  int32_t (*attention_backward)(const zeroulp_plugin_attention_backward*);
} zeroulp_plugin;

/// The one function that your library exports. Called once; the table must
/// last.
ZEROULP_PLUGIN_VISIBLE const zeroulp_plugin* zeroulp_plugin_table(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ZEROULP_PLUGIN_H_
