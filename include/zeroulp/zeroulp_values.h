// Defines the values of the C ABI, formats to recipes, and their names; the
// status of every call. zeroulp.h states what holds for the whole ABI.

#ifndef ZEROULP_ZEROULP_VALUES_H_
#define ZEROULP_ZEROULP_VALUES_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ZEROULP_API __attribute__((visibility("default")))
#else
#define ZEROULP_API
#endif

#define ZEROULP_ABI_VERSION 2

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
/// The version of SPEC.md that the library follows.
ZEROULP_API int32_t zeroulp_spec_version(void);
/// The version of the library, such as "0.1.0".
ZEROULP_API const char* zeroulp_version(void);
/// Describes, in one line, the error of the last call that failed on this
/// thread; "" if none failed. Valid until the next failure on this thread.
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
  int32_t bias;           ///< FP64 must hold every number of the format
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

enum zeroulp_nan_payload {
  ZEROULP_QUIET = 0,
  ZEROULP_ALL_ONES = 1,
  ZEROULP_LOWEST = 2,  ///< no NaN: the lowest number
  ZEROULP_LARGEST = 3  ///< no NaN: the largest number
};

/// How values that a format cannot hold are converted: SPEC, C2 to C7, C11.
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
  ZEROULP_SCALE_RECIPROCAL_INVERSE = 2,
  ZEROULP_SCALE_RECIPROCAL_PRODUCT = 3
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

/// The treatment of cases where amax / max or max / amax is no positive number:
/// SPEC, Q12.
enum zeroulp_unit_scale {
  ZEROULP_UNIT_SCALE = 1,              ///< the next four
  ZEROULP_UNIT_SCALE_OF_ZERO = 2,      ///< amax 0 gives scale 1
  ZEROULP_UNIT_SCALE_OF_INFINITY = 4,  ///< amax Inf gives scale 1
  ZEROULP_FINITE_INVERSE = 8,     ///< an infinite max / amax becomes the input
                                  ///< format's largest number
  ZEROULP_POSITIVE_SCALE = 16,    ///< a scale that rounds to 0 becomes 2^-149
  ZEROULP_UNIT_SCALE_OF_NAN = 32  ///< amax NaN gives scale 1
};

/// How the exponent of a power-of-two scale follows: SPEC, Q5.
enum zeroulp_exponent_rule {
  ZEROULP_EXPONENT_EXACT = 0,     ///< from amax / max
  ZEROULP_EXPONENT_OF_SCALE = 1,  ///< from the FP32 scale s
  ZEROULP_EXPONENT_OF_LOG2 = 2    ///< from fl(log2(s))
};
/// What an element is rounded to before it is encoded.
enum zeroulp_pre_rounding {
  ZEROULP_THROUGH_NOTHING = 0,
  ZEROULP_THROUGH_BF16 = 1,
  ZEROULP_THROUGH_FP16 = 2
};

/// How a kernel quantizes: SPEC, Q2 to Q6, Q12, Q13.
typedef struct zeroulp_convention {
  uint32_t amax_floor;   ///< FP32 bits, not negative, not NaN
  int32_t scale;         ///< zeroulp_scale_rule
  int32_t element;       ///< zeroulp_element_rule
  int32_t amax;          ///< zeroulp_amax_rule
  int32_t unit_scale;    ///< zeroulp_unit_scale, a sum of them, or 0
  int32_t bf16_amax;     ///< yes or no
  int32_t power_of_two;  ///< yes or no: what zeroulp_quantizer_from_names takes
  zeroulp_policy conversion;
  uint32_t scale_floor;       ///< FP32 bits, not negative, finite
  int32_t exponent;           ///< zeroulp_exponent_rule
  int32_t bf16_scale;         ///< yes or no
  int32_t unrounded_inverse;  ///< yes or no
  int32_t through;            ///< zeroulp_pre_rounding
  uint32_t largest;     ///< FP32 bits, or 0: the largest number, if `to` has it
  int32_t reserved[6];  ///< 0
} zeroulp_convention;

