// The C ABI of the kernels from C, without a GPU: what is asked rightly fails
// with CUDA's name for that, or, where CUDA seems to have another GPU, with
// words about that; what is asked wrongly is refused before CUDA is asked.

#define _POSIX_C_SOURCE 200112L

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/tests/c_abi/cuda_c_abi_parts.h"

static int failures = 0;

/// The compute capability of the GPU that CUDA seems to have; 0: of none.
static int major = 0, minor = 0;
const char* reason = "cudaError";

// The linker binds the library to these (--wrap).
cudaError_t __wrap_cudaGetDevice(int* device);
cudaError_t __wrap_cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr what,
                                          int device);
cudaError_t __real_cudaGetDevice(int* device);
cudaError_t __real_cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr what,
                                          int device);

cudaError_t __wrap_cudaGetDevice(int* device) {
  if (major == 0) return __real_cudaGetDevice(device);
  *device = 0;
  return cudaSuccess;
}

cudaError_t __wrap_cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr what,
                                          int device) {
  if (major != 0 && what == cudaDevAttrComputeCapabilityMajor) {
    *value = major;
    return cudaSuccess;
  }
  if (major != 0 && what == cudaDevAttrComputeCapabilityMinor) {
    *value = minor;
    return cudaSuccess;
  }
  return __real_cudaDeviceGetAttribute(value, what, device);
}

void hold(const char* what, zeroulp_status status, zeroulp_status right,
          const char* words) {
  const char* text = zeroulp_last_error();
  const size_t name = strcspn(what, "(");
  if (status == right && strncmp(text, what, name) == 0 &&
      strstr(text, words) != NULL) {
    return;
  }
  printf("%.*s: status %d, not %d; \"%s\", not \"...%s...\"\n", (int)name, what,
         (int)status, (int)right, text, words);
  ++failures;
}

_Alignas(256) uint32_t memory[m * n];
#define SCALES(STRIDE) \
  { memory, STRIDE, ZEROULP_LAYOUT_ROW_MAJOR }

static const zeroulp_cuda_const_matrix in = MATRIX(n);
static const zeroulp_cuda_const_matrix none = {NULL, m, n, n};
static const zeroulp_cuda_const_matrix negative = {memory, -1, n, n};
static const zeroulp_cuda_const_matrix narrow = {memory, m, n, n - 1};
static const zeroulp_cuda_matrix out = MATRIX(n);
static const zeroulp_cuda_matrix no_output = {NULL, m, n, n};
static const zeroulp_cuda_const_scales in_scales = SCALES(2);
static const zeroulp_cuda_const_scales no_layout = {memory, 2, 4};
static const zeroulp_cuda_const_scales blocks = SCALES(4);
static const zeroulp_cuda_quantized to = {MATRIX(n), SCALES(2)};
static const zeroulp_cuda_quantized transposed = {{memory, n, m, m}, SCALES(4)};
static const zeroulp_cuda_const_quantized from = {MATRIX(n), SCALES(2)};

static zeroulp_format format_of(const char* name) {
  zeroulp_format f;
  if (zeroulp_format_from_name(name, &f) != ZEROULP_OK) abort();
  return f;
}

static zeroulp_quantizer quantizer_of(const char* group) {
  zeroulp_quantizer q;
  if (zeroulp_quantizer_from_names("bf16", "e4m3", "zeroulp", NULL, group,
                                   &q) != ZEROULP_OK) {
    abort();
  }
  return q;
}

