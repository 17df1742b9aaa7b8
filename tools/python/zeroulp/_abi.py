"""The C ABI as ctypes. Made by generate_abi.py: do not edit."""

# ruff: noqa
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double,
                    c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p)

ZEROULP_ABI_VERSION = 2
ZEROULP_UNCUT = -1
ZEROULP_NO_FLOOR = -32768
ZEROULP_OK = 0
ZEROULP_INVALID_ARGUMENT = 1
ZEROULP_OUT_OF_MEMORY = 2
ZEROULP_INTERNAL_ERROR = 3
ZEROULP_CUDA_ERROR = 4
ZEROULP_SPECIALS_IEEE = 0
ZEROULP_SPECIALS_FN = 1
ZEROULP_SPECIALS_FNUZ = 2
ZEROULP_SPECIALS_FINITE = 3
ZEROULP_SPECIALS_SCALE = 4
ZEROULP_NEAREST_EVEN = 0
ZEROULP_NEAREST_AWAY = 1
ZEROULP_TOWARD_ZERO = 2
ZEROULP_UP = 3
ZEROULP_DOWN = 4
ZEROULP_TO_ODD = 5
ZEROULP_STOCHASTIC = 6
ZEROULP_QUIET = 0
ZEROULP_ALL_ONES = 1
ZEROULP_LOWEST = 2
ZEROULP_LARGEST = 3
ZEROULP_SCALE_QUOTIENT = 0
ZEROULP_SCALE_TIMES_RECIPROCAL = 1
ZEROULP_SCALE_RECIPROCAL_INVERSE = 2
ZEROULP_SCALE_RECIPROCAL_PRODUCT = 3
ZEROULP_ELEMENT_EXACT_QUOTIENT = 0
ZEROULP_ELEMENT_QUOTIENT = 1
ZEROULP_ELEMENT_SCALE_RECIPROCAL = 2
ZEROULP_ELEMENT_INVERSE = 3
ZEROULP_ELEMENT_APPROXIMATE_QUOTIENT = 4
ZEROULP_AMAX_FINITE_ONLY = 0
ZEROULP_AMAX_SKIP_NAN = 1
ZEROULP_AMAX_KEEP_NAN = 2
ZEROULP_UNIT_SCALE = 1
ZEROULP_UNIT_SCALE_OF_ZERO = 2
ZEROULP_UNIT_SCALE_OF_INFINITY = 4
ZEROULP_FINITE_INVERSE = 8
ZEROULP_POSITIVE_SCALE = 16
ZEROULP_UNIT_SCALE_OF_NAN = 32
ZEROULP_EXPONENT_EXACT = 0
ZEROULP_EXPONENT_OF_SCALE = 1
ZEROULP_EXPONENT_OF_LOG2 = 2
ZEROULP_THROUGH_NOTHING = 0
ZEROULP_THROUGH_BF16 = 1
ZEROULP_THROUGH_FP16 = 2
ZEROULP_SCALE_FP32 = 0
ZEROULP_SCALE_POW2 = 1
ZEROULP_SCALE_POW2_DOWN = 2
ZEROULP_SCALE_POW2_NEAREST = 3
ZEROULP_SCALE_OCP = 4
ZEROULP_RETILE_AMAX = 0
ZEROULP_RETILE_MAX_SCALE = 1
ZEROULP_ADDEND_ALIGNED = 0
ZEROULP_ADDEND_LAST = 1
ZEROULP_LOWERING_DIRECT = 0
ZEROULP_LOWERING_HMMA_CHAINED = 1
ZEROULP_LOWERING_HMMA_ZERO = 2
ZEROULP_BLOCK_SCALE_UE8M0 = 0
ZEROULP_BLOCK_SCALE_UE4M3 = 1
ZEROULP_BLOCK_TERMS_PRODUCTS = 0
ZEROULP_BLOCK_TERMS_SUMS = 1
ZEROULP_PROMOTION_ADD = 0
ZEROULP_PROMOTION_PRODUCT_OF_SCALES = 1
ZEROULP_PROMOTION_ONE_THEN_OTHER = 2
ZEROULP_PROMOTION_OTHER_THEN_ONE = 3
ZEROULP_EPILOGUE_STORE = 0
ZEROULP_EPILOGUE_ACCUMULATE = 1
ZEROULP_ROUNDINGS = 0
ZEROULP_SCALE_KINDS = 1
ZEROULP_SCALE_LAYOUTS = 2
ZEROULP_RETILE_RULES = 3
ZEROULP_SIMD_SETS = 4
ZEROULP_FORMATS = 5
ZEROULP_POLICIES = 6
ZEROULP_CONVENTIONS = 7
ZEROULP_RECIPES = 8
ZEROULP_PATHS = 9
ZEROULP_ARMS = 10
ZEROULP_BLOCK_SCALED_PATHS = 11
ZEROULP_BLOCK_CONVENTIONS = 12
ZEROULP_BLOCK_RECIPES = 13
ZEROULP_ADD = 0
ZEROULP_SUBTRACT = 1
ZEROULP_MULTIPLY = 2
ZEROULP_FMA = 3
ZEROULP_DIVIDE = 4
ZEROULP_SQUARE_ROOT = 5
ZEROULP_HISTORY_MAXIMUM = 0
ZEROULP_HISTORY_MOVING_AVERAGE = 1
ZEROULP_LAYOUT_ROW_MAJOR = 0
ZEROULP_LAYOUT_MN_MAJOR = 1
ZEROULP_LAYOUT_BLK128 = 2
ZEROULP_LAYOUT_UE8M0 = 3
ZEROULP_PACKING_BYTES = 0
ZEROULP_PACKING_WORDS = 1
ZEROULP_SECOND_NONE = 0
ZEROULP_SECOND_TENSOR = 1
ZEROULP_SECOND_ROW = 2
ZEROULP_PHILOX4X32_10 = 0
ZEROULP_SPLITMIX64 = 1
ZEROULP_SIMD_REFERENCE = 0
ZEROULP_SIMD_PORTABLE = 1
ZEROULP_SIMD_AVX2 = 2
ZEROULP_SIMD_AVX512 = 3
ZEROULP_EXP = 0
ZEROULP_SIGMOID = 1
ZEROULP_RSQRT = 2
ZEROULP_COMBINE_FP32_SLOTS = 0
ZEROULP_COMBINE_BF16_HOPS = 1
ZEROULP_COMBINE_BF16_PAIR = 2
ZEROULP_ROPE_ADJACENT = 0
ZEROULP_ROPE_HALVES = 1
ZEROULP_MLA_UNABSORBED = 0
ZEROULP_MLA_ABSORBED = 1
ZEROULP_ROUTER_SIGMOID = 0
ZEROULP_ROUTER_SOFTMAX = 1
ZEROULP_GROUP_TOP2_SUM = 0
ZEROULP_GROUP_MAX = 1
ZEROULP_CUDA_GEMM_ONE = 0
ZEROULP_CUDA_GEMM_ROWS = 1
ZEROULP_CUDA_GEMM_FIRST_ROWS = 2
ZEROULP_CUDA_GEMM_K_RANGES = 3
ZEROULP_CUDA_SPAN_ALL = 0
ZEROULP_CUDA_SPAN_TO_DIAGONAL = 1
ZEROULP_CUDA_SPAN_FROM_DIAGONAL = 2
ZEROULP_CUDA_SPAN_LOWER = 3


