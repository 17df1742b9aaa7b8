// The C ABI of zeroulp, C99 and C++: for any language that calls C.
//
//   zeroulp_quantizer q;
//   zeroulp_quantizer_from_names("fp32", "e4m3", "vllm", NULL, "1x128", &q);
//   if (zeroulp_quantize(&q, &x, &codes, &scales) != ZEROULP_OK)
//     puts(zeroulp_last_error());
//
// Errors    A function that can fail returns a zeroulp_status, and then has
//           written nothing but the text of zeroulp_last_error(). No exception
//           and no exit crosses the ABI.
// Values    Plain structs of fixed-width integers, without padding. Fill them
//           from a name, then change what you like: each call checks them. A
//           member or argument that the comments call one of an enum's values
//           is an int32_t; yes or no is 1 or 0.
// Codes     A number travels as its bits, in an unsigned integer of 1, 2, 4 or
//           8 bytes: FP32 data are 4-byte elements as they are. Bits above the
//           format's are ignored on input (zeroulp_compare refuses them) and 0
//           on output. Scales and amaxes are FP32.
// Memory    Yours, always: the library keeps no pointer after a call and
//           returns none that must be freed. An output must not overlap an
//           input or another output.
// Threads   Every function may be called from any thread at any time; state is
//           thread-local, but for zeroulp_use_simd. Nothing waits for a lock.
// Versions  A program built for ZEROULP_ABI_VERSION runs with each library
//           whose zeroulp_abi_version() is that number: within it functions,
//           names and values are added, and nothing else changes.
//
// What the operations mean is in conformance/SPEC.md, by the same names. The
// training path stands in zeroulp_training.h, which is included here; what runs
// on a GPU in zeroulp_cuda.h, which is not.

#ifndef ZEROULP_ZEROULP_H_
#define ZEROULP_ZEROULP_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ZEROULP_API __attribute__((visibility("default")))
#else
#define ZEROULP_API
#endif

#define ZEROULP_ABI_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

typedef enum zeroulp_status {
  ZEROULP_OK = 0,
  ZEROULP_INVALID_ARGUMENT = 1,  ///< the text says which, and what is needed
  ZEROULP_OUT_OF_MEMORY = 2,
  ZEROULP_INTERNAL_ERROR = 3,  ///< a defect of the library
  ZEROULP_CUDA_ERROR = 4       ///< the text has CUDA's name for it
} zeroulp_status;

/// The ABI version of the library that was loaded.
ZEROULP_API int32_t zeroulp_abi_version(void);
/// The version of the library, such as "0.1.0".
ZEROULP_API const char* zeroulp_version(void);
/// What the last call that failed on this thread found wrong, one line; "" if
/// none failed. Valid until the next failure on this thread.
ZEROULP_API const char* zeroulp_last_error(void);

// Values.

enum zeroulp_specials {  ///< which codes are not finite numbers
  ZEROULP_SPECIALS_IEEE = 0,
  ZEROULP_SPECIALS_FN = 1,
  ZEROULP_SPECIALS_FNUZ = 2,
  ZEROULP_SPECIALS_FINITE = 3,
  ZEROULP_SPECIALS_SCALE = 4
};

/// A floating-point format: SPEC, F1 to F3.
typedef struct zeroulp_format {
  int32_t exponent_bits;  ///< 1 to 11
  int32_t fraction_bits;  ///< 0 to 52
  int32_t bias;           ///< no exponent and no bit beyond those of FP64
  int32_t specials;       ///< zeroulp_specials
} zeroulp_format;

enum zeroulp_rounding {
  ZEROULP_NEAREST_EVEN = 0,
  ZEROULP_NEAREST_AWAY = 1,
  ZEROULP_TOWARD_ZERO = 2,
  ZEROULP_UP = 3,
  ZEROULP_DOWN = 4,
  ZEROULP_TO_ODD = 5,
  ZEROULP_STOCHASTIC = 6
};