static void test_quantize(void) {
  const zeroulp_quantizer q = quantizer_of("1x128");
  zeroulp_quantizer wrong = q;
  FAILS(zeroulp_cuda_quantize(&q, &in, &to, NULL, NULL));
  REFUSES(zeroulp_cuda_quantize(NULL, &in, &to, NULL, NULL), "quantizer");
  REFUSES(zeroulp_cuda_quantize(&q, NULL, &to, NULL, NULL), "x is NULL");
  REFUSES(zeroulp_cuda_quantize(&q, &none, &to, NULL, NULL), "no data");
  REFUSES(zeroulp_cuda_quantize(&q, &negative, &to, NULL, NULL), "negative");
  REFUSES(zeroulp_cuda_quantize(&q, &narrow, &to, NULL, NULL), "stride");
  REFUSES(zeroulp_cuda_quantize(&q, &in, NULL, NULL, NULL), "neither");
  wrong.scale = 5;
  REFUSES(zeroulp_cuda_quantize(&wrong, &in, &to, NULL, NULL), "scale");
  wrong = quantizer_of("1x64");
  REFUSES(zeroulp_cuda_quantize(&wrong, &in, &to, NULL, NULL), "groups");

  const zeroulp_cuda_const_matrix amaxes = MATRIX(2);
  const zeroulp_cuda_matrix amaxes_out = MATRIX(2);
  const zeroulp_cuda_const_matrix odd = {(char*)memory + 2, m, 2, 2};
  FAILS(zeroulp_cuda_quantize_by_amax(&q, &in, &amaxes, &to, NULL, NULL));
  REFUSES(zeroulp_cuda_quantize_by_amax(&q, &in, NULL, &to, NULL, NULL),
          "amaxes is NULL");
  REFUSES(zeroulp_cuda_quantize_by_amax(&q, &in, &odd, &to, NULL, NULL),
          "aligned");
  const zeroulp_cuda_const_matrix far = {memory, m, 2, PTRDIFF_MAX};
  const zeroulp_cuda_matrix far_out = {memory, m, 2, PTRDIFF_MAX / 16};
  const zeroulp_cuda_const_matrix back = {memory, m, 2, -2};
  REFUSES(zeroulp_cuda_quantize_by_amax(&q, &in, &far, &to, NULL, NULL),
          "amax: larger than an address space");
  REFUSES(zeroulp_cuda_quantize_by_amax(&q, &in, &back, &to, NULL, NULL),
          "amax: a negative stride");
  REFUSES(zeroulp_cuda_group_amaxes(&q, &in, &far_out, NULL),
          "amax: larger than an address space");
  FAILS(zeroulp_cuda_group_amaxes(&q, &in, &amaxes_out, NULL));
  REFUSES(zeroulp_cuda_group_amaxes(&q, &in, &out, NULL), "amax");
}

static void test_codes(void) {
  const zeroulp_format e4m3 = format_of("e4m3");
  const zeroulp_format bf16 = format_of("bf16");
  const zeroulp_group tile = {1, 128};
  FAILS(zeroulp_cuda_dequantize(&e4m3, &tile, &in, &in_scales, &bf16, &out,
                                NULL));
  REFUSES(
      zeroulp_cuda_dequantize(&e4m3, NULL, &in, &in_scales, &bf16, &out, NULL),
      "group is NULL");
  REFUSES(
      zeroulp_cuda_dequantize(&e4m3, &tile, &in, &no_layout, &bf16, &out, NULL),
      "layout");
  REFUSES(
      zeroulp_cuda_dequantize(&e4m3, &tile, &in, &in_scales, &e4m3, &out, NULL),
      "fp32");

  zeroulp_retiling r = {
      e4m3, e4m3, ZEROULP_SCALE_FP32, 128, ZEROULP_RETILE_AMAX, {0}};
  FAILS(zeroulp_cuda_retile(&r, &in, &in_scales, &transposed, NULL));
  REFUSES(zeroulp_cuda_retile(&r, &in, NULL, &transposed, NULL),
          "scales is NULL");
  REFUSES(zeroulp_cuda_retile(&r, &in, &in_scales, NULL, NULL), "out is NULL");
  r.rule = 2;
  REFUSES(zeroulp_cuda_retile(&r, &in, &in_scales, &transposed, NULL), "rule");

  FAILS(zeroulp_cuda_transpose(&e4m3, &in, &blocks, &transposed, NULL));
  REFUSES(zeroulp_cuda_transpose(&e4m3, &none, &blocks, &transposed, NULL),
          "no data");
  REFUSES(zeroulp_cuda_transpose(&e4m3, &in, &blocks, &to, NULL), "must be");

  const zeroulp_cuda_matrix packed = MATRIX(384);
  const zeroulp_cuda_const_matrix packed_in = MATRIX(384);
  FAILS(zeroulp_cuda_pack(ZEROULP_PACKING_BYTES, &in, &packed, NULL));
  FAILS(zeroulp_cuda_unpack(ZEROULP_PACKING_WORDS, &packed_in, &out, NULL));
  REFUSES(zeroulp_cuda_pack(2, &in, &packed, NULL), "packing");
  REFUSES(zeroulp_cuda_unpack(0, &in, &out, NULL), "packed");
}