class zeroulp_format(Structure):
    _fields_ = [
        ("exponent_bits", c_int32),
        ("fraction_bits", c_int32),
        ("bias", c_int32),
        ("specials", c_int32),
    ]


class zeroulp_policy(Structure):
    _fields_ = [
        ("saturate_finite", c_int32),
        ("saturate_infinite", c_int32),
        ("nan_sign", c_int32),
        ("nan_payload", c_int32),
        ("scale_magnitude", c_int32),
    ]


class zeroulp_convention(Structure):
    _fields_ = [
        ("amax_floor", c_uint32),
        ("scale", c_int32),
        ("element", c_int32),
        ("amax", c_int32),
        ("unit_scale", c_int32),
        ("bf16_amax", c_int32),
        ("power_of_two", c_int32),
        ("conversion", zeroulp_policy),
        ("scale_floor", c_uint32),
        ("exponent", c_int32),
        ("bf16_scale", c_int32),
        ("unrounded_inverse", c_int32),
        ("through", c_int32),
        ("largest", c_uint32),
        ("reserved", c_int32 * 6),
    ]


class zeroulp_group(Structure):
    _fields_ = [
        ("rows", c_int32),
        ("cols", c_int32),
    ]


class zeroulp_quantizer(Structure):
    _fields_ = [
        ("from", zeroulp_format),
        ("to", zeroulp_format),
        ("how", zeroulp_convention),
        ("scale", c_int32),
        ("group", zeroulp_group),
        ("reserved", c_int32 * 5),
    ]