enum zeroulp_nan_payload { ZEROULP_QUIET = 0, ZEROULP_ALL_ONES = 1 };

/// What becomes of values that a format cannot hold: SPEC, C2 to C7.
typedef struct zeroulp_policy {
  int32_t saturate_finite;    ///< yes or no
  int32_t saturate_infinite;  ///< yes or no
  int32_t nan_sign;           ///< yes or no
  int32_t nan_payload;        ///< zeroulp_nan_payload
  int32_t scale_magnitude;    ///< yes or no
} zeroulp_policy;

enum zeroulp_scale_rule {
  ZEROULP_SCALE_QUOTIENT = 0,
  ZEROULP_SCALE_TIMES_RECIPROCAL = 1,
  ZEROULP_SCALE_RECIPROCAL_INVERSE = 2
};
enum zeroulp_element_rule {
  ZEROULP_ELEMENT_EXACT_QUOTIENT = 0,
  ZEROULP_ELEMENT_QUOTIENT = 1,
  ZEROULP_ELEMENT_SCALE_RECIPROCAL = 2,
  ZEROULP_ELEMENT_INVERSE = 3,
  ZEROULP_ELEMENT_APPROXIMATE_QUOTIENT = 4
};
enum zeroulp_amax_rule {
  ZEROULP_AMAX_FINITE_ONLY = 0,
  ZEROULP_AMAX_SKIP_NAN = 1,
  ZEROULP_AMAX_KEEP_NAN = 2
};

/// How a kernel quantizes: SPEC, Q2 to Q7.
typedef struct zeroulp_convention {
  uint32_t amax_floor;   ///< FP32 bits, not negative, not NaN
  int32_t scale;         ///< zeroulp_scale_rule
  int32_t element;       ///< zeroulp_element_rule
  int32_t amax;          ///< zeroulp_amax_rule
  int32_t unit_scale;    ///< yes or no
  int32_t bf16_amax;     ///< yes or no
  int32_t power_of_two;  ///< yes or no: what zeroulp_quantizer_from_names takes
  zeroulp_policy conversion;
} zeroulp_convention;

enum zeroulp_scale_kind {
  ZEROULP_SCALE_FP32 = 0,
  ZEROULP_SCALE_POW2 = 1,
  ZEROULP_SCALE_POW2_DOWN = 2,
  ZEROULP_SCALE_POW2_NEAREST = 3
};

/// The elements that one scale covers; 0: the whole dimension. For an operand
/// of a GEMM rows run along M or N and columns along K.
typedef struct zeroulp_group {
  int32_t rows;
  int32_t cols;
} zeroulp_group;

typedef struct zeroulp_quantizer {
  zeroulp_format from;  ///< fp32, bf16 or fp16
  zeroulp_format to;    ///< a sign, at most 32 bits, largest number below 2^128
  zeroulp_convention how;
  int32_t scale;  ///< zeroulp_scale_kind
  zeroulp_group group;
} zeroulp_quantizer;

enum zeroulp_retile_rule {
  ZEROULP_RETILE_AMAX = 0,
  ZEROULP_RETILE_MAX_SCALE = 1
};

/// SPEC, W1 to W7; formats as a quantizer's `to`.
typedef struct zeroulp_retiling {
  zeroulp_format from;
  zeroulp_format to;
  int32_t scale;  ///< zeroulp_scale_kind
  int32_t tile;   ///< elements; 0: the whole dimension
  int32_t rule;   ///< zeroulp_retile_rule
} zeroulp_retiling;

enum zeroulp_addend { ZEROULP_ADDEND_ALIGNED = 0, ZEROULP_ADDEND_LAST = 1 };

/// `fraction_bits` of a sum that is not cut.
#define ZEROULP_UNCUT (-1)
/// `exponent_floor` that is none.
#define ZEROULP_NO_FLOOR (-32768)