static void test_swiglu(void) {
  const zeroulp_swiglu layer = {quantizer_of("1x128"), quantizer_of("1x128")};
  const zeroulp_format bf16 = format_of("bf16");
  FAILS(
      zeroulp_cuda_swiglu_forward(&layer, &in, &in, &out, &to, &to, &to, NULL));
  REFUSES(
      zeroulp_cuda_swiglu_forward(NULL, &in, &in, &out, NULL, NULL, NULL, NULL),
      "layer is NULL");
  REFUSES(zeroulp_cuda_swiglu_forward(&layer, &in, &none, &out, NULL, NULL,
                                      NULL, NULL),
          "no data");
  FAILS(zeroulp_cuda_swiglu_backward(&layer, &bf16, &in, &from, &from, &out,
                                     &out, &out, &to, &to, NULL));
  REFUSES(zeroulp_cuda_swiglu_backward(&layer, &bf16, &in, NULL, &from, &out,
                                       &out, &out, NULL, NULL, NULL),
          "g_cache is NULL");
}

static void test_rms_norm(void) {
  const zeroulp_format bf16 = format_of("bf16");
  const zeroulp_rms_layer layer = {bf16, bf16, 0x358637bd,
                                   quantizer_of("1x128")};
  const zeroulp_cuda_const_matrix w = {memory, 1, n, n};
  const zeroulp_cuda_matrix rstd = MATRIX(1);
  // Rows that are whole, that are not, and of other formats.
  const zeroulp_cuda_const_matrix cut = {memory, m, n - 1, n};
  const zeroulp_cuda_const_matrix cut_w = {memory, 1, n - 1, n};
  const zeroulp_rms_layer other = {format_of("fp32"), bf16, 0x358637bd,
                                   layer.out};
  FAILS(zeroulp_cuda_rms_norm(&layer, &in, &w, &out, &rstd, &to, NULL));
  FAILS(zeroulp_cuda_rms_norm(&layer, &cut, &cut_w, NULL, &rstd, NULL, NULL));
  FAILS(zeroulp_cuda_rms_norm(&other, &in, &w, NULL, &rstd, NULL, NULL));
  const zeroulp_cuda_matrix far_rstd = {memory, m, 1, PTRDIFF_MAX / 2};
  REFUSES(zeroulp_cuda_rms_norm(&layer, &in, &w, &out, &far_rstd, &to, NULL),
          "rstd: larger than an address space");
  REFUSES(zeroulp_cuda_rms_norm(&layer, &in, NULL, &out, &rstd, &to, NULL),
          "w is NULL");
  REFUSES(zeroulp_cuda_rms_norm(&layer, &in, &in, &out, &rstd, &to, NULL),
          "must be");
}

static void test_adamw(void) {
  zeroulp_adamw_step step;
  const zeroulp_adamw_settings settings = {1e-3, 0.9, 0.95, 1e-8, 0.1, 1};
  if (zeroulp_make_adamw_factors(&settings, &step.factors) != ZEROULP_OK) {
    abort();
  }
  step.gradient = step.moment = format_of("bf16");
  step.rounding = ZEROULP_STOCHASTIC;
  FAILS(zeroulp_cuda_adamw(&step, 1, 0, &in, &out, &out, &out, &out, NULL));
  FAILS(zeroulp_cuda_adamw(&step, 1, 0, &in, &out, &out, &out, NULL, NULL));
  REFUSES(zeroulp_cuda_adamw(NULL, 1, 0, &in, &out, &out, &out, NULL, NULL),
          "step is NULL");
  REFUSES(zeroulp_cuda_adamw(&step, 1, 0, &in, &out, NULL, &out, NULL, NULL),
          "v is NULL");
  REFUSES(
      zeroulp_cuda_adamw(&step, 1, 0, &in, &no_output, &out, &out, NULL, NULL),
      "m has no data");
  step.rounding = ZEROULP_UP;
  REFUSES(zeroulp_cuda_adamw(&step, 1, 0, &in, &out, &out, &out, NULL, NULL),
          "stochastic");
}

static void test_routing(void) {
  const zeroulp_cuda_const_matrix slots = MATRIX(8), rows = MATRIX(1);
  const zeroulp_cuda_const_matrix odd = {(char*)memory + 2, m, 8, 8};
  const int32_t once = ZEROULP_COMBINE_FP32_SLOTS;
  FAILS(zeroulp_cuda_combine(once, &in, &slots, &slots, &out, NULL));
  FAILS(zeroulp_cuda_combine(once, &in, &slots, NULL, &out, NULL));
  REFUSES(zeroulp_cuda_combine(3, &in, &slots, NULL, &out, NULL), "rule");
  REFUSES(zeroulp_cuda_combine(once, &in, NULL, NULL, &out, NULL),
          "slots is NULL");
  REFUSES(zeroulp_cuda_combine(once, &in, &odd, NULL, &out, NULL), "aligned");
  const zeroulp_quantizer q = quantizer_of("1x128");
  const zeroulp_quantizer wrong = quantizer_of("128x128");
  FAILS(zeroulp_cuda_dispatch(&q, &in, &rows, &to, NULL));
  REFUSES(zeroulp_cuda_dispatch(&wrong, &in, &rows, &to, NULL), "1x128");
  REFUSES(zeroulp_cuda_dispatch(&q, &in, &slots, &to, NULL), "rows must be");
  REFUSES(zeroulp_cuda_dispatch(&q, &in, &rows, NULL, NULL), "y is NULL");
}