class zeroulp_retiling(Structure):
    _fields_ = [
        ("from", zeroulp_format),
        ("to", zeroulp_format),
        ("scale", c_int32),
        ("tile", c_int32),
        ("rule", c_int32),
        ("reserved", c_int32 * 5),
    ]


class zeroulp_accumulator(Structure):
    _fields_ = [
        ("length", c_int32),
        ("fraction_bits", c_int32),
        ("exponent_floor", c_int32),
        ("conversion", c_int32),
        ("cut", c_int32),
        ("addend", c_int32),
        ("renormalized", c_int32),
        ("output", zeroulp_format),
        ("stored", zeroulp_format),
    ]


class zeroulp_path(Structure):
    _fields_ = [
        ("a", zeroulp_format),
        ("b", zeroulp_format),
        ("accumulator", zeroulp_accumulator),
        ("lowering", c_int32),
        ("reserved", c_int32 * 8),
    ]


class zeroulp_block_scaled_path(Structure):
    _fields_ = [
        ("path", zeroulp_path),
        ("scale", c_int32),
        ("block", c_int32),
        ("terms", c_int32),
        ("reserved", c_int32 * 5),
    ]


class zeroulp_recipe(Structure):
    _fields_ = [
        ("accumulator", zeroulp_accumulator),
        ("interval", c_int32),
        ("promotion", c_int32),
        ("a", zeroulp_group),
        ("b", zeroulp_group),
        ("splits", c_int32),
        ("epilogue", c_int32),
        ("output", zeroulp_format),
        ("reserved", c_int32 * 5),
    ]


class zeroulp_matrix(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("rows", c_int64),
        ("cols", c_int64),
        ("row_stride", c_int64),
        ("col_stride", c_int64),
        ("element_bytes", c_int64),
    ]


class zeroulp_const_matrix(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("rows", c_int64),
        ("cols", c_int64),
        ("row_stride", c_int64),
        ("col_stride", c_int64),
        ("element_bytes", c_int64),
    ]


class zeroulp_block_quantizer(Structure):
    _fields_ = [
        ("convention", c_char_p),
        ("from", zeroulp_format),
        ("to", zeroulp_format),
        ("second_level", c_int32),
        ("largest_scale", c_int32),
        ("block_rows", c_int32),
        ("reserved", c_int32 * 5),
    ]


class zeroulp_hadamard_transform(Structure):
    _fields_ = [
        ("from", zeroulp_format),
        ("to", zeroulp_format),
        ("size", c_int32),
        ("scale", c_uint32),
        ("reserved", c_int32 * 4),
    ]


class zeroulp_operand(Structure):
    _fields_ = [
        ("format", zeroulp_format),
        ("codes", zeroulp_const_matrix),
        ("scales", zeroulp_const_matrix),
    ]


class zeroulp_comparison(Structure):
    _fields_ = [
        ("count", c_int64),
        ("different", c_int64),
        ("first_row", c_int64),
        ("first_col", c_int64),
        ("first_a", c_uint64),
        ("first_b", c_uint64),
        ("first_ulps", c_uint64),
        ("max_ulps", c_uint64),
        ("zero_signs", c_int64),
        ("nan_payloads", c_int64),
        ("nan_mismatches", c_int64),
        ("buckets", c_int64 * 66),
    ]


class zeroulp_errors(Structure):
    _fields_ = [
        ("frobenius", c_double),
        ("max_over_max", c_double),
        ("max_over_mean", c_double),
        ("max_over_rms", c_double),
        ("bias", c_double),
        ("sqnr_db", c_double),
        ("one_minus_cosine", c_double),
        ("quantiles", c_double * 5),
        ("count", c_int64),
        ("nonfinite_matches", c_int64),
        ("nonfinite_mismatches", c_int64),
    ]


class zeroulp_quantized(Structure):
    _fields_ = [
        ("codes", zeroulp_matrix),
        ("scales", zeroulp_matrix),
    ]


class zeroulp_const_quantized(Structure):
    _fields_ = [
        ("codes", zeroulp_const_matrix),
        ("scales", zeroulp_const_matrix),
    ]


class zeroulp_swiglu(Structure):
    _fields_ = [
        ("cache", zeroulp_quantizer),
        ("out", zeroulp_quantizer),
    ]