/// What a tensor-core step does with its terms: SPEC, T1 to T8.
typedef struct zeroulp_accumulator {
  int32_t length;          ///< products a step takes, to 32767; 0: all, uncut
  int32_t fraction_bits;   ///< 0 to 44, or ZEROULP_UNCUT
  int32_t exponent_floor;  ///< a 16-bit integer
  int32_t conversion;      ///< zeroulp_rounding, of the sum; not stochastic
  int32_t cut;             ///< zeroulp_rounding, of each term; not stochastic
  int32_t addend;          ///< zeroulp_addend: how c joins
  int32_t renormalized;    ///< yes or no
  zeroulp_format output;   ///< SPECIALS_IEEE, numbers of `stored`
  zeroulp_format stored;   ///< SPECIALS_IEEE, numbers of FP32: what c and D are
} zeroulp_accumulator;

enum zeroulp_lowering {
  ZEROULP_LOWERING_DIRECT = 0,
  ZEROULP_LOWERING_HMMA_CHAINED = 1,
  ZEROULP_LOWERING_HMMA_ZERO = 2
};

/// A tensor-core path. Operands are numbers of FP32; with a lowering numbers of
/// FP16, and a step takes twice the accumulator's length: SPEC, T10 to T14.
typedef struct zeroulp_path {
  zeroulp_format a;
  zeroulp_format b;
  zeroulp_accumulator accumulator;
  int32_t lowering;  ///< zeroulp_lowering
} zeroulp_path;

enum zeroulp_promotion {
  ZEROULP_PROMOTION_ADD = 0,
  ZEROULP_PROMOTION_PRODUCT_OF_SCALES = 1,
  ZEROULP_PROMOTION_ONE_THEN_OTHER = 2
};
enum zeroulp_epilogue {
  ZEROULP_EPILOGUE_STORE = 0,
  ZEROULP_EPILOGUE_ACCUMULATE = 1
};

/// How a GEMM sums: SPEC, G1 to G11.
typedef struct zeroulp_recipe {
  zeroulp_accumulator accumulator;  ///< `stored` is fp32
  int32_t interval;                 ///< K between promotions; 0: none
  int32_t promotion;                ///< zeroulp_promotion
  zeroulp_group a;                  ///< what a scale of A covers
  zeroulp_group b;
  int32_t splits;         ///< at least 1
  int32_t epilogue;       ///< zeroulp_epilogue
  zeroulp_format output;  ///< at most 32 bits
} zeroulp_recipe;

// Names.

/// Tables of names. The names of the first five are those of an enum's values,
/// in the order of the values.
enum zeroulp_table {
  ZEROULP_ROUNDINGS = 0,
  ZEROULP_SCALE_KINDS = 1,
  ZEROULP_SCALE_LAYOUTS = 2,
  ZEROULP_RETILE_RULES = 3,
  ZEROULP_SIMD_SETS = 4,
  ZEROULP_FORMATS = 5,
  ZEROULP_POLICIES = 6,
  ZEROULP_CONVENTIONS = 7,
  ZEROULP_RECIPES = 8,
  ZEROULP_PATHS = 9
};

/// Name number `index` of a table, or NULL where there is none: count up from 0
/// to list them. Valid as long as the library is loaded.
ZEROULP_API const char* zeroulp_name(int32_t table, int64_t index);
/// The value called `name`, in one of the first five tables.
ZEROULP_API zeroulp_status zeroulp_value_from_name(int32_t table,
                                                   const char* name,
                                                   int32_t* value);

/// A name of the table, or eXmY for an IEEE-like format.
ZEROULP_API zeroulp_status zeroulp_format_from_name(const char* name,
                                                    zeroulp_format* format);
/// Writes the name of `format` and a 0 to `name`, which has room for `size`
/// bytes. A format that no name gives back is an invalid argument.
ZEROULP_API zeroulp_status zeroulp_format_name(const zeroulp_format* format,
                                               char* name, size_t size);
ZEROULP_API zeroulp_status zeroulp_policy_from_name(const char* name,
                                                    zeroulp_policy* policy);