static zeroulp_recipe recipe_of(const char* name) {
  zeroulp_recipe r;
  if (zeroulp_recipe_from_name(name, &r) != ZEROULP_OK) abort();
  return r;
}

static void test_gemm(void) {
  const zeroulp_recipe fprop = recipe_of("deepgemm.1d2d");
  const zeroulp_recipe wgrad = recipe_of("deepgemm.1d1d");
  const zeroulp_recipe sums = recipe_of("unpromoted");
  const zeroulp_recipe exact = recipe_of("exact");
  const zeroulp_const_matrix block = {memory, 1, 2, 2, 1, 4};
  const zeroulp_const_matrix tiles = {memory, m, 2, 1, m, 4};
  const zeroulp_const_matrix backward = {memory, m, 2, 2, -1, 4};
  const zeroulp_const_matrix narrow_scales = {memory, m, 2, 2, 1, 2};
  const zeroulp_cuda_operand a = {format_of("e4m3"), MATRIX(n), tiles};
  const zeroulp_cuda_operand b = {a.format, a.codes, block};
  const zeroulp_cuda_operand none_of_b = {a.format, none, block};
  const zeroulp_cuda_operand unscaled = {a.format, a.codes, {0}};
  const zeroulp_cuda_operand wide = {format_of("bf16"), a.codes, {0}};
  const zeroulp_const_matrix far_scales = {memory, m, 2, 2, PTRDIFF_MAX, 4};
  const zeroulp_cuda_operand far = {a.format, a.codes, far_scales};
  const zeroulp_cuda_operand turned = {a.format, a.codes, backward};
  const zeroulp_cuda_operand halves = {a.format, a.codes, narrow_scales};
  const zeroulp_cuda_const_matrix c = MATRIX(m);
  const zeroulp_cuda_matrix d = MATRIX(m);
  FAILS(zeroulp_cuda_gemm(&fprop, NULL, &a, &b, NULL, &d, NULL));
  FAILS(zeroulp_cuda_gemm(&wgrad, NULL, &a, &a, &c, &d, NULL));
  FAILS(zeroulp_cuda_gemm(&sums, NULL, &unscaled, &unscaled, NULL, &d, NULL));
  REFUSES(zeroulp_cuda_gemm(NULL, NULL, &a, &b, NULL, &d, NULL), "recipe");
  REFUSES(zeroulp_cuda_gemm(&fprop, NULL, NULL, &b, NULL, &d, NULL),
          "a is NULL");
  REFUSES(zeroulp_cuda_gemm(&fprop, NULL, &a, &b, NULL, NULL, NULL),
          "d is NULL");
  REFUSES(zeroulp_cuda_gemm(&fprop, NULL, &a, &none_of_b, NULL, &d, NULL),
          "B has no data");
  REFUSES(zeroulp_cuda_gemm(&fprop, NULL, &a, &a, NULL, &d, NULL),
          "scales of B must be");
  REFUSES(zeroulp_cuda_gemm(&fprop, NULL, &unscaled, &b, NULL, &d, NULL),
          "scales of A have no data");
  REFUSES(zeroulp_cuda_gemm(&fprop, NULL, &turned, &b, NULL, &d, NULL),
          "negative stride");
  REFUSES(zeroulp_cuda_gemm(&fprop, NULL, &far, &b, NULL, &d, NULL),
          "exceed the memory");
  REFUSES(zeroulp_cuda_emulate_gemm(&fprop, &far, &b, NULL, &d, NULL),
          "exceed the memory");
  REFUSES(zeroulp_cuda_gemm(&fprop, NULL, &halves, &b, NULL, &d, NULL),
          "bytes");
  REFUSES(zeroulp_cuda_gemm(&sums, NULL, &wide, &unscaled, NULL, &d, NULL),
          "A must be of e4m3");
  REFUSES(zeroulp_cuda_gemm(&exact, NULL, &unscaled, &unscaled, NULL, &d, NULL),
          "accumulator");
  REFUSES(zeroulp_cuda_gemm(&wgrad, NULL, &a, &a, NULL, &d, NULL), "C must be");
  REFUSES(zeroulp_cuda_gemm(&fprop, NULL, &a, &b, NULL, &out, NULL),
          "D must be");
}