class zeroulp_rms_layer(Structure):
    _fields_ = [
        ("from", zeroulp_format),
        ("weight", zeroulp_format),
        ("eps", c_uint32),
        ("out", zeroulp_quantizer),
    ]


class zeroulp_adamw_settings(Structure):
    _fields_ = [
        ("rate", c_double),
        ("beta1", c_double),
        ("beta2", c_double),
        ("eps", c_double),
        ("weight_decay", c_double),
        ("step", c_int64),
    ]


class zeroulp_adamw_factors(Structure):
    _fields_ = [
        ("one_minus_beta1", c_uint32),
        ("one_minus_beta2", c_uint32),
        ("inverse_sqrt_bias2", c_uint32),
        ("eps", c_uint32),
        ("decay", c_uint32),
        ("step", c_uint32),
    ]


class zeroulp_adamw_step(Structure):
    _fields_ = [
        ("factors", zeroulp_adamw_factors),
        ("gradient", zeroulp_format),
        ("moment", zeroulp_format),
        ("rounding", c_int32),
    ]


class zeroulp_attention(Structure):
    _fields_ = [
        ("length", c_int64),
        ("heads", c_int32),
        ("scale", c_uint32),
    ]


class zeroulp_router(Structure):
    _fields_ = [
        ("score", c_int32),
        ("top", c_int32),
        ("groups", c_int32),
        ("kept", c_int32),
        ("of_group", c_int32),
        ("normalized", c_int32),
        ("scale", c_uint32),
    ]


class zeroulp_rate_schedule(Structure):
    _fields_ = [
        ("rate", c_double),
        ("warmup", c_int64),
        ("hold", c_int64),
        ("steps", c_int64),
        ("last", c_double),
    ]


class zeroulp_tensor(Structure):
    _fields_ = [
        ("tensor", c_char_p),
        ("format", zeroulp_format),
        ("group", zeroulp_group),
        ("scaled", c_int32),
        ("scale", c_int32),
        ("made_from", c_char_p),
        ("used_by", c_char_p),
    ]


class zeroulp_named_matrix(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("matrix", zeroulp_const_matrix),
    ]


class zeroulp_cuda_matrix(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("rows", c_int64),
        ("cols", c_int64),
        ("stride", c_int64),
    ]


class zeroulp_cuda_const_matrix(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("rows", c_int64),
        ("cols", c_int64),
        ("stride", c_int64),
    ]


class zeroulp_cuda_scales(Structure):
    _fields_ = [
        ("data", POINTER(c_uint32)),
        ("stride", c_int64),
        ("layout", c_int64),
    ]


class zeroulp_cuda_const_scales(Structure):
    _fields_ = [
        ("data", POINTER(c_uint32)),
        ("stride", c_int64),
        ("layout", c_int64),
    ]


class zeroulp_cuda_quantized(Structure):
    _fields_ = [
        ("codes", zeroulp_cuda_matrix),
        ("scales", zeroulp_cuda_scales),
    ]


class zeroulp_cuda_const_quantized(Structure):
    _fields_ = [
        ("codes", zeroulp_cuda_const_matrix),
        ("scales", zeroulp_cuda_const_scales),
    ]


class zeroulp_cuda_operand(Structure):
    _fields_ = [
        ("format", zeroulp_format),
        ("codes", zeroulp_cuda_const_matrix),
        ("scales", zeroulp_const_matrix),
    ]


class zeroulp_cuda_gemm_groups(Structure):
    _fields_ = [
        ("kind", c_int64),
        ("count", c_int64),
        ("table", POINTER(c_int32)),
    ]


class zeroulp_cuda_batch_strides(Structure):
    _fields_ = [
        ("outer", c_int64),
        ("inner", c_int64),
    ]


class zeroulp_cuda_bf16_gemm(Structure):
    _fields_ = [
        ("a", zeroulp_const_matrix),
        ("b", zeroulp_const_matrix),
        ("d", zeroulp_cuda_matrix),
        ("output", zeroulp_format),
        ("splits", c_int64),
        ("span", c_int32),
        ("factor", c_uint32),
        ("row_sums", POINTER(c_uint32)),
        ("outer", c_int64),
        ("inner", c_int64),
        ("a_batch", zeroulp_cuda_batch_strides),
        ("b_batch", zeroulp_cuda_batch_strides),
        ("d_batch", zeroulp_cuda_batch_strides),
        ("row_sums_batch", zeroulp_cuda_batch_strides),
    ]