/// RxC, or `tensor`.
ZEROULP_API zeroulp_status zeroulp_group_from_name(const char* name,
                                                   zeroulp_group* group);
ZEROULP_API zeroulp_status
zeroulp_convention_from_name(const char* name, zeroulp_convention* convention);
/// A NULL `scale` is what the convention has unless it is told otherwise: pow2
/// or fp32.
ZEROULP_API zeroulp_status zeroulp_quantizer_from_names(
    const char* from, const char* to, const char* convention, const char* scale,
    const char* group, zeroulp_quantizer* quantizer);
/// Any name of the table, or whatif.fN.A.B.f32 with N from 8 to 34.
ZEROULP_API zeroulp_status zeroulp_path_from_name(const char* name,
                                                  zeroulp_path* path);
ZEROULP_API zeroulp_status zeroulp_recipe_from_name(const char* name,
                                                    zeroulp_recipe* recipe);
/// Writes `recipe` with the accumulator that Hopper has for these operands: the
/// named recipes have that of FP8. An invalid argument where it has none.
ZEROULP_API zeroulp_status zeroulp_recipe_for_operands(
    const zeroulp_recipe* recipe, const zeroulp_format* a,
    const zeroulp_format* b, zeroulp_recipe* out);

// Matrices.

/// A matrix that you own. Element (i, j) stands `i * row_stride + j *
/// col_stride` elements after `data`, which is aligned to the element's size.
/// Without elements `data` may be NULL. Strides may be negative, those of an
/// input also 0; the elements of an output do not overlap.
typedef struct zeroulp_matrix {
  void* data;
  int64_t rows;
  int64_t cols;
  int64_t row_stride;
  int64_t col_stride;
  int64_t element_bytes;  ///< 1, 2, 4 or 8
} zeroulp_matrix;

/// The same, to be read.
typedef struct zeroulp_const_matrix {
  const void* data;
  int64_t rows;
  int64_t cols;
  int64_t row_stride;
  int64_t col_stride;
  int64_t element_bytes;
} zeroulp_const_matrix;

// Conversion and arithmetic. `out` and the inputs have one shape; elements are
// as wide as the format or wider. `random` (4-byte elements) is read by
// stochastic rounding alone, and may be NULL otherwise.

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
/// have may be NULL. A NULL `policy` is cuda_nosat.
ZEROULP_API zeroulp_status zeroulp_arithmetic(
    int32_t operation, const zeroulp_format* format,
    const zeroulp_const_matrix* a, const zeroulp_const_matrix* b,
    const zeroulp_const_matrix* c, const zeroulp_matrix* out, int32_t rounding,
    const zeroulp_policy* policy, const zeroulp_const_matrix* random);

// Quantization. For m x n elements there are ceil(m / group.rows) x
// ceil(n / group.cols) scales and amaxes, 4-byte elements.

/// Each group by its own amax.
ZEROULP_API zeroulp_status zeroulp_quantize(const zeroulp_quantizer* quantizer,
                                            const zeroulp_const_matrix* x,
                                            const zeroulp_matrix* codes,
                                            const zeroulp_matrix* scales);
/// By the amaxes given: delayed scaling.
ZEROULP_API zeroulp_status zeroulp_quantize_by_amax(
    const zeroulp_quantizer* quantizer, const zeroulp_const_matrix* x,
    const zeroulp_const_matrix* amaxes, const zeroulp_matrix* codes,
    const zeroulp_matrix* scales);
ZEROULP_API zeroulp_status zeroulp_group_amaxes(
    const zeroulp_quantizer* quantizer, const zeroulp_const_matrix* x,
    const zeroulp_matrix* amaxes);
/// The scale that each amax gives and, unless `inverses` is NULL, the factor
/// that conventions with ZEROULP_ELEMENT_INVERSE multiply by. Of one shape.
ZEROULP_API zeroulp_status zeroulp_make_scales(
    const zeroulp_quantizer* quantizer, const zeroulp_const_matrix* amaxes,
    const zeroulp_matrix* scales, const zeroulp_matrix* inverses);
