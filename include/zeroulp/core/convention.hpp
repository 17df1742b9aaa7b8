// Defines what a quantizer convention and a GEMM recipe are, and the named
// rows.
//
// A convention says, operation by operation, how a group's amax becomes a
// stored scale and how an element becomes a code (scale.hpp, quantize.hpp). A
// recipe says when partial sums leave the tensor core and how they join an FP32
// sum (gemm.hpp). Source: SPEC clauses Q1 to Q13 and G1 to G11.

#ifndef ZEROULP_CORE_CONVENTION_HPP_
#define ZEROULP_CORE_CONVENTION_HPP_

#include "zeroulp/core/path.hpp"

namespace zeroulp {

// In the comments: `max` is the largest finite value of the target format, fl()
// rounds to FP32 nearest-even, R = fl(1 / max).

/// How the stored FP32 scale s follows from amax (after the floor).
enum class scale_rule : std::uint8_t {
  quotient,            ///< s = fl(amax / max)
  times_reciprocal,    ///< s = fl(amax * R)
  reciprocal_inverse,  ///< s = fl(1 / q), q = fl(max / amax)
  reciprocal_product,  ///< s = fl(1 / q), q = fl(max * fl(1 / amax))
};

/// How an element x becomes the number that is encoded, s being the scale.
enum class element_rule : std::uint8_t {
  exact_quotient,        ///< x / s, unrounded
  quotient,              ///< fl(x / s)
  scale_reciprocal,      ///< fl(x * fl(1 / s))
  inverse,               ///< fl(x * q), q as in the scale rules
  approximate_quotient,  ///< fl(x * rcp(s)), rcp of the GPU: PTX div.full
};

/// What a group's amax is when elements are NaN or Inf.
enum class amax_rule : std::uint8_t {
  finite_only,  ///< over the finite elements
  skip_nan,     ///< Inf counts, NaN does not
  keep_nan,     ///< a NaN makes amax NaN, and with it the scale
};

/// What a convention does where amax / max or max / amax is no positive number.
struct scale_edges {
  bool unit_of_zero = false;      ///< amax 0 gives scale 1
  bool unit_of_infinity = false;  ///< amax Inf gives scale 1
  /// q = fl(max / amax) beyond FP32 becomes the largest number of the input
  /// format, not Inf.
  bool finite_inverse = false;
  bool positive = false;     ///< a scale that rounds to 0 becomes 2^-149
  bool unit_of_nan = false;  ///< amax NaN gives scale 1

  friend constexpr bool operator==(const scale_edges&,
                                   const scale_edges&) = default;
};

inline constexpr scale_edges no_scale_edges{};
inline constexpr scale_edges all_scale_edges{.unit_of_zero = true,
                                             .unit_of_infinity = true,
                                             .finite_inverse = true,
                                             .positive = true};

/// How the exponent of a power-of-two scale follows.
enum class exponent_rule : std::uint8_t {
  exact,     ///< from amax / max, exactly
  of_scale,  ///< from the FP32 scale s
  of_log2,   ///< from fl(log2(s)): exp2(ceil(log2f(s)))
};

/// What an element is rounded to before it is encoded; beyond it: Inf.
enum class pre_rounding : std::uint8_t { none, to_bf16, to_fp16 };

/// A quantizer convention as a value.
struct convention {
  std::uint32_t amax_floor;  ///< FP32 bits; amax is at least this
  scale_rule scale;
  element_rule element;
  amax_rule amax;
  scale_edges edges = no_scale_edges;
  /// amax is reduced in BF16: elements are rounded, nearest-even, first.
  bool bf16_amax = false;
  /// Power-of-two scales unless FP32 is asked for.
  bool power_of_two = false;
  policy conversion = cuda_satfinite;  ///< of the element; nearest-even
  std::uint32_t scale_floor = 0;  ///< FP32 bits; the scale is at least this
  exponent_rule exponent = exponent_rule::exact;
  /// The quotients and products that make s and q are rounded to BF16, too.
  bool bf16_scale = false;
  /// Under a power-of-two scale q stays that of the FP32 scale.
  bool unrounded_inverse = false;
  pre_rounding through = pre_rounding::none;
  /// FP32 bits. If the format has this number, it takes the place of its
  /// largest: in scales, and where codes are clamped. 0: the format's.
  std::uint32_t largest = 0;