enum zeroulp_scale_kind {
  ZEROULP_SCALE_FP32 = 0,
  ZEROULP_SCALE_POW2 = 1,
  ZEROULP_SCALE_POW2_DOWN = 2,
  ZEROULP_SCALE_POW2_NEAREST = 3,
  ZEROULP_SCALE_OCP = 4
};

/// The elements that one scale covers; 0: the whole dimension. In an operand of
/// a GEMM, rows run along M or N and columns along K.
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
  int32_t reserved[5];  ///< 0
} zeroulp_quantizer;

enum zeroulp_retile_rule {
  ZEROULP_RETILE_AMAX = 0,
  ZEROULP_RETILE_MAX_SCALE = 1
};

/// SPEC, W1 to W7; formats as a quantizer's `to`.
typedef struct zeroulp_retiling {
  zeroulp_format from;
  zeroulp_format to;
  int32_t scale;        ///< zeroulp_scale_kind
  int32_t tile;         ///< elements; 0: the whole dimension
  int32_t rule;         ///< zeroulp_retile_rule
  int32_t reserved[5];  ///< 0
} zeroulp_retiling;

enum zeroulp_addend { ZEROULP_ADDEND_ALIGNED = 0, ZEROULP_ADDEND_LAST = 1 };

/// `fraction_bits` of a sum that is not cut.
#define ZEROULP_UNCUT (-1)
/// `exponent_floor` of an accumulator without one.
#define ZEROULP_NO_FLOOR (-32768)

/// How a tensor-core step sums its terms: SPEC, T1 to T8.
typedef struct zeroulp_accumulator {
  int32_t length;          ///< products a step takes, to 32767; 0: all, uncut
  int32_t fraction_bits;   ///< 0 to 44, or ZEROULP_UNCUT
  int32_t exponent_floor;  ///< a 16-bit integer
  int32_t conversion;      ///< zeroulp_rounding, of the sum; not stochastic
  int32_t cut;             ///< zeroulp_rounding, of each term; not stochastic
  int32_t addend;          ///< zeroulp_addend: how c joins
  int32_t renormalized;    ///< yes or no
  zeroulp_format output;   ///< SPECIALS_IEEE; `stored` holds its numbers
  zeroulp_format stored;   ///< SPECIALS_IEEE; FP32 holds it; format of c and D
} zeroulp_accumulator;

enum zeroulp_lowering {
  ZEROULP_LOWERING_DIRECT = 0,
  ZEROULP_LOWERING_HMMA_CHAINED = 1,
  ZEROULP_LOWERING_HMMA_ZERO = 2
};

/// A tensor-core path. FP32 holds the operands; with a lowering, FP16 holds
/// them and a step takes twice the accumulator's length: SPEC, T10 to T14.
typedef struct zeroulp_path {
  zeroulp_format a;
  zeroulp_format b;
  zeroulp_accumulator accumulator;
  int32_t lowering;     ///< zeroulp_lowering
  int32_t reserved[8];  ///< 0
} zeroulp_path;

/// What a block's scale is stored as, in a byte: SPEC, T17.
enum zeroulp_block_scale {
  ZEROULP_BLOCK_SCALE_UE8M0 = 0,
  ZEROULP_BLOCK_SCALE_UE4M3 = 1
};
/// Which terms a step with block scales aligns: SPEC, T18 and T19.
enum zeroulp_block_terms {
  ZEROULP_BLOCK_TERMS_PRODUCTS = 0,  ///< each product; scales of ue8m0
  ZEROULP_BLOCK_TERMS_SUMS = 1       ///< sums of 16 products of E2M1
};

/// A path whose operands have a scale for each `block` elements of K. The path
/// is direct and cut, c is one of its terms, and its length is a multiple of
/// the block, or the block one of the length.
typedef struct zeroulp_block_scaled_path {
  zeroulp_path path;
  int32_t scale;        ///< zeroulp_block_scale
  int32_t block;        ///< elements, to 32767
  int32_t terms;        ///< zeroulp_block_terms
  int32_t reserved[5];  ///< 0
} zeroulp_block_scaled_path;