/// FP32 out, m x n.
ZEROULP_API zeroulp_status zeroulp_dequantize(
    const zeroulp_format* from, const zeroulp_group* group,
    const zeroulp_const_matrix* codes, const zeroulp_const_matrix* scales,
    const zeroulp_matrix* out);
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

/// The amax that the next scale comes from, given `count` previous ones, oldest
/// first; with none, `current`. All FP32 bits; `decay`, from 0 to 1, is the
/// moving average's.
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
/// The way back.
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

// The tensor core and the GEMM.

/// As many steps as there are rows: d[i] = c[i] + sum over k of a[i, k] b[i,
/// k]. `a` and `b` are n x count, `count` at most what a step takes (fewer: the
/// rest are zeros); `c` and `d` are n x 1 codes of accumulator.stored. A NULL
/// `c` is +0.
ZEROULP_API zeroulp_status zeroulp_step(const zeroulp_path* path,
                                        const zeroulp_const_matrix* a,
                                        const zeroulp_const_matrix* b,
                                        const zeroulp_const_matrix* c,
                                        const zeroulp_matrix* d);

/// One side of D = A B^T: codes mn x k, elements of 1, 2 or 4 bytes, of a
/// format whose numbers are FP32's. Scales as the recipe's group has them, or
/// NULL data for none.
typedef struct zeroulp_operand {
  zeroulp_format format;
  zeroulp_const_matrix codes;
  zeroulp_const_matrix scales;
} zeroulp_operand;

/// D = A B^T, m x n codes of recipe.output. `c`, m x n, FP32, is read by
/// ZEROULP_EPILOGUE_ACCUMULATE alone and may be NULL otherwise. The recipe's
/// accumulator is taken as it is: see zeroulp_recipe_for_operands.
ZEROULP_API zeroulp_status zeroulp_gemm(const zeroulp_recipe* recipe,
                                        const zeroulp_operand* a,
                                        const zeroulp_operand* b,
                                        const zeroulp_const_matrix* c,
                                        const zeroulp_matrix* d);
/// D = the chain of steps of `path` over K from C: what one instruction's
/// accumulator holds after all of K. `a` and `b` have no scales and the path's
/// formats; `c` and `d` are m x n codes of accumulator.stored in elements of 4
/// bytes. A NULL `c` is +0.
ZEROULP_API zeroulp_status zeroulp_multiply(const zeroulp_path* path,
                                            const zeroulp_operand* a,
                                            const zeroulp_operand* b,
                                            const zeroulp_const_matrix* c,
                                            const zeroulp_matrix* d);
/// The exact products of the codes, without scales, each rounded once to FP64.
ZEROULP_API zeroulp_status zeroulp_exact_products(const zeroulp_operand* a,
                                                  const zeroulp_operand* b,
                                                  const zeroulp_matrix* out);

// Comparison. Both matrices have one shape; elements are taken row by row.

/// The distance from or to a NaN.
#define ZEROULP_NO_DISTANCE UINT64_MAX

/// Distances in ulps count codes, +0 and -0 being one place.
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

/// Fractions, not percent; SPEC, error measures, and zeroulp/metrics.hpp say
/// what each is and what becomes of it without errors, in zeros and in NaNs.
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

/// Elements are doubles. `differences` is computed - exact where you know it
/// better than a subtraction of doubles; or NULL.
ZEROULP_API zeroulp_status zeroulp_measure_errors(
    const zeroulp_const_matrix* computed, const zeroulp_const_matrix* exact,
    const zeroulp_const_matrix* differences, zeroulp_errors* errors);

// Vector instructions. They change no bit.

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
/// Uses the set from now on, in the whole process.
ZEROULP_API zeroulp_status zeroulp_use_simd(int32_t set);

#ifdef __cplusplus
}  // extern "C"
#endif

#include "zeroulp/zeroulp_training.h"

#endif  // ZEROULP_ZEROULP_H_
