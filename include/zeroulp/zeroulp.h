// Defines the C ABI of zeroulp, C99 and C++: for any language that calls C.
//
//   zeroulp_quantizer q;
//   zeroulp_quantizer_from_names("fp32", "e4m3", "vllm", NULL, "1x128", &q);
//   if (zeroulp_quantize(&q, &x, &codes, &scales) != ZEROULP_OK)
//     puts(zeroulp_last_error());
//
// Errors    A function that can fail returns a zeroulp_status. A call that
//           failed has written nothing but the text of zeroulp_last_error(). No
//           exception and no exit crosses the ABI.
// Values    Plain structs of fixed-width integers, without padding. Fill a
//           struct from a name, then change its members as you like: each call
//           checks them. A member or argument whose comment names an enum is an
//           int32_t; yes or no is 1 or 0.
// Codes     A number travels as its bits, in an unsigned integer of 1, 2, 4 or
//           8 bytes: FP32 data are 4-byte elements as they are. Bits above the
//           format's are ignored on input (zeroulp_compare refuses them) and 0
//           on output. Scales and amaxes are FP32.
// Memory    Yours, always: the library keeps no pointer after a call and
//           returns none that must be freed. An output must not overlap an
//           input or another output.
// Threads   Every function may be called from any thread at any time. State is
//           thread-local, but zeroulp_use_simd and zeroulp_use_threads set it
//           for the process. Nothing waits for a lock.
// Versions  A program built for ZEROULP_ABI_VERSION runs with every library
//           whose zeroulp_abi_version() is that number. Such libraries add
//           functions, names and values, and change nothing else.
//
// conformance/SPEC.md defines the operations, under the same names. This header
// has the operations on matrices. It includes zeroulp_values.h (values and
// their names), zeroulp_training.h (the training path) and zeroulp_model.h (the
// other operators of a training step), but not zeroulp_cuda.h (what runs on a
// GPU).

#ifndef ZEROULP_ZEROULP_H_
#define ZEROULP_ZEROULP_H_

#include "zeroulp/zeroulp_values.h"