  friend constexpr bool operator==(const convention&,
                                   const convention&) = default;
};

/// A convention and what the program and the reports call it.
struct named_convention {
  const char* name;
  convention value;
  const char* source;
};

inline constexpr std::uint32_t floor_1e_4 = 0x38d1b717;   // fl(1e-4)
inline constexpr std::uint32_t floor_1e_10 = 0x2edbe6ff;  // fl(1e-10)
inline constexpr std::uint32_t floor_1e_12 = 0x2b8cbccc;  // fl(1e-12)
/// fl(1 / (448 * 512))
inline constexpr std::uint32_t vllm_scale_floor = 0x36924925;

inline constexpr convention zeroulp_convention{
    .amax_floor = 0,
    .scale = scale_rule::quotient,
    .element = element_rule::exact_quotient,
    .amax = amax_rule::finite_only,
    .edges = all_scale_edges,
    .conversion = keep_specials};
inline constexpr convention deepseek_v3_convention{
    .amax_floor = floor_1e_4,
    .scale = scale_rule::times_reciprocal,
    .element = element_rule::approximate_quotient,
    .amax = amax_rule::skip_nan};
inline constexpr convention deepseek_v3_first_convention{
    .amax_floor = 0,
    .scale = scale_rule::times_reciprocal,
    .element = element_rule::approximate_quotient,
    .amax = amax_rule::skip_nan};
inline constexpr convention vllm_convention{.amax_floor = floor_1e_10,
                                            .scale = scale_rule::quotient,
                                            .element = element_rule::quotient,
                                            .amax = amax_rule::skip_nan,
                                            .conversion = clamp_nan_to_lowest};
inline constexpr convention deepgemm_host_convention{
    .amax_floor = floor_1e_4,
    .scale = scale_rule::quotient,
    .element = element_rule::scale_reciprocal,
    .amax = amax_rule::keep_nan};
inline constexpr convention deepgemm_device_convention{
    .amax_floor = floor_1e_4,
    .scale = scale_rule::times_reciprocal,
    .element = element_rule::scale_reciprocal,
    .amax = amax_rule::skip_nan};
inline constexpr convention tile_kernels_convention{
    .amax_floor = floor_1e_4,
    .scale = scale_rule::quotient,
    .element = element_rule::inverse,
    .amax = amax_rule::skip_nan};
inline constexpr convention deepep_convention{
    .amax_floor = floor_1e_4,
    .scale = scale_rule::times_reciprocal,
    .element = element_rule::inverse,
    .amax = amax_rule::skip_nan};
inline constexpr convention transformer_engine_convention{
    .amax_floor = 0,
    .scale = scale_rule::reciprocal_inverse,
    .element = element_rule::inverse,
    .amax = amax_rule::skip_nan,
    .edges = all_scale_edges,
    .power_of_two = true};
inline constexpr convention torchao_convention{
    .amax_floor = floor_1e_12,
    .scale = scale_rule::reciprocal_inverse,
    .element = element_rule::inverse,
    .amax = amax_rule::keep_nan};
inline constexpr convention trt_llm_convention{
    .amax_floor = 0,
    .scale = scale_rule::reciprocal_inverse,
    .element = element_rule::inverse,
    .amax = amax_rule::skip_nan,
    .edges = {.unit_of_zero = true},
    .bf16_amax = true};

inline constexpr convention sglang_convention{
    .amax_floor = floor_1e_10,
    .scale = scale_rule::times_reciprocal,
    .element = element_rule::inverse,
    .amax = amax_rule::skip_nan,
    .exponent = exponent_rule::of_scale};
inline constexpr convention vllm_per_token_convention{
    .amax_floor = 0,
    .scale = scale_rule::quotient,
    .element = element_rule::quotient,
    .amax = amax_rule::skip_nan,
    .conversion = clamp_nan_to_largest,
    .scale_floor = vllm_scale_floor};
inline constexpr convention vllm_ue8m0_convention{
    .amax_floor = floor_1e_10,
    .scale = scale_rule::quotient,
    .element = element_rule::quotient,
    .amax = amax_rule::skip_nan,
    .power_of_two = true,
    .conversion = clamp_nan_to_lowest,
    .scale_floor = floor_1e_10,
    .exponent = exponent_rule::of_log2};
inline constexpr convention vllm_indexer_convention{
    .amax_floor = floor_1e_4,
    .scale = scale_rule::quotient,
    .element = element_rule::quotient,
    .amax = amax_rule::skip_nan,
    .power_of_two = true,
    .exponent = exponent_rule::of_log2};
inline constexpr convention vllm_fnuz_convention{
    .amax_floor = floor_1e_10,
    .scale = scale_rule::quotient,
    .element = element_rule::quotient,
    .amax = amax_rule::skip_nan,
    .conversion = clamp_nan_to_lowest,
    .largest = 0x43600000};  // 224
inline constexpr convention huggingface_convention{
    .amax_floor = 0,
    .scale = scale_rule::reciprocal_product,
    .element = element_rule::inverse,
    .amax = amax_rule::keep_nan,
    .edges = {.unit_of_zero = true, .unit_of_nan = true}};
inline constexpr convention huggingface_ue8m0_convention{
    .amax_floor = 0,
    .scale = scale_rule::reciprocal_product,
    .element = element_rule::inverse,
    .amax = amax_rule::keep_nan,
    .edges = {.unit_of_zero = true, .unit_of_nan = true},
    .power_of_two = true,
    .scale_floor = 0x00800000,  // 2^-126
    .exponent = exponent_rule::of_log2};
inline constexpr convention huggingface_unrounded_convention{
    .amax_floor = 0,
    .scale = scale_rule::reciprocal_product,
    .element = element_rule::inverse,
    .amax = amax_rule::keep_nan,
    .edges = {.unit_of_zero = true, .unit_of_nan = true},
    .exponent = exponent_rule::of_log2,
    .unrounded_inverse = true};
inline constexpr convention torch_bf16_convention{
    .amax_floor = 0,
    .scale = scale_rule::reciprocal_product,
    .element = element_rule::inverse,
    .amax = amax_rule::keep_nan,
    .bf16_amax = true,
    .bf16_scale = true,
    .through = pre_rounding::to_bf16};
inline constexpr convention vllm_triton_convention{
    .amax_floor = floor_1e_10,
    .scale = scale_rule::times_reciprocal,
    .element = element_rule::approximate_quotient,
    .amax = amax_rule::skip_nan,
    .conversion = clamp_nan_to_largest};
inline constexpr convention sglang_triton_convention{
    .amax_floor = floor_1e_10,
    .scale = scale_rule::times_reciprocal,
    .element = element_rule::approximate_quotient,
    .amax = amax_rule::skip_nan,
    .conversion = clamp_nan_to_lowest};
inline constexpr convention deepgemm_host_cuda_convention{
    .amax_floor = floor_1e_4,
    .scale = scale_rule::times_reciprocal,
    .element = element_rule::scale_reciprocal,
    .amax = amax_rule::keep_nan};

inline constexpr named_convention named_conventions[] = {
    {"zeroulp", zeroulp_convention, "ours: SPEC clause Q13"},
    {"deepseek_v3", deepseek_v3_convention,
     "DeepSeek-V3 Triton kernel, div.full; constant divisor folded to R"},
    {"deepseek_v3_first", deepseek_v3_first_convention,
     "its first release: no floor, a zero group gives NaN"},
    {"vllm", vllm_convention,
     "vLLM per-token-group kernel: clamped before the conversion, NaN too"},
    {"deepgemm_host", deepgemm_host_convention,
     "DeepGEMM host utilities (PyTorch)"},
    {"deepgemm_device", deepgemm_device_convention,
     "DeepGEMM, division by a constant folded"},
    {"tile_kernels", tile_kernels_convention, "TileKernels"},
    {"deepep", deepep_convention, "DeepEP dispatch"},
    {"transformer_engine", transformer_engine_convention,
     "Transformer Engine blockwise"},
    {"torchao", torchao_convention,
     "torchao; FP64 quotient rounded to FP32, the same bits"},
    {"trt_llm", trt_llm_convention, "TensorRT-LLM: amax reduced in BF16"},
    {"sglang", sglang_convention,
     "SGLang per-token-group kernel; pow2: next power of the FP32 scale"},
    {"vllm.per_token", vllm_per_token_convention,
     "vLLM dynamic per-token kernel: the scale is at least 1 / (448 * 512)"},
    {"vllm.ue8m0", vllm_ue8m0_convention,
     "vLLM per-token-group kernel, UE8M0: exp2(ceil(log2f(scale)))"},
    {"vllm.indexer", vllm_indexer_convention,
     "vLLM indexer's key cache: exp2(ceil(log2f(scale)))"},
    {"vllm.fnuz", vllm_fnuz_convention,
     "vLLM per-token-group kernel for e4m3fnuz: the largest number is 224"},
    {"huggingface", huggingface_convention,
     "Transformers, weights: number / tensor is number * (1 / tensor)"},
    {"torch_bf16", torch_bf16_convention,
     "PyTorch on BF16 tensors: scale and scaled element rounded to BF16"},
    {"huggingface.ue8m0", huggingface_ue8m0_convention,
     "Transformers with scale_fmt ue8m0: at least 2^-126"},
    {"huggingface.unrounded", huggingface_unrounded_convention,
     "Transformers before 5.24; pow2: codes by the unrounded scale"},
    {"vllm.triton", vllm_triton_convention,
     "vLLM per-token-group fallback in Triton"},
    {"sglang.triton", sglang_triton_convention,
     "SGLang per-token-group kernel in Triton"},
    {"deepgemm_host.cuda", deepgemm_host_cuda_convention,
     "the same on CUDA tensors, where PyTorch multiplies by fl(1 / 448)"},
};

/// How scales come about.
enum class scale_kind : std::uint8_t {
  float32,       ///< any FP32 number
  pow2,          ///< 2^ceil(log2(amax / max)): no element exceeds max
  pow2_down,     ///< 2^floor(log2(amax / max))
  pow2_nearest,  ///< 2^round(log2(amax / max))
  ocp,           ///< 2^(floor(log2(amax)) - floor(log2(max))): OCP MX
};

struct named_scale_kind {
  const char* name;
  scale_kind value;
};

inline constexpr named_scale_kind named_scale_kinds[] = {
    {"fp32", scale_kind::float32},
    {"pow2", scale_kind::pow2},
    {"pow2_down", scale_kind::pow2_down},
    {"pow2_nearest", scale_kind::pow2_nearest},
    {"ocp", scale_kind::ocp},
};

/// How a partial sum p joins the FP32 sum acc; sa, sb are the group's scales.
enum class promotion : std::uint8_t {
  add,                ///< acc = fl(acc + p); scales once at the end
  product_of_scales,  ///< acc = fma(p, fl(sa * sb), acc)
  one_then_other,     ///< acc = fma(fl(p * sa), sb, acc)
  other_then_one,     ///< acc = fma(fl(p * sb), sa, acc)
};

/// The elements that one scale covers, along M or N and along K; 0: all.
struct granularity {
  std::int32_t mn;
  std::int32_t k;
  friend constexpr bool operator==(const granularity&,
                                   const granularity&) = default;
};

inline constexpr granularity per_tensor{0, 0};
inline constexpr granularity tile_1x128{1, 128};
inline constexpr granularity block_128x128{128, 128};

/// What happens to the FP32 sum at the end.
enum class epilogue : std::uint8_t {
  store,       ///< D = output(acc)
  accumulate,  ///< D = output(fl(acc + C)), C in FP32
};

/// A GEMM recipe as a value. The accumulator applies to whatever operand
/// formats the GEMM has.
struct recipe {
  accumulator acc;
  std::int32_t interval;  ///< elements of K between promotions; 0: none
  promotion update;
  granularity a;
  granularity b;
  std::int32_t splits;  ///< K is cut into as many ranges at most, in order
  epilogue end;
  format output;  ///< fp32 or bf16, nearest-even
};

struct named_recipe {
  const char* name;
  recipe value;
  const char* source;
};

inline constexpr recipe unpromoted_recipe{.acc = hopper_fp8_f32,
                                          .interval = 0,
                                          .update = promotion::add,
                                          .a = per_tensor,
                                          .b = per_tensor,
                                          .splits = 1,
                                          .end = epilogue::store,
                                          .output = fp32};
inline constexpr recipe cublaslt_tensorwise_recipe{.acc = hopper_fp8_f32,
                                                   .interval = 128,
                                                   .update = promotion::add,
                                                   .a = per_tensor,
                                                   .b = per_tensor,
                                                   .splits = 1,
                                                   .end = epilogue::store,
                                                   .output = fp32};
inline constexpr recipe cublaslt_1x128_128x128_recipe{
    .acc = hopper_fp8_f32,
    .interval = 128,
    .update = promotion::product_of_scales,
    .a = tile_1x128,
    .b = block_128x128,
    .splits = 1,
    .end = epilogue::store,
    .output = bf16};
inline constexpr recipe cublaslt_1x128_1x128_recipe{
    .acc = hopper_fp8_f32,
    .interval = 128,
    .update = promotion::one_then_other,
    .a = tile_1x128,
    .b = tile_1x128,
    .splits = 1,
    .end = epilogue::store,
    .output = bf16};
/// K of one interval.
inline constexpr recipe cublaslt_1x128_1x128_k128_recipe{
    .acc = hopper_fp8_f32,
    .interval = 128,
    .update = promotion::other_then_one,
    .a = tile_1x128,
    .b = tile_1x128,
    .splits = 1,
    .end = epilogue::store,
    .output = bf16};
/// One row of A, which stands for a block of 128.
inline constexpr recipe cublaslt_1x128_1x128_m1_recipe{
    .acc = hopper_fp8_f32,
    .interval = 128,
    .update = promotion::product_of_scales,
    .a = block_128x128,
    .b = tile_1x128,
    .splits = 1,
    .end = epilogue::store,
    .output = bf16};
inline constexpr recipe deepgemm_1d2d_recipe{
    .acc = hopper_fp8_f32,
    .interval = 128,
    .update = promotion::product_of_scales,
    .a = tile_1x128,
    .b = block_128x128,
    .splits = 1,
    .end = epilogue::store,
    .output = bf16};
inline constexpr recipe deepgemm_1d1d_recipe{
    .acc = hopper_fp8_f32,
    .interval = 128,
    .update = promotion::product_of_scales,
    .a = tile_1x128,
    .b = tile_1x128,
    .splits = 1,
    .end = epilogue::accumulate,
    .output = fp32};
inline constexpr recipe deepseek_v3_inference_recipe{
    .acc = hopper_fp8_f32,
    .interval = 128,
    .update = promotion::one_then_other,
    .a = tile_1x128,
    .b = block_128x128,
    .splits = 1,
    .end = epilogue::store,
    .output = bf16};
inline constexpr recipe cutlass_blockwise_recipe{
    .acc = hopper_fp8_f32,
    .interval = 128,
    .update = promotion::one_then_other,
    .a = tile_1x128,
    .b = block_128x128,
    .splits = 1,
    .end = epilogue::store,
    .output = bf16};
inline constexpr recipe cutlass_blockwise_one_scale_recipe{
    .acc = hopper_fp8_f32,
    .interval = 128,
    .update = promotion::product_of_scales,
    .a = tile_1x128,
    .b = block_128x128,
    .splits = 1,
    .end = epilogue::store,
    .output = bf16};
inline constexpr recipe cutlass_fast_accumulation_recipe{
    .acc = hopper_fp8_f32,
    .interval = 0,
    .update = promotion::add,
    .a = per_tensor,
    .b = per_tensor,
    .splits = 1,
    .end = epilogue::store,
    .output = fp32};
inline constexpr recipe sequential_recipe{.acc = fp32_sequential,
                                          .interval = 0,
                                          .update = promotion::add,
                                          .a = per_tensor,
                                          .b = per_tensor,
                                          .splits = 1,
                                          .end = epilogue::store,
                                          .output = fp32};
inline constexpr recipe exact_recipe{.acc = exact_f32,
                                     .interval = 0,
                                     .update = promotion::add,
                                     .a = per_tensor,
                                     .b = per_tensor,
                                     .splits = 1,
                                     .end = epilogue::store,
                                     .output = fp32};

inline constexpr named_recipe named_recipes[] = {
    {"unpromoted", unpromoted_recipe,
     "cuBLASLt per-tensor, fast accumulation: H200"},
    {"cublaslt.tensorwise", cublaslt_tensorwise_recipe,
     "cuBLASLt per-tensor, fast accumulation off: H200"},
    {"cublaslt.1x128_128x128", cublaslt_1x128_128x128_recipe, "H200"},
    {"cublaslt.1x128_1x128", cublaslt_1x128_1x128_recipe, "H200"},
    {"cublaslt.1x128_1x128.k128", cublaslt_1x128_1x128_k128_recipe,
     "H100: where K is 128"},
    {"cublaslt.1x128_1x128.m1", cublaslt_1x128_1x128_m1_recipe,
     "H100: where M is 1 and K above 128"},
    {"deepgemm.1d2d", deepgemm_1d2d_recipe, "H200; ours for Fprop and Dgrad"},
    {"deepgemm.1d1d", deepgemm_1d1d_recipe, "H200; ours for Wgrad"},
    {"deepseek_v3.inference", deepseek_v3_inference_recipe, "published"},
    {"cutlass.blockwise", cutlass_blockwise_recipe,
     "published: several scales a tile"},
    {"cutlass.blockwise_one_scale", cutlass_blockwise_one_scale_recipe,
     "published: one scale a tile"},
    {"cutlass.fast_accumulation", cutlass_fast_accumulation_recipe,
     "published"},
    {"sequential", sequential_recipe, "FP32 fused multiply-adds in k order"},
    {"exact", exact_recipe, "the exact sum, rounded once"},
};

}  // namespace zeroulp

#endif  // ZEROULP_CORE_CONVENTION_HPP_
