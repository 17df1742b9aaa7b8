// The C ABI of the functions that run on a GPU of compute capability 9.0
// (Hopper), bit-equal to the functions of zeroulp.h: quantization and the
// formats around it, the training path, GEMM and the emulator of the tensor
// core. zeroulp_cuda_model.h has the other operators of a training step.
//
//   zeroulp_cuda_const_matrix x = {x_on_gpu, 4096, 7168, 7168};
//   zeroulp_cuda_quantized y = {{codes, 4096, 7168, 7168},
//                               {scales, 56, ZEROULP_LAYOUT_ROW_MAJOR}};
//   if (zeroulp_cuda_quantize(&q, &x, &y, NULL, stream) != ZEROULP_OK)
//     puts(zeroulp_last_error());
//
// As zeroulp.h, with these differences:
//
// Memory    Matrices are in device memory, the structs themselves on the host.
//           Outputs overlap nothing; a matrix that is updated is an output.
// Streams   Work goes to `stream`, a cudaStream_t, or NULL for the default one.
//           Calls allocate nothing and do not wait. Nothing is launched unless
//           the whole call can be served.
// Errors    ZEROULP_CUDA_ERROR: errors that CUDA reports, also those pending
//           from an earlier call, and a missing or unsuitable GPU.
//
// The functions are in libzeroulp_cuda.a, which needs libzeroulp and CUDA's
// runtime: by CMake, find_package(zeroulp COMPONENTS cuda) and zeroulp::cuda.

#ifndef ZEROULP_ZEROULP_CUDA_H_
#define ZEROULP_ZEROULP_CUDA_H_

#include "zeroulp/zeroulp.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A row-major matrix. Element (i, j) is i * stride + j elements after `data`.
/// Elements take 1 byte for formats of up to 8 bits, 2 bytes up to 16 bits,
/// else 4; `data` is aligned to them. Fastest if rows start on multiples of 16
/// bytes.
typedef struct zeroulp_cuda_matrix {
  void* data;
  int64_t rows;
  int64_t cols;
  int64_t stride;
} zeroulp_cuda_matrix;

/// The same, to be read.
typedef struct zeroulp_cuda_const_matrix {
  const void* data;
  int64_t rows;
  int64_t cols;
  int64_t stride;
} zeroulp_cuda_const_matrix;

/// Scales in the words of zeroulp_layout_shape. `stride`: words from one row of
/// words to the next.
typedef struct zeroulp_cuda_scales {
  uint32_t* data;
  int64_t stride;
  int64_t layout;  ///< zeroulp_scale_layout
} zeroulp_cuda_scales;

/// The same, to be read.
typedef struct zeroulp_cuda_const_scales {
  const uint32_t* data;
  int64_t stride;
  int64_t layout;  ///< zeroulp_scale_layout
} zeroulp_cuda_const_scales;

/// The output codes and scales of a matrix.
typedef struct zeroulp_cuda_quantized {
  zeroulp_cuda_matrix codes;
  zeroulp_cuda_scales scales;
} zeroulp_cuda_quantized;

/// The same, to be read.
typedef struct zeroulp_cuda_const_quantized {
  zeroulp_cuda_const_matrix codes;
  zeroulp_cuda_const_scales scales;
} zeroulp_cuda_const_quantized;

// Quantization, from fp32, bf16 or fp16 to e4m3, e5m2 or e5m6.

/// y = x quantized, yt = the transpose of x quantized, in one pass over x;
/// either may be NULL. Groups are 1x128, 128x1 or 128x128.
ZEROULP_API zeroulp_status zeroulp_cuda_quantize(
    const zeroulp_quantizer* quantizer, const zeroulp_cuda_const_matrix* x,
    const zeroulp_cuda_quantized* y, const zeroulp_cuda_quantized* yt,
    void* stream);
/// Quantizes by given amaxes (FP32, one for each group of x): delayed scaling.
/// yt is the transpose of y. The group may also be the whole matrix.
ZEROULP_API zeroulp_status zeroulp_cuda_quantize_by_amax(
    const zeroulp_quantizer* quantizer, const zeroulp_cuda_const_matrix* x,
    const zeroulp_cuda_const_matrix* amaxes, const zeroulp_cuda_quantized* y,
    const zeroulp_cuda_quantized* yt, void* stream);
