// The plug-in: a C ABI that you implement, so that zeroulp calls your kernel
// and holds it against the oracle. C99 and C++; it needs no other file of
// zeroulp, and nothing to link.
//
//   #include <zeroulp/plugin.h>
//   static int32_t quantize(const zeroulp_plugin_quantize* r) {
//     my_kernel(r->x.data, r->codes.data, r->scales.data, r->x.rows,
//     r->x.cols); return ZEROULP_PLUGIN_DONE;
//   }
//   static const zeroulp_plugin_claim claims[] = {
//       {ZEROULP_PLUGIN_QUANTIZE, "vllm",
//        "from=bf16,to=e4m3,scale=fp32,group=1x128,place=dense", {0, 0, 0}}};
//   static const zeroulp_plugin mine = {
//       ZEROULP_PLUGIN_VERSION, sizeof mine, "mine", ZEROULP_PLUGIN_ON_HOST,
//       1, claims, quantize, 0, 0, 0, 0, 0, 0};
//   const zeroulp_plugin* zeroulp_plugin_table(void) { return &mine; }
//
//   cc -shared -fPIC -o mine.so mine.c
//   zeroulp conform --plugin ./mine.so
//   zeroulp fuzz quantize --against ./mine.so
//
// What we do  Your library is loaded by a process of its own, which is ended
//             when a call takes too long. Each request is made twice, with
//             other bytes in and around the outputs: what you write outside
//             them or into an input, what you leave unwritten and what is not
//             the same twice is reported, as are signals and exits.
// Memory      Ours; it is yours during the call. On the device: an allocation
//             of the CUDA runtime on device 0, guarded in the same way; launch
//             on the default stream, we wait for it.
// Codes       A number travels as its bits, in the narrowest unsigned integer
//             of 1, 2 or 4 bytes: BF16 in 2, FP32 in 4. Bits above the format's
//             are 0. Scales are FP32.
// Sizes       No matrix of a request is empty.
// Versions    `version` and `size` are checked first; a request begins with its
//             own size. Whatever changes here is another version.

#ifndef ZEROULP_PLUGIN_H_
#define ZEROULP_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#define ZEROULP_PLUGIN_VERSION 1

#if defined(__GNUC__)
#define ZEROULP_PLUGIN_VISIBLE __attribute__((visibility("default")))
#else
#define ZEROULP_PLUGIN_VISIBLE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// What a call returns; any other value is a failure, which is reported.
enum zeroulp_plugin_status {
  ZEROULP_PLUGIN_DONE = 0,
  /// Not a request that it serves: counted, and not held against it.
  ZEROULP_PLUGIN_REFUSED = 1
};

enum zeroulp_plugin_memory {
  ZEROULP_PLUGIN_ON_HOST = 0,
  ZEROULP_PLUGIN_ON_DEVICE = 1
};

/// Element (i, j) stands `i * row_stride + j * col_stride` elements after
/// `data`. A matrix that this request does not have: NULL data.
typedef struct zeroulp_plugin_matrix {
  void* data;
  int64_t rows;
  int64_t cols;
  int64_t row_stride;
  int64_t col_stride;
  int64_t element_bytes;
} zeroulp_plugin_matrix;

/// Groups are rows x cols elements with one scale; 0: the whole dimension. For
/// m x n elements there are ceil(m / rows) x ceil(n / cols) scales.
/// `convention` is the one claimed; NULL if none was.
typedef struct zeroulp_plugin_quantize {
  int64_t size;
  const char* from;  ///< fp32, bf16 or fp16
  const char* to;
  const char* scale;  ///< fp32, pow2, pow2_down, pow2_nearest
  const char* convention;
  int64_t group_rows;
  int64_t group_cols;
  zeroulp_plugin_matrix x;
  zeroulp_plugin_matrix codes;   ///< to be written
  zeroulp_plugin_matrix scales;  ///< to be written
} zeroulp_plugin_quantize;

typedef struct zeroulp_plugin_dequantize {
  int64_t size;
  const char* from;  ///< of the codes
  int64_t group_rows;
  int64_t group_cols;
  zeroulp_plugin_matrix codes;
  zeroulp_plugin_matrix scales;
  zeroulp_plugin_matrix x;  ///< FP32, to be written
} zeroulp_plugin_dequantize;

/// m x n codes with m x ceil(n / tile) scales become n x m codes with
/// n x ceil(m / tile) scales; tile 0: the whole dimension.
typedef struct zeroulp_plugin_retile {
  int64_t size;
  const char* from;
  const char* to;
  const char* scale;  ///< as zeroulp_plugin_quantize has it
  const char* rule;   ///< amax, max_scale
  int64_t tile;
  zeroulp_plugin_matrix codes;
  zeroulp_plugin_matrix scales;
  zeroulp_plugin_matrix out_codes;   ///< to be written
  zeroulp_plugin_matrix out_scales;  ///< to be written
} zeroulp_plugin_retile;