class zeroulp_cuda_mla(Structure):
    _fields_ = [
        ("heads", c_int64),
        ("plain", c_int64),
        ("turned", c_int64),
        ("value", c_int64),
        ("rank", c_int64),
    ]


zeroulp_suite_predicate = CFUNCTYPE(c_int32, c_void_p, c_char_p)


FUNCTIONS = {
    "zeroulp_abi_version": (c_int32, []),
    "zeroulp_spec_version": (c_int32, []),
    "zeroulp_version": (c_char_p, []),
    "zeroulp_last_error": (c_char_p, []),
    "zeroulp_name": (c_char_p, [c_int32, c_int64]),
    "zeroulp_value_from_name": (c_int32, [c_int32, c_char_p, POINTER(c_int32)]),
    "zeroulp_format_from_name": (c_int32, [c_char_p, POINTER(zeroulp_format)]),
    "zeroulp_format_name": (c_int32, [POINTER(zeroulp_format), c_char_p, c_size_t]),
    "zeroulp_policy_from_name": (c_int32, [c_char_p, POINTER(zeroulp_policy)]),
    "zeroulp_group_from_name": (c_int32, [c_char_p, POINTER(zeroulp_group)]),
    "zeroulp_convention_from_name": (c_int32, [c_char_p, POINTER(zeroulp_convention)]),
    "zeroulp_quantizer_from_names": (c_int32, [c_char_p, c_char_p, c_char_p, c_char_p, c_char_p, POINTER(zeroulp_quantizer)]),
    "zeroulp_path_from_name": (c_int32, [c_char_p, POINTER(zeroulp_path)]),
    "zeroulp_block_scaled_path_from_name": (c_int32, [c_char_p, POINTER(zeroulp_block_scaled_path)]),
    "zeroulp_recipe_from_name": (c_int32, [c_char_p, POINTER(zeroulp_recipe)]),
    "zeroulp_recipe_for_operands": (c_int32, [POINTER(zeroulp_recipe), POINTER(zeroulp_format), POINTER(zeroulp_format), POINTER(zeroulp_recipe)]),
    "zeroulp_recode": (c_int32, [POINTER(zeroulp_format), POINTER(zeroulp_const_matrix), POINTER(zeroulp_format), POINTER(zeroulp_matrix), c_int32, POINTER(zeroulp_policy), POINTER(zeroulp_const_matrix)]),
    "zeroulp_arithmetic": (c_int32, [c_int32, POINTER(zeroulp_format), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), c_int32, POINTER(zeroulp_policy), POINTER(zeroulp_const_matrix)]),
    "zeroulp_quantize": (c_int32, [POINTER(zeroulp_quantizer), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_quantize_by_amax": (c_int32, [POINTER(zeroulp_quantizer), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_quantize_by_scale": (c_int32, [POINTER(zeroulp_quantizer), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_group_amaxes": (c_int32, [POINTER(zeroulp_quantizer), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_make_scales": (c_int32, [POINTER(zeroulp_quantizer), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_dequantize": (c_int32, [POINTER(zeroulp_format), POINTER(zeroulp_group), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_dequantize_to": (c_int32, [POINTER(zeroulp_format), POINTER(zeroulp_group), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_format), POINTER(zeroulp_matrix)]),
    "zeroulp_retile": (c_int32, [POINTER(zeroulp_retiling), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_delayed_amax": (c_int32, [POINTER(c_uint32), c_int64, c_uint32, c_int32, c_uint32, POINTER(c_uint32)]),
    "zeroulp_layout_shape": (c_int32, [c_int32, c_int64, c_int64, POINTER(c_int64), POINTER(c_int64)]),
    "zeroulp_lay_out_scales": (c_int32, [c_int32, POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_read_scales": (c_int32, [c_int32, POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_packed_bytes": (c_int32, [c_int32, c_int64, POINTER(c_int64)]),
    "zeroulp_pack": (c_int32, [c_int32, POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_unpack": (c_int32, [c_int32, POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_block_convention_from_name": (c_int32, [c_char_p, POINTER(c_int32), POINTER(c_int32)]),
    "zeroulp_quantize_blocks": (c_int32, [c_char_p, POINTER(zeroulp_format), POINTER(zeroulp_format), c_int32, c_int32, POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_quantize_blocks_by": (c_int32, [POINTER(zeroulp_block_quantizer), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_random_words": (c_int32, [c_int32, c_int32, c_uint64, c_uint64, POINTER(zeroulp_matrix)]),
    "zeroulp_hadamard": (c_int32, [POINTER(zeroulp_hadamard_transform), POINTER(zeroulp_path), POINTER(c_int32), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_dequantize_blocks": (c_int32, [POINTER(zeroulp_format), c_int32, c_int32, POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_format), POINTER(zeroulp_matrix)]),
    "zeroulp_interleave_scales": (c_int32, [POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_separate_scales": (c_int32, [POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_step": (c_int32, [POINTER(zeroulp_path), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_gemm": (c_int32, [POINTER(zeroulp_recipe), POINTER(zeroulp_operand), POINTER(zeroulp_operand), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_multiply": (c_int32, [POINTER(zeroulp_path), POINTER(zeroulp_operand), POINTER(zeroulp_operand), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_multiply_block_scaled": (c_int32, [POINTER(zeroulp_block_scaled_path), POINTER(zeroulp_operand), POINTER(zeroulp_operand), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_gemm_block_scaled": (c_int32, [c_char_p, POINTER(zeroulp_operand), POINTER(zeroulp_const_matrix), POINTER(zeroulp_operand), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_format), POINTER(zeroulp_matrix)]),
    "zeroulp_exact_products": (c_int32, [POINTER(zeroulp_operand), POINTER(zeroulp_operand), POINTER(zeroulp_matrix)]),
    "zeroulp_compare": (c_int32, [POINTER(zeroulp_format), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_comparison)]),
    "zeroulp_measure_errors": (c_int32, [POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_errors)]),
    "zeroulp_simd_in_use": (c_int32, [POINTER(c_int32)]),
    "zeroulp_simd_is_supported": (c_int32, [c_int32, POINTER(c_int32)]),
    "zeroulp_use_simd": (c_int32, [c_int32]),
    "zeroulp_threads_in_use": (c_int32, [POINTER(c_int32)]),
    "zeroulp_use_threads": (c_int32, [c_int32]),
    "zeroulp_apply": (c_int32, [c_int32, POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_swiglu_forward": (c_int32, [POINTER(zeroulp_swiglu), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_quantized), POINTER(zeroulp_quantized), POINTER(zeroulp_quantized)]),
    "zeroulp_swiglu_backward": (c_int32, [POINTER(zeroulp_swiglu), POINTER(zeroulp_format), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_quantized), POINTER(zeroulp_const_quantized), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_quantized), POINTER(zeroulp_quantized)]),
    "zeroulp_rms_norm": (c_int32, [POINTER(zeroulp_rms_layer), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_quantized)]),
    "zeroulp_make_adamw_factors": (c_int32, [POINTER(zeroulp_adamw_settings), POINTER(zeroulp_adamw_factors)]),
    "zeroulp_adamw": (c_int32, [POINTER(zeroulp_adamw_step), c_uint64, c_uint64, POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_combine": (c_int32, [c_int32, POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_dispatch": (c_int32, [POINTER(zeroulp_quantizer), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_log": (c_int32, [POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_rms_norm_backward": (c_int32, [POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_rope": (c_int32, [c_int32, c_int32, c_int64, POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_rope_frequency": (c_int32, [c_int64, c_int64, POINTER(c_double)]),
    "zeroulp_rope_table": (c_int32, [POINTER(zeroulp_const_matrix), c_int64, POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_attention_scale": (c_int32, [c_int64, POINTER(c_uint32)]),
    "zeroulp_attention_forward": (c_int32, [POINTER(zeroulp_attention), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_attention_backward": (c_int32, [POINTER(zeroulp_attention), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_mla_forward": (c_int32, [c_int32, POINTER(zeroulp_attention), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_route": (c_int32, [POINTER(zeroulp_router), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_route_backward": (c_int32, [POINTER(zeroulp_router), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_update_bias": (c_int32, [POINTER(zeroulp_const_matrix), c_uint32, POINTER(zeroulp_matrix)]),
    "zeroulp_balance_loss": (c_int32, [c_int32, c_int64, c_uint32, POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_plan_capacity": (c_int32, [c_int64, c_int64, c_int64, POINTER(c_int64)]),
    "zeroulp_make_plan": (c_int32, [POINTER(zeroulp_const_matrix), c_int64, POINTER(zeroulp_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_slot_backward": (c_int32, [POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_cross_entropy": (c_int32, [POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), c_uint32, POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_sum_of_losses": (c_int32, [POINTER(zeroulp_const_matrix), POINTER(c_double)]),
    "zeroulp_add_shards": (c_int32, [POINTER(zeroulp_const_matrix), c_int64, POINTER(zeroulp_matrix)]),
    "zeroulp_update_average": (c_int32, [POINTER(zeroulp_const_matrix), c_uint32, POINTER(zeroulp_matrix)]),
    "zeroulp_sum_of_squares": (c_int32, [POINTER(zeroulp_const_matrix), POINTER(c_double)]),
    "zeroulp_clip_factor": (c_int32, [c_double, c_double, POINTER(c_uint32)]),
    "zeroulp_rate_of": (c_int32, [POINTER(zeroulp_rate_schedule), c_int64, POINTER(c_double)]),
    "zeroulp_dual_pipe_steps": (c_int32, [c_int64, c_int64, c_int64, POINTER(zeroulp_matrix)]),
    "zeroulp_dual_pipe_order": (c_int32, [c_int64, c_int64, c_int64, POINTER(zeroulp_matrix)]),
    "zeroulp_accumulate_micro_batches": (c_int32, [POINTER(zeroulp_const_matrix), c_int64, POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_choose_replicas": (c_int32, [POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_merge_replicas": (c_int32, [POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_indexer_logits": (c_int32, [POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), c_int64, POINTER(zeroulp_matrix)]),
    "zeroulp_indexer_keys": (c_int32, [POINTER(zeroulp_const_matrix), c_int64, POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_mtp_tokens": (c_int32, [POINTER(zeroulp_const_matrix), c_int64, c_int64, POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_mtp_input": (c_int32, [POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), c_uint32, POINTER(zeroulp_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_mtp_input_backward": (c_int32, [POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix), POINTER(zeroulp_matrix)]),
    "zeroulp_tensor_count": (c_int32, [c_char_p, POINTER(c_int64)]),
    "zeroulp_tensor_at": (c_int32, [c_char_p, c_int64, POINTER(zeroulp_tensor)]),
}


SUITE_FUNCTIONS = {
    "zeroulp_suite_text": (c_char_p, []),
    "zeroulp_suite_explain": (c_int32, [c_char_p, c_char_p, POINTER(zeroulp_named_matrix), c_int64, POINTER(zeroulp_named_matrix), c_int64, c_char_p]),
    "zeroulp_suite_identify": (c_int32, [c_char_p, c_char_p, POINTER(zeroulp_named_matrix), c_int64]),
    "zeroulp_suite_case": (c_int32, [c_char_p, c_char_p, c_char_p, c_uint64, c_uint64]),
    "zeroulp_suite_replay": (c_int32, [c_char_p]),
    "zeroulp_suite_shrink": (c_int32, [c_char_p, zeroulp_suite_predicate, c_void_p]),
}


CUDA_FUNCTIONS = {
    "zeroulp_cuda_quantize": (c_int32, [POINTER(zeroulp_quantizer), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_quantized), POINTER(zeroulp_cuda_quantized), c_void_p]),
    "zeroulp_cuda_quantize_by_amax": (c_int32, [POINTER(zeroulp_quantizer), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_quantized), POINTER(zeroulp_cuda_quantized), c_void_p]),
    "zeroulp_cuda_group_amaxes": (c_int32, [POINTER(zeroulp_quantizer), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_dequantize": (c_int32, [POINTER(zeroulp_format), POINTER(zeroulp_group), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_scales), POINTER(zeroulp_format), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_retile": (c_int32, [POINTER(zeroulp_retiling), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_scales), POINTER(zeroulp_cuda_quantized), c_void_p]),
    "zeroulp_cuda_transpose": (c_int32, [POINTER(zeroulp_format), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_scales), POINTER(zeroulp_cuda_quantized), c_void_p]),
    "zeroulp_cuda_pack": (c_int32, [c_int32, POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_unpack": (c_int32, [c_int32, POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_swiglu_forward": (c_int32, [POINTER(zeroulp_swiglu), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_quantized), POINTER(zeroulp_cuda_quantized), POINTER(zeroulp_cuda_quantized), c_void_p]),
    "zeroulp_cuda_swiglu_backward": (c_int32, [POINTER(zeroulp_swiglu), POINTER(zeroulp_format), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_quantized), POINTER(zeroulp_cuda_const_quantized), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_quantized), POINTER(zeroulp_cuda_quantized), c_void_p]),
    "zeroulp_cuda_rms_norm": (c_int32, [POINTER(zeroulp_rms_layer), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_quantized), c_void_p]),
    "zeroulp_cuda_adamw": (c_int32, [POINTER(zeroulp_adamw_step), c_uint64, c_uint64, POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_combine": (c_int32, [c_int32, POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_dispatch": (c_int32, [POINTER(zeroulp_quantizer), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_quantized), c_void_p]),
    "zeroulp_cuda_gemm": (c_int32, [POINTER(zeroulp_recipe), POINTER(zeroulp_cuda_gemm_groups), POINTER(zeroulp_cuda_operand), POINTER(zeroulp_cuda_operand), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_emulate_gemm": (c_int32, [POINTER(zeroulp_recipe), POINTER(zeroulp_cuda_operand), POINTER(zeroulp_cuda_operand), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_gemm_bf16": (c_int32, [POINTER(zeroulp_cuda_bf16_gemm), c_void_p]),
    "zeroulp_cuda_sequential_gemm": (c_int32, [c_int64, POINTER(zeroulp_const_matrix), POINTER(zeroulp_const_matrix), POINTER(zeroulp_cuda_matrix), c_void_p, c_int64, c_void_p]),
    "zeroulp_cuda_attention_work": (c_int32, [POINTER(zeroulp_attention), c_int64, c_int64, POINTER(c_int64)]),
    "zeroulp_cuda_attention_work_of_depth": (c_int32, [POINTER(zeroulp_attention), c_int64, c_int64, c_int64, POINTER(c_int64)]),
    "zeroulp_cuda_attention_forward": (c_int32, [POINTER(zeroulp_attention), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), c_void_p, c_int64, c_void_p]),
    "zeroulp_cuda_attention_backward": (c_int32, [POINTER(zeroulp_attention), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), c_void_p, c_int64, c_void_p]),
    "zeroulp_cuda_rope": (c_int32, [c_int32, c_int32, c_int64, POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_mla_assemble": (c_int32, [POINTER(zeroulp_cuda_mla), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_mla_assemble_backward": (c_int32, [POINTER(zeroulp_cuda_mla), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_rms_norm_backward": (c_int32, [POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), c_void_p, c_int64, c_void_p]),
    "zeroulp_cuda_swiglu_backward_bf16": (c_int32, [POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_route": (c_int32, [POINTER(zeroulp_router), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), c_void_p, c_int64, c_void_p]),
    "zeroulp_cuda_route_backward": (c_int32, [POINTER(zeroulp_router), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_update_bias": (c_int32, [POINTER(zeroulp_cuda_const_matrix), c_uint32, POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_make_plan": (c_int32, [POINTER(zeroulp_cuda_const_matrix), c_int64, POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), c_void_p, c_int64, c_void_p]),
    "zeroulp_cuda_gather": (c_int32, [POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_slot_backward": (c_int32, [POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_append_slot": (c_int32, [POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), c_int64, POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_embed": (c_int32, [POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_one_hot": (c_int32, [POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_log": (c_int32, [POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_cross_entropy": (c_int32, [POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), c_uint32, POINTER(zeroulp_cuda_matrix), POINTER(zeroulp_cuda_matrix), c_void_p, c_int64, c_void_p]),
    "zeroulp_cuda_sum_of_losses": (c_int32, [POINTER(zeroulp_cuda_const_matrix), POINTER(c_double), c_void_p, c_int64, c_void_p]),
    "zeroulp_cuda_sum_of_squares": (c_int32, [POINTER(zeroulp_cuda_const_matrix), POINTER(c_double), c_void_p, c_int64, c_void_p]),
    "zeroulp_cuda_add_shards": (c_int32, [POINTER(zeroulp_cuda_const_matrix), c_int64, POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_scale": (c_int32, [POINTER(zeroulp_cuda_matrix), c_uint32, c_void_p]),
    "zeroulp_cuda_add": (c_int32, [POINTER(zeroulp_format), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_widen": (c_int32, [POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_narrow": (c_int32, [POINTER(zeroulp_cuda_const_matrix), POINTER(zeroulp_cuda_matrix), c_void_p]),
    "zeroulp_cuda_expand_rows": (c_int32, [POINTER(zeroulp_cuda_const_matrix), c_int64, POINTER(zeroulp_cuda_matrix), c_void_p]),
}