ZEROULP_API zeroulp_status zeroulp_cuda_group_amaxes(
    const zeroulp_quantizer* quantizer, const zeroulp_cuda_const_matrix* x,
    const zeroulp_cuda_matrix* amaxes, void* stream);
/// out = code * scale, in fp32 or, rounded again, bf16. Groups are 1x128,
/// 128x1, 128x128 or the whole matrix.
ZEROULP_API zeroulp_status zeroulp_cuda_dequantize(
    const zeroulp_format* from, const zeroulp_group* group,
    const zeroulp_cuda_const_matrix* codes,
    const zeroulp_cuda_const_scales* scales, const zeroulp_format* to,
    const zeroulp_cuda_matrix* out, void* stream);
/// Re-tiles m x n codes with a scale for each 1x128 to n x m codes with a scale
/// for each 1x128; the tile is 128.
ZEROULP_API zeroulp_status zeroulp_cuda_retile(
    const zeroulp_retiling* retiling, const zeroulp_cuda_const_matrix* codes,
    const zeroulp_cuda_const_scales* scales, const zeroulp_cuda_quantized* out,
    void* stream);
/// Transposes weights: codes (of 1 or 2 bytes) and their 128x128 scales.
ZEROULP_API zeroulp_status zeroulp_cuda_transpose(
    const zeroulp_format* element, const zeroulp_cuda_const_matrix* codes,
    const zeroulp_cuda_const_scales* scales, const zeroulp_cuda_quantized* out,
    void* stream);
/// 12-bit codes, 2 bytes each, to and from zeroulp_packed_bytes a row.
ZEROULP_API zeroulp_status
zeroulp_cuda_pack(int32_t packing, const zeroulp_cuda_const_matrix* codes,
                  const zeroulp_cuda_matrix* packed, void* stream);
ZEROULP_API zeroulp_status
zeroulp_cuda_unpack(int32_t packing, const zeroulp_cuda_const_matrix* packed,
                    const zeroulp_cuda_matrix* codes, void* stream);

// The training path. Quantized outputs come from the same pass, but only from
// bf16, in groups of 1x128. Outputs that are NULL are left out.

/// Computes the values h (layer.out.from) from g and u (layer.cache.from), h
/// quantized, and g and u quantized.
ZEROULP_API zeroulp_status zeroulp_cuda_swiglu_forward(
    const zeroulp_swiglu* layer, const zeroulp_cuda_const_matrix* g,
    const zeroulp_cuda_const_matrix* u, const zeroulp_cuda_matrix* h,
    const zeroulp_cuda_quantized* h_out, const zeroulp_cuda_quantized* g_cache,
    const zeroulp_cuda_quantized* u_cache, void* stream);
/// Computes the values h, dg and du (layer.out.from) from dh (of `from`) and
/// the cached g and u, and dg and du quantized. h alone needs no data of dh.
ZEROULP_API zeroulp_status zeroulp_cuda_swiglu_backward(
    const zeroulp_swiglu* layer, const zeroulp_format* from,
    const zeroulp_cuda_const_matrix* dh,
    const zeroulp_cuda_const_quantized* g_cache,
    const zeroulp_cuda_const_quantized* u_cache, const zeroulp_cuda_matrix* h,
    const zeroulp_cuda_matrix* dg, const zeroulp_cuda_matrix* du,
    const zeroulp_cuda_quantized* dg_out, const zeroulp_cuda_quantized* du_out,
    void* stream);
/// For each row of x (layer.from), with w 1 x n (layer.weight), computes y
/// (layer.out.from), its factor (FP32, m x 1) and y quantized.
ZEROULP_API zeroulp_status zeroulp_cuda_rms_norm(
    const zeroulp_rms_layer* layer, const zeroulp_cuda_const_matrix* x,
    const zeroulp_cuda_const_matrix* w, const zeroulp_cuda_matrix* y,
    const zeroulp_cuda_matrix* rstd, const zeroulp_cuda_quantized* out,
    void* stream);
/// As zeroulp_adamw: gradient and moments are of fp32 or bf16, the rounding is
/// nearest-even or stochastic.
ZEROULP_API zeroulp_status zeroulp_cuda_adamw(
    const zeroulp_adamw_step* step, uint64_t seed, uint64_t first,
    const zeroulp_cuda_const_matrix* g, const zeroulp_cuda_matrix* m,
    const zeroulp_cuda_matrix* v, const zeroulp_cuda_matrix* w,
    const zeroulp_cuda_matrix* copy, void* stream);