static void test_grouped_gemm(void) {
  const zeroulp_recipe fprop = recipe_of("deepgemm.1d2d");
  const zeroulp_recipe wgrad = recipe_of("deepgemm.1d1d");
  const int32_t* const table = (const int32_t*)memory;
  const zeroulp_const_matrix blocks_of_two = {memory, 2, 2, 2, 1, 4};
  const zeroulp_const_matrix tiles = {memory, m, 2, 2, 1, 4};
  const zeroulp_cuda_operand a = {format_of("e4m3"), MATRIX(n), tiles};
  const zeroulp_cuda_operand b = {a.format, a.codes, blocks_of_two};
  const zeroulp_cuda_const_matrix c = {memory, 2 * m, m, m};
  const zeroulp_cuda_matrix d = {memory, m, m / 2, m / 2};
  const zeroulp_cuda_matrix two = {memory, 2 * m, m, m};
  zeroulp_cuda_gemm_groups g = {ZEROULP_CUDA_GEMM_ROWS, 2, table};
  FAILS(zeroulp_cuda_gemm(&fprop, &g, &a, &b, NULL, &d, NULL));
  g.kind = ZEROULP_CUDA_GEMM_FIRST_ROWS;
  FAILS(zeroulp_cuda_gemm(&fprop, &g, &a, &b, NULL, &d, NULL));
  g.kind = ZEROULP_CUDA_GEMM_K_RANGES;
  FAILS(zeroulp_cuda_gemm(&wgrad, &g, &a, &a, &c, &two, NULL));
  g.kind = 4;
  REFUSES(zeroulp_cuda_gemm(&fprop, &g, &a, &b, NULL, &d, NULL), "kind");
  g.kind = ZEROULP_CUDA_GEMM_ROWS;
  g.table = NULL;
  REFUSES(zeroulp_cuda_gemm(&fprop, &g, &a, &b, NULL, &d, NULL), "table");
  g.table = table;
  g.count = 0;
  REFUSES(zeroulp_cuda_gemm(&fprop, &g, &a, &b, NULL, &d, NULL), "groups");
  g.count = 3;
  REFUSES(zeroulp_cuda_gemm(&fprop, &g, &a, &b, NULL, &d, NULL), "same rows");
}

static void test_emulator(void) {
  const zeroulp_recipe r = recipe_of(zeroulp_name(ZEROULP_RECIPES, 0));
  const zeroulp_cuda_operand a = {format_of("e4m3"), MATRIX(n), {0}};
  zeroulp_cuda_operand b = a;
  const zeroulp_cuda_matrix d = MATRIX(m);
  FAILS(zeroulp_cuda_emulate_gemm(&r, &a, &b, NULL, &d, NULL));
  REFUSES(zeroulp_cuda_emulate_gemm(NULL, &a, &b, NULL, &d, NULL), "recipe");
  REFUSES(zeroulp_cuda_emulate_gemm(&r, &a, NULL, NULL, &d, NULL), "b is NULL");
  REFUSES(zeroulp_cuda_emulate_gemm(&r, &a, &b, NULL, &out, NULL), "D must be");
  b.codes.data = NULL;
  REFUSES(zeroulp_cuda_emulate_gemm(&r, &a, &b, NULL, &d, NULL), "B has no");
}

static void test_all(void) {
  test_quantize();
  test_codes();
  test_swiglu();
  test_rms_norm();
  test_adamw();
  test_routing();
  test_gemm();
  test_grouped_gemm();
  test_emulator();
  test_model();
}

int main(void) {
  static const int others[][2] = {{8, 0}, {8, 9}, {9, 1}, {10, 0}, {12, 0}};
  char text[80];
  if (setenv("CUDA_VISIBLE_DEVICES", "", 1) != 0) abort();
  test_all();
  major = 9;  // the right GPU: what CUDA is asked next fails
  reason = "CUDA: ";
  test_all();
  reason = text;
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    major = others[i][0];
    minor = others[i][1];
    snprintf(text, sizeof text,
             "needs a GPU of compute capability 9.0 (Hopper), not %d.%d", major,
             minor);
    test_all();
  }
  printf("%d failed\n", failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