/// D = A B^T. A is m x k, B n x k, C (FP32, there if `accumulate`) and D m x n.
/// One scale covers a_group_mn x a_group_k elements of A; 0: all.
typedef struct zeroulp_plugin_gemm {
  int64_t size;
  const char* a_format;
  const char* b_format;
  const char* output;  ///< of D: fp32 or bf16
  const char* recipe;  ///< the one claimed; NULL if none was
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

/// h = g sigmoid(g) u, all m x n.
typedef struct zeroulp_plugin_swiglu {
  int64_t size;
  const char* from;  ///< of g and u: bf16 or fp32
  const char* to;    ///< of h: bf16 or fp32
  zeroulp_plugin_matrix g;
  zeroulp_plugin_matrix u;
  zeroulp_plugin_matrix h;  ///< to be written
} zeroulp_plugin_swiglu;

/// One step. The factors are FP32 bits: zeroulp_adamw_factors. `seed` and
/// `first` are stochastic rounding's.
typedef struct zeroulp_plugin_adamw {
  int64_t size;
  const char* gradient;
  const char* moment;    ///< of m and v
  const char* rounding;  ///< of m and v: nearest_even, stochastic
  int64_t one_minus_beta1;
  int64_t one_minus_beta2;
  int64_t inverse_sqrt_bias2;
  int64_t eps;
  int64_t decay;
  int64_t step;
  int64_t seed;
  int64_t first;
  zeroulp_plugin_matrix g;
  zeroulp_plugin_matrix m;     ///< to be updated
  zeroulp_plugin_matrix v;     ///< to be updated
  zeroulp_plugin_matrix w;     ///< FP32, to be updated
  zeroulp_plugin_matrix copy;  ///< w in BF16, to be written
} zeroulp_plugin_adamw;

/// Row t of `out` is the sum of those rows of x that row t of `slots` (4-byte
/// integers; -1: none) names, each times its weight (FP32), if there are any.
typedef struct zeroulp_plugin_combine {
  int64_t size;
  const char* rule;         ///< fp32_slots, bf16_hops, bf16_pair
  zeroulp_plugin_matrix x;  ///< BF16
  zeroulp_plugin_matrix slots;
  zeroulp_plugin_matrix weights;
  zeroulp_plugin_matrix out;  ///< BF16, to be written
} zeroulp_plugin_combine;

enum zeroulp_plugin_operation {
  ZEROULP_PLUGIN_QUANTIZE = 0,
  ZEROULP_PLUGIN_DEQUANTIZE = 1,
  ZEROULP_PLUGIN_RETILE = 2,
  ZEROULP_PLUGIN_GEMM = 3,
  ZEROULP_PLUGIN_SWIGLU = 4,
  ZEROULP_PLUGIN_ADAMW = 5,
  ZEROULP_PLUGIN_COMBINE = 6
};

/// What you implement; several claims on one operation are alternatives.
typedef struct zeroulp_plugin_claim {
  int32_t operation;
  /// What the bits follow: a convention (quantize; `zeroulp conventions` lists
  /// them), a recipe (gemm; `zeroulp recipes`), a rule (combine). NULL: you
  /// claim none, and `zeroulp identify plugin` says which it is.
  const char* as;
  /// Requests have these settings, "from=bf16,to=e4m3"; others are not made.
  /// Not named or NULL: any value. The settings are the options of `zeroulp
  /// fuzz quantize`, `retile` and `gemm`, with which dequantize shares those of
  /// quantize; of swiglu from and to, of adamw gradient, moment and rounding.
  /// Besides, place=dense: row-major without gaps; place=padded: row-major,
  /// with gaps between rows.
  const char* settings;
  /// m, n and k are multiples of these; 0: of nothing. Smaller problems come
  /// padded with zeros.
  int32_t multiple[3];
} zeroulp_plugin_claim;

typedef struct zeroulp_plugin {
  int32_t version;  ///< ZEROULP_PLUGIN_VERSION
  int32_t size;     ///< sizeof(zeroulp_plugin)
  const char* name;
  int32_t memory;  ///< zeroulp_plugin_memory: where every matrix lies
  int32_t claim_count;
  const zeroulp_plugin_claim* claims;
  // NULL where nothing is claimed. All return a zeroulp_plugin_status, and come
  // one after the other from one thread.
  int32_t (*quantize)(const zeroulp_plugin_quantize*);
  int32_t (*dequantize)(const zeroulp_plugin_dequantize*);
  int32_t (*retile)(const zeroulp_plugin_retile*);
  int32_t (*gemm)(const zeroulp_plugin_gemm*);
  int32_t (*swiglu)(const zeroulp_plugin_swiglu*);
  int32_t (*adamw)(const zeroulp_plugin_adamw*);
  int32_t (*combine)(const zeroulp_plugin_combine*);
} zeroulp_plugin;

/// The one function that your library exports. Called once.
ZEROULP_PLUGIN_VISIBLE const zeroulp_plugin* zeroulp_plugin_table(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ZEROULP_PLUGIN_H_