#ifdef __cplusplus
extern "C" {
#endif

// Matrices.

/// A matrix that you own. Element (i, j) stands `i * row_stride + j *
/// col_stride` elements after `data`, which is aligned to the element's size.
/// `data` may be NULL if there are no elements. Strides may be negative, and 0
/// for an input; the elements of an output must not overlap.
typedef struct zeroulp_matrix {
  void* data;
  int64_t rows;
  int64_t cols;
  int64_t row_stride;
  int64_t col_stride;
  int64_t element_bytes;  ///< 1, 2, 4 or 8
} zeroulp_matrix;

/// A matrix that a call only reads.
typedef struct zeroulp_const_matrix {
  const void* data;
  int64_t rows;
  int64_t cols;
  int64_t row_stride;
  int64_t col_stride;
  int64_t element_bytes;
} zeroulp_const_matrix;

// Conversion and arithmetic. `out` and the inputs have one shape; elements are
// as wide as the format or wider. Only stochastic rounding reads `random`
// (4-byte elements), which may be NULL otherwise.

/// Encodes, decodes (to fp32 or fp64) or converts. A NULL `policy` is
/// cuda_satfinite.
ZEROULP_API zeroulp_status zeroulp_recode(
    const zeroulp_format* from, const zeroulp_const_matrix* in,
    const zeroulp_format* to, const zeroulp_matrix* out, int32_t rounding,
    const zeroulp_policy* policy, const zeroulp_const_matrix* random);

enum zeroulp_operation {
  ZEROULP_ADD = 0,
  ZEROULP_SUBTRACT = 1,
  ZEROULP_MULTIPLY = 2,
  ZEROULP_FMA = 3,  ///< a * b + c
  ZEROULP_DIVIDE = 4,
  ZEROULP_SQUARE_ROOT = 5
};

/// out = a (operation) b, rounded once. Operands that the operation does not
/// take may be NULL. A NULL `policy` is cuda_nosat.
ZEROULP_API zeroulp_status zeroulp_arithmetic(
    int32_t operation, const zeroulp_format* format,
    const zeroulp_const_matrix* a, const zeroulp_const_matrix* b,
    const zeroulp_const_matrix* c, const zeroulp_matrix* out, int32_t rounding,
    const zeroulp_policy* policy, const zeroulp_const_matrix* random);

// Quantization. For m x n elements there are ceil(m / group.rows) x
// ceil(n / group.cols) scales and amaxes, 4-byte elements.

/// Quantizes each group by its own amax.
ZEROULP_API zeroulp_status zeroulp_quantize(const zeroulp_quantizer* quantizer,
                                            const zeroulp_const_matrix* x,
                                            const zeroulp_matrix* codes,
                                            const zeroulp_matrix* scales);
/// Quantizes by the given amaxes: delayed scaling.
ZEROULP_API zeroulp_status zeroulp_quantize_by_amax(
    const zeroulp_quantizer* quantizer, const zeroulp_const_matrix* x,
    const zeroulp_const_matrix* amaxes, const zeroulp_matrix* codes,
    const zeroulp_matrix* scales);
/// Quantizes by the given scales, static scaling: by 1, a cast.
ZEROULP_API zeroulp_status zeroulp_quantize_by_scale(
    const zeroulp_quantizer* quantizer, const zeroulp_const_matrix* x,
    const zeroulp_const_matrix* scales, const zeroulp_matrix* codes);
ZEROULP_API zeroulp_status zeroulp_group_amaxes(
    const zeroulp_quantizer* quantizer, const zeroulp_const_matrix* x,
    const zeroulp_matrix* amaxes);
/// The scale that each amax gives and, unless `inverses` is NULL, the factor
/// that conventions with ZEROULP_ELEMENT_INVERSE multiply by. All of one shape.
ZEROULP_API zeroulp_status zeroulp_make_scales(
    const zeroulp_quantizer* quantizer, const zeroulp_const_matrix* amaxes,
    const zeroulp_matrix* scales, const zeroulp_matrix* inverses);
/// FP32 out, m x n.
ZEROULP_API zeroulp_status zeroulp_dequantize(
    const zeroulp_format* from, const zeroulp_group* group,
    const zeroulp_const_matrix* codes, const zeroulp_const_matrix* scales,
    const zeroulp_matrix* out);
/// Codes of `to` out, m x n: code * scale, rounded once, nearest-even; what is
/// too large becomes Inf, or NaN where `to` has no Inf.
ZEROULP_API zeroulp_status zeroulp_dequantize_to(
    const zeroulp_format* from, const zeroulp_group* group,
    const zeroulp_const_matrix* codes, const zeroulp_const_matrix* scales,
    const zeroulp_format* to, const zeroulp_matrix* out);
/// m x n codes with m x ceil(n / tile) scales become n x m codes with
/// n x ceil(m / tile) scales.
ZEROULP_API zeroulp_status zeroulp_retile(const zeroulp_retiling* retiling,
                                          const zeroulp_const_matrix* codes,
                                          const zeroulp_const_matrix* scales,
                                          const zeroulp_matrix* out,
                                          const zeroulp_matrix* out_scales);

enum zeroulp_history_rule {
  ZEROULP_HISTORY_MAXIMUM = 0,
  ZEROULP_HISTORY_MOVING_AVERAGE = 1
};

/// The amax from which the next scale is made, given `count` previous amaxes,
/// oldest first; `current` if there are none. All are FP32 bits. `decay`, from
/// 0 to 1, is the moving average's.
ZEROULP_API zeroulp_status zeroulp_delayed_amax(const uint32_t* history,
                                                int64_t count, uint32_t current,
                                                int32_t rule, uint32_t decay,
                                                uint32_t* amax);

enum zeroulp_scale_layout {
  ZEROULP_LAYOUT_ROW_MAJOR = 0,
  ZEROULP_LAYOUT_MN_MAJOR = 1,
  ZEROULP_LAYOUT_BLK128 = 2,
  ZEROULP_LAYOUT_UE8M0 = 3
};

/// The shape of the 4-byte words that hold mn x k scales.
ZEROULP_API zeroulp_status zeroulp_layout_shape(int32_t layout, int64_t mn,
                                                int64_t k, int64_t* rows,
                                                int64_t* cols);
/// `stored` has that shape. A scale that ue8m0 does not have becomes NaN.
ZEROULP_API zeroulp_status
zeroulp_lay_out_scales(int32_t layout, const zeroulp_const_matrix* scales,
                       const zeroulp_matrix* stored);
/// The inverse of zeroulp_lay_out_scales.
ZEROULP_API zeroulp_status
zeroulp_read_scales(int32_t layout, const zeroulp_const_matrix* stored,
                    const zeroulp_matrix* scales);

enum zeroulp_packing { ZEROULP_PACKING_BYTES = 0, ZEROULP_PACKING_WORDS = 1 };

/// Bytes of a packed row of `count` 12-bit codes.
ZEROULP_API zeroulp_status zeroulp_packed_bytes(int32_t packing, int64_t count,
                                                int64_t* bytes);
/// 12-bit codes, in elements of 2 or 4 bytes, to and from m x packed_bytes(n)
/// elements of 1 byte: SPEC, P1 and P2.
ZEROULP_API zeroulp_status zeroulp_pack(int32_t packing,
                                        const zeroulp_const_matrix* codes,
                                        const zeroulp_matrix* packed);
ZEROULP_API zeroulp_status zeroulp_unpack(int32_t packing,
                                          const zeroulp_const_matrix* packed,
                                          const zeroulp_matrix* codes);

// Block scales: SPEC, Q15 to Q21 and G14. A block is 32 (ue8m0) or 16 (ue4m3)
// elements of K of one row, or of several; its scale is an element of 1 byte.

enum zeroulp_second_level {
  ZEROULP_SECOND_NONE = 0,
  ZEROULP_SECOND_TENSOR = 1,  ///< an FP32 scale of the whole matrix
  ZEROULP_SECOND_ROW = 2      ///< one for each row
};

/// What a convention of ZEROULP_BLOCK_CONVENTIONS makes: a zeroulp_block_scale,
/// and how many elements share one.
ZEROULP_API zeroulp_status zeroulp_block_convention_from_name(const char* name,
                                                              int32_t* scale,
                                                              int32_t* block);
/// Quantizes m x k elements of `from` by a convention of
/// ZEROULP_BLOCK_CONVENTIONS to `to`: any format for scales of ue8m0, which
/// have no second level, e2m1 for those of ue4m3. `largest_scale` is 448, or
/// less: the block scale that the largest amax gets. `scales` is
/// m x ceil(k / block); `second`, FP32, is 1 x 1 or m x 1, and may be NULL
/// without a second level.
ZEROULP_API zeroulp_status zeroulp_quantize_blocks(
    const char* convention, const zeroulp_format* from,
    const zeroulp_format* to, int32_t second_level, int32_t largest_scale,
    const zeroulp_const_matrix* x, const zeroulp_matrix* codes,
    const zeroulp_matrix* scales, const zeroulp_matrix* second);
/// How zeroulp_quantize_blocks_by quantizes; what it has besides is as above.
typedef struct zeroulp_block_quantizer {
  const char* convention;  ///< a name of ZEROULP_BLOCK_CONVENTIONS
  zeroulp_format from;
  zeroulp_format to;
  int32_t second_level;
  int32_t largest_scale;
  int32_t block_rows;   ///< rows that share a block's scale: 1, 16, ...
  int32_t reserved[5];  ///< 0
} zeroulp_block_quantizer;

/// The same with blocks of several rows, each of which gets the block's scale;
/// such have no second level of rows. `random`, m x k words of 32 bits, rounds
/// elements stochastically; NULL: to nearest-even.
ZEROULP_API zeroulp_status zeroulp_quantize_blocks_by(
    const zeroulp_block_quantizer* quantizer, const zeroulp_const_matrix* x,
    const zeroulp_const_matrix* random, const zeroulp_matrix* codes,
    const zeroulp_matrix* scales, const zeroulp_matrix* second);

enum zeroulp_random_source {
  ZEROULP_PHILOX4X32_10 = 0,  ///< cuRAND's: four words for each counter
  ZEROULP_SPLITMIX64 = 1
};

/// The words `first`, `first` + 1, ... of a zeroulp_random_source, row by row,
/// for stochastic rounding. Their highest `bits`, 1 to 32, are kept, and the
/// others are 0. Elements of 4 bytes.
ZEROULP_API zeroulp_status zeroulp_random_words(int32_t source, int32_t bits,
                                                uint64_t seed, uint64_t first,
                                                const zeroulp_matrix* words);

/// The Hadamard transform of each `size` elements of a row: a power of two from
/// 2 to 1024, which divides k.
typedef struct zeroulp_hadamard_transform {
  zeroulp_format from;  ///< fp32, bf16 or fp16
  zeroulp_format to;    ///< one of these
  int32_t size;
  uint32_t scale;       ///< FP32 bits; 0: fl(1 / sqrt(size))
  int32_t reserved[4];  ///< 0
} zeroulp_hadamard_transform;

/// x, m x k, times `signs` (1 or -1, `size` of them, or NULL) is transformed in
/// FP32, by butterflies. With `path`, whose A is `from`, each result is its
/// steps over a row and a column of the matrix.
ZEROULP_API zeroulp_status
zeroulp_hadamard(const zeroulp_hadamard_transform* transform,
                 const zeroulp_path* path, const int32_t* signs,
                 const zeroulp_const_matrix* x, const zeroulp_matrix* out);
/// code * scale * second, rounded once to `to`, m x k. `scale` is a
/// zeroulp_block_scale, `from` has at most 24 bits; `second` may be NULL.
ZEROULP_API zeroulp_status zeroulp_dequantize_blocks(
    const zeroulp_format* from, int32_t scale, int32_t block,
    const zeroulp_const_matrix* codes, const zeroulp_const_matrix* scales,
    const zeroulp_const_matrix* second, const zeroulp_format* to,
    const zeroulp_matrix* out);
/// m x n block scales, elements of 1 byte, in the order that the tensor core's
/// products expect: tiles of 128 rows by 4 blocks, 512 bytes each.
/// `interleaved` is 1 x (ceil(m / 128) * ceil(n / 4) * 512), without gaps.
ZEROULP_API zeroulp_status zeroulp_interleave_scales(
    const zeroulp_const_matrix* scales, const zeroulp_matrix* interleaved);
/// The inverse of zeroulp_interleave_scales.
ZEROULP_API zeroulp_status zeroulp_separate_scales(
    const zeroulp_const_matrix* interleaved, const zeroulp_matrix* scales);

// The tensor core and the GEMM.

/// One step for each row: d[i] = c[i] + sum over k of a[i, k] b[i, k]. `a` and
/// `b` are n x count. `count` is at most what a step takes; missing operands
/// are zeros. `c` and `d` are n x 1 codes of accumulator.stored. A NULL `c` is
/// +0.
ZEROULP_API zeroulp_status zeroulp_step(const zeroulp_path* path,
                                        const zeroulp_const_matrix* a,
                                        const zeroulp_const_matrix* b,
                                        const zeroulp_const_matrix* c,
                                        const zeroulp_matrix* d);

/// One operand of D = A B^T: codes mn x k, elements of 1, 2 or 4 bytes, of a
/// format whose numbers FP32 holds. The recipe's group gives the shape of the
/// scales; NULL data means none.
typedef struct zeroulp_operand {
  zeroulp_format format;
  zeroulp_const_matrix codes;
  zeroulp_const_matrix scales;
} zeroulp_operand;

/// D = A B^T, m x n codes of recipe.output. Only ZEROULP_EPILOGUE_ACCUMULATE
/// reads `c` (m x n, FP32), which may be NULL otherwise. The recipe's
/// accumulator is taken as it is: see zeroulp_recipe_for_operands.
ZEROULP_API zeroulp_status zeroulp_gemm(const zeroulp_recipe* recipe,
                                        const zeroulp_operand* a,
                                        const zeroulp_operand* b,
                                        const zeroulp_const_matrix* c,
                                        const zeroulp_matrix* d);
/// D = the chain of steps of `path` over K, starting from C: what one
/// instruction's accumulator holds after all of K. `a` and `b` have the path's
/// formats and no scales. `c` and `d` are m x n codes of accumulator.stored in
/// elements of 4 bytes. A NULL `c` is +0.
ZEROULP_API zeroulp_status zeroulp_multiply(const zeroulp_path* path,
                                            const zeroulp_operand* a,
                                            const zeroulp_operand* b,
                                            const zeroulp_const_matrix* c,
                                            const zeroulp_matrix* d);
/// The same with block scales: SPEC, T17 to T19. Scales are bytes, one for each
/// row and path.block elements of K: `a.scales` m x ceil(k / block), `b.scales`
/// n x ceil(k / block). With k of at most the path's length it is one step.
ZEROULP_API zeroulp_status zeroulp_multiply_block_scaled(
    const zeroulp_block_scaled_path* path, const zeroulp_operand* a,
    const zeroulp_operand* b, const zeroulp_const_matrix* c,
    const zeroulp_matrix* d);
/// D = A B^T by a recipe of ZEROULP_BLOCK_RECIPES. Scales of `a` and `b` are
/// those of blocks; those of the second level, FP32, are 1 x 1, one a row, or
/// NULL. `c`, m x n FP32 to add, may be NULL. D has elements of 4 bytes: codes
/// of `output`, fp32 or bf16.
ZEROULP_API zeroulp_status zeroulp_gemm_block_scaled(
    const char* recipe, const zeroulp_operand* a,
    const zeroulp_const_matrix* second_a, const zeroulp_operand* b,
    const zeroulp_const_matrix* second_b, const zeroulp_const_matrix* c,
    const zeroulp_format* output, const zeroulp_matrix* d);
/// The exact products of the codes, without scales, each rounded once to FP64.
ZEROULP_API zeroulp_status zeroulp_exact_products(const zeroulp_operand* a,
                                                  const zeroulp_operand* b,
                                                  const zeroulp_matrix* out);

// Comparison. Both matrices have one shape; elements are taken row by row.

/// The distance from or to a NaN.
#define ZEROULP_NO_DISTANCE UINT64_MAX

/// Distances in ulps are counted in codes; +0 and -0 count as one code.
typedef struct zeroulp_comparison {
  int64_t count;      ///< all elements
  int64_t different;  ///< elements whose bits differ
  int64_t first_row;  ///< where the first of these is; -1: nowhere
  int64_t first_col;
  uint64_t first_a;  ///< its codes; 0 if there is none
  uint64_t first_b;
  uint64_t first_ulps;
  uint64_t max_ulps;       ///< over all pairs without a NaN
  int64_t zero_signs;      ///< +0 against -0
  int64_t nan_payloads;    ///< two NaNs of different bits
  int64_t nan_mismatches;  ///< one is NaN
  int64_t buckets[66];     ///< pairs by ulps: 0, 1, 2, 3-4, 5-8, 9-16, ...
} zeroulp_comparison;

/// A NULL `format` compares unsigned integers. Elements are equally wide.
ZEROULP_API zeroulp_status zeroulp_compare(const zeroulp_format* format,
                                           const zeroulp_const_matrix* a,
                                           const zeroulp_const_matrix* b,
                                           zeroulp_comparison* comparison);

/// Fractions, not percent. SPEC, error measures, and zeroulp/metrics.hpp define
/// each measure, and its value without errors, for zeros and for NaNs.
typedef struct zeroulp_errors {
  double frobenius;
  double max_over_max;
  double max_over_mean;
  double max_over_rms;
  double bias;
  double sqnr_db;
  double one_minus_cosine;
  double quantiles[5];  ///< of relative errors: 0.5, 0.9, 0.99, 0.999, 1
  int64_t count;
  int64_t nonfinite_matches;
  int64_t nonfinite_mismatches;
} zeroulp_errors;

/// Elements are doubles. `differences` is computed - exact if you know it more
/// exactly than a subtraction of doubles gives it, else NULL.
ZEROULP_API zeroulp_status zeroulp_measure_errors(
    const zeroulp_const_matrix* computed, const zeroulp_const_matrix* exact,
    const zeroulp_const_matrix* differences, zeroulp_errors* errors);

// Vector instructions. The choice changes no bit of any result.

enum zeroulp_simd {
  ZEROULP_SIMD_REFERENCE = 0,  ///< none: the definition, element by element
  ZEROULP_SIMD_PORTABLE = 1,
  ZEROULP_SIMD_AVX2 = 2,
  ZEROULP_SIMD_AVX512 = 3
};

ZEROULP_API zeroulp_status zeroulp_simd_in_use(int32_t* set);
/// Yes iff this build has the set and this processor runs it.
ZEROULP_API zeroulp_status zeroulp_simd_is_supported(int32_t set,
                                                     int32_t* supported);
/// The whole process uses the set from now on.
ZEROULP_API zeroulp_status zeroulp_use_simd(int32_t set);

/// The most threads that a call takes. A call takes fewer if its work is small:
/// each thread has about a millisecond of it.
ZEROULP_API zeroulp_status zeroulp_threads_in_use(int32_t* count);
/// Sets that number for the whole process; 0, as at first: what OpenMP says
/// (OMP_NUM_THREADS, or all cores). Not negative.
ZEROULP_API zeroulp_status zeroulp_use_threads(int32_t count);

#ifdef __cplusplus
}  // extern "C"
#endif

#include "zeroulp/zeroulp_model.h"
#include "zeroulp/zeroulp_training.h"

#endif  // ZEROULP_ZEROULP_H_