enum zeroulp_promotion {
  ZEROULP_PROMOTION_ADD = 0,
  ZEROULP_PROMOTION_PRODUCT_OF_SCALES = 1,
  ZEROULP_PROMOTION_ONE_THEN_OTHER = 2,  ///< the scale of A first
  ZEROULP_PROMOTION_OTHER_THEN_ONE = 3   ///< the scale of B first
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
  int32_t reserved[5];    ///< 0
} zeroulp_recipe;

// Names.

/// Tables of names. The first five name the values of an enum, in their order.
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
  ZEROULP_PATHS = 9,
  ZEROULP_ARMS = 10,  ///< of training steps: zeroulp_model.h
  ZEROULP_BLOCK_SCALED_PATHS = 11,
  ZEROULP_BLOCK_CONVENTIONS = 12,
  ZEROULP_BLOCK_RECIPES = 13
};

/// Name number `index` of a table, or NULL if there is none: to list a table,
/// count up from 0. Valid as long as the library is loaded.
ZEROULP_API const char* zeroulp_name(int32_t table, int64_t index);
/// The value called `name`, in one of the first five tables.
ZEROULP_API zeroulp_status zeroulp_value_from_name(int32_t table,
                                                   const char* name,
                                                   int32_t* value);

/// A name of the table, or eXmY[:bB][:fn|fnuz|finite]: X exponent and Y
/// fraction bits, bias B (of IEEE 754 if absent), special codes (of IEEE 754 if
/// absent).
ZEROULP_API zeroulp_status zeroulp_format_from_name(const char* name,
                                                    zeroulp_format* format);
/// Writes the name of `format` and a 0 to `name`, which has room for `size`
/// bytes. A format that no name stands for is an invalid argument.
ZEROULP_API zeroulp_status zeroulp_format_name(const zeroulp_format* format,
                                               char* name, size_t size);
ZEROULP_API zeroulp_status zeroulp_policy_from_name(const char* name,
                                                    zeroulp_policy* policy);
/// RxC, 0 for a whole dimension, or `tensor`.
ZEROULP_API zeroulp_status zeroulp_group_from_name(const char* name,
                                                   zeroulp_group* group);
/// A name of the table, or one with other fields: vllm+scale_floor:1e-7. The
/// fields are those that `zeroulp conventions vllm --json` prints.
ZEROULP_API zeroulp_status
zeroulp_convention_from_name(const char* name, zeroulp_convention* convention);
/// A NULL `scale` is the convention's own default: pow2 or fp32.
ZEROULP_API zeroulp_status zeroulp_quantizer_from_names(
    const char* from, const char* to, const char* convention, const char* scale,
    const char* group, zeroulp_quantizer* quantizer);
/// Any name of the table, or whatif.fN.A.B.f32 with N from 8 to 34.
ZEROULP_API zeroulp_status zeroulp_path_from_name(const char* name,
                                                  zeroulp_path* path);
/// Any name of the table, or whatif.block_scaled_fN.A.B.f32 with N from 8
/// to 34.
ZEROULP_API zeroulp_status zeroulp_block_scaled_path_from_name(
    const char* name, zeroulp_block_scaled_path* path);
ZEROULP_API zeroulp_status zeroulp_recipe_from_name(const char* name,
                                                    zeroulp_recipe* recipe);
/// Writes to `out` `recipe` with the accumulator that Hopper has for these
/// operands; the named recipes have the FP8 accumulator. Operands for which
/// Hopper has none are an invalid argument.
ZEROULP_API zeroulp_status zeroulp_recipe_for_operands(
    const zeroulp_recipe* recipe, const zeroulp_format* a,
    const zeroulp_format* b, zeroulp_recipe* out);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ZEROULP_ZEROULP_VALUES_H_