/// As zeroulp_combine. `slots` (4-byte integers) are read on the device, where
/// they cannot be refused. One that is neither -1 nor a row of x is never
/// followed; it makes its whole row of `out` NaN. `weights` may be NULL.
ZEROULP_API zeroulp_status
zeroulp_cuda_combine(int32_t rule, const zeroulp_cuda_const_matrix* x,
                     const zeroulp_cuda_const_matrix* slots,
                     const zeroulp_cuda_const_matrix* weights,
                     const zeroulp_cuda_matrix* out, void* stream);
/// As zeroulp_dispatch, from bf16, in groups of 1x128. `rows` is m x 1, 4-byte
/// integers. One that is neither -1 nor a row of x gives codes 0 and scales
/// NaN.
ZEROULP_API zeroulp_status zeroulp_cuda_dispatch(
    const zeroulp_quantizer* quantizer, const zeroulp_cuda_const_matrix* x,
    const zeroulp_cuda_const_matrix* rows, const zeroulp_cuda_quantized* y,
    void* stream);

// GEMM, by the tensor core and by its emulator.

/// An operand of D = A B^T: mn x k codes and FP32 scales, one for each of the
/// recipe's groups. NULL data: no scales. No stride of the scales is negative.
typedef struct zeroulp_cuda_operand {
  zeroulp_format format;
  zeroulp_cuda_const_matrix codes;
  zeroulp_const_matrix scales;
} zeroulp_cuda_operand;

/// How several GEMMs share a launch: SPEC, G13.
enum zeroulp_cuda_gemm_kind {
  ZEROULP_CUDA_GEMM_ONE = 0,         ///< one GEMM
  ZEROULP_CUDA_GEMM_ROWS = 1,        ///< rows [table[g], table[g + 1]) of A
  ZEROULP_CUDA_GEMM_FIRST_ROWS = 2,  ///< the first table[g] rows of each A
  ZEROULP_CUDA_GEMM_K_RANGES = 3     ///< elements [table[g], table[g + 1]) of K
};

typedef struct zeroulp_cuda_gemm_groups {
  int64_t kind;   ///< zeroulp_cuda_gemm_kind
  int64_t count;  ///< number of groups; 1 for ZEROULP_CUDA_GEMM_ONE
  /// count + 1 entries (FIRST_ROWS: count), read on the device, where they
  /// cannot be refused. No entry makes a kernel access memory outside the
  /// matrices.
  const int32_t* table;
} zeroulp_cuda_gemm_groups;

/// D = A B^T as zeroulp_gemm computes it, on Hopper's tensor cores. NULL
/// `groups`: one GEMM. A and B are e4m3 or e5m2, with rows that start on
/// multiples of 16 bytes. The accumulator is Hopper's for FP8; K is not split.
///
/// Either the interval is 128, A has a scale for each 1x128, and B for each
/// 1x128 or 128x128. Or the promotion is ZEROULP_PROMOTION_ADD, the interval is
/// 0 or a power of two from 32, and the only scales are those of whole
/// matrices. Several groups need ZEROULP_PROMOTION_PRODUCT_OF_SCALES.
///
/// D is of recipe.output, fp32 or bf16. `c`, FP32, may be D if D is FP32, or
/// NULL unless the epilogue accumulates.
ZEROULP_API zeroulp_status zeroulp_cuda_gemm(
    const zeroulp_recipe* recipe, const zeroulp_cuda_gemm_groups* groups,
    const zeroulp_cuda_operand* a, const zeroulp_cuda_operand* b,
    const zeroulp_cuda_const_matrix* c, const zeroulp_cuda_matrix* d,
    void* stream);
/// The same for any recipe and operands, on ordinary GPU cores. C and D have
/// the layout of zeroulp_cuda_gemm, so that one function can replace the other.
ZEROULP_API zeroulp_status zeroulp_cuda_emulate_gemm(
    const zeroulp_recipe* recipe, const zeroulp_cuda_operand* a,
    const zeroulp_cuda_operand* b, const zeroulp_cuda_const_matrix* c,
    const zeroulp_cuda_matrix* d, void* stream);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ZEROULP_ZEROULP_CUDA_H_
