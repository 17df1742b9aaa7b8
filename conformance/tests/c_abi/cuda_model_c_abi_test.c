// The C ABI of a training step's operators on the GPU, from C: see
// cuda_c_abi_test.c.

#include <stdlib.h>

#include "conformance/tests/c_abi/cuda_c_abi_parts.h"

static const zeroulp_cuda_const_matrix in = MATRIX(n);
static const zeroulp_cuda_const_matrix none = {NULL, m, n, n};
static const zeroulp_cuda_const_matrix narrow = {memory, m, n, n - 1};
static const zeroulp_cuda_const_matrix odd = {(char*)memory + 1, m, n, n};
static const zeroulp_cuda_const_matrix row = {memory, 1, n, n};
static const zeroulp_cuda_const_matrix column = MATRIX(1);
static const zeroulp_cuda_const_matrix slots = MATRIX(4);
static const zeroulp_cuda_matrix out = MATRIX(n);
static const zeroulp_cuda_matrix row_out = {memory, 1, n, n};
static const zeroulp_cuda_matrix column_out = MATRIX(1);
static const zeroulp_cuda_matrix slots_out = MATRIX(4);
static const zeroulp_cuda_matrix gaps_out = {memory, m, n, n + 8};
static const uint32_t one = 0x3f800000;

static void* const work = memory;
static void* const odd_work = (char*)memory + 8;
enum { room = m * n * 4 };

static zeroulp_format format_of(const char* name) {
  zeroulp_format f;
  if (zeroulp_format_from_name(name, &f) != ZEROULP_OK) abort();
  return f;
}

static void test_gemm_bf16(void) {
  const zeroulp_const_matrix a = {memory, m, n, n, 1, 2};
  const zeroulp_const_matrix turned = {memory, m, n, 1, m, 2};
  zeroulp_cuda_bf16_gemm g = {.a = a,
                              .b = turned,
                              .d = MATRIX(m),
                              .output = format_of("fp32"),
                              .splits = 1,
                              .factor = one,
                              .outer = 1,
                              .inner = 1};
  FAILS(zeroulp_cuda_gemm_bf16(&g, NULL));
  REFUSES(zeroulp_cuda_gemm_bf16(NULL, NULL), "gemm is NULL");
  g.span = 4;
  REFUSES(zeroulp_cuda_gemm_bf16(&g, NULL), "span");
  g.span = ZEROULP_CUDA_SPAN_LOWER;
  FAILS(zeroulp_cuda_gemm_bf16(&g, NULL));
  g.row_sums = memory;
  REFUSES(zeroulp_cuda_gemm_bf16(&g, NULL), "row sums");
  g.span = ZEROULP_CUDA_SPAN_TO_DIAGONAL;
  g.row_sums = (uint32_t*)(void*)((char*)memory + 2);
  REFUSES(zeroulp_cuda_gemm_bf16(&g, NULL), "row_sums: data is not aligned");
  g.row_sums = NULL;
  g.splits = 2;
  REFUSES(zeroulp_cuda_gemm_bf16(&g, NULL), "splits");
  g.splits = 1;
  g.a_batch.inner = -8;
  REFUSES(zeroulp_cuda_gemm_bf16(&g, NULL), "a_batch is 0, -8");
  g.a_batch.inner = 4;
  REFUSES(zeroulp_cuda_gemm_bf16(&g, NULL), "A needs one stride of 1");
  g.a_batch.inner = 0;
  g.b.row_stride = -8;
  REFUSES(zeroulp_cuda_gemm_bf16(&g, NULL), "b: a negative stride");
  g.b = a;
  g.b.element_bytes = 4;
  REFUSES(zeroulp_cuda_gemm_bf16(&g, NULL), "b: elements of 4 bytes");
  g.b = a;
  g.b.cols = 8;
  REFUSES(zeroulp_cuda_gemm_bf16(&g, NULL), "A and B differ in K");
  g.b = a;
  g.output = format_of("fp16");
  REFUSES(zeroulp_cuda_gemm_bf16(&g, NULL), "D is of fp32 or bf16");
  g.output = format_of("bf16");
  g.d.cols = n;
  REFUSES(zeroulp_cuda_gemm_bf16(&g, NULL), "D has a stride");
  g.d.stride = n;
  REFUSES(zeroulp_cuda_gemm_bf16(&g, NULL), "D must be 64 x 64");
}

static void test_sequential_gemm(void) {
  const zeroulp_const_matrix a = {memory, m, n, n, 1, 4};
  const zeroulp_const_matrix b = {memory, m, n, 1, m, 2};
  const zeroulp_const_matrix bytes = {memory, m, n, n, 1, 1};
  const zeroulp_cuda_matrix d = MATRIX(m);
  FAILS(zeroulp_cuda_sequential_gemm(0, &a, &b, &d, NULL, 0, NULL));
  FAILS(zeroulp_cuda_sequential_gemm(128, &a, &b, &d, work, room, NULL));
  REFUSES(zeroulp_cuda_sequential_gemm(128, &a, &b, &d, work, 32767, NULL),
          "work: 32767 bytes, but 32768 are needed");
  REFUSES(zeroulp_cuda_sequential_gemm(128, &a, &b, &d, NULL, room, NULL),
          "work is NULL");
  REFUSES(zeroulp_cuda_sequential_gemm(128, &a, &b, &d, odd_work, room, NULL),
          "work: not aligned to 256 bytes");
  REFUSES(zeroulp_cuda_sequential_gemm(-1, &a, &b, &d, NULL, 0, NULL),
          "interval is -1");
  REFUSES(zeroulp_cuda_sequential_gemm(0, &bytes, &b, &d, NULL, 0, NULL),
          "a: elements of 1");
  REFUSES(zeroulp_cuda_sequential_gemm(0, &a, &b, &out, NULL, 0, NULL),
          "D is m x n");
}

static void test_attention(void) {
  // Two sequences of two heads, 128 wide; values 64 wide.
  const zeroulp_attention s = {m / 2, 2, one};
  zeroulp_attention wrong = s;
  const zeroulp_cuda_const_matrix v = MATRIX(128);
  const zeroulp_cuda_const_matrix each = MATRIX(2);
  const zeroulp_cuda_const_matrix near = {(char*)memory + 2, m, n, n};
  const zeroulp_cuda_const_matrix apart = {memory, m, n, n + 4};
  const zeroulp_cuda_matrix o = MATRIX(128);
  const zeroulp_cuda_matrix each_out = MATRIX(2);
  int64_t bytes = 0;
  if (zeroulp_cuda_attention_work(&s, 64, 2, &bytes) != ZEROULP_OK ||
      bytes != 2 * (8192 + 2 * 4096 + 16384 + 256)) {
    hold("zeroulp_cuda_attention_work(", ZEROULP_OK, ZEROULP_CUDA_ERROR, "-");
  }
  REFUSES(zeroulp_cuda_attention_work(&s, 0, 2, &bytes), "value_depth is 0");
  REFUSES(zeroulp_cuda_attention_work_of_depth(&s, 0, 64, 2, &bytes),
          "depth is 0");
  int64_t of_depth = 0;
  if (zeroulp_cuda_attention_work_of_depth(&s, 96, 64, 2, &of_depth) !=
          ZEROULP_OK ||
      of_depth != bytes ||
      zeroulp_cuda_attention_work_of_depth(&s, 64, 64, 2, &of_depth) !=
          ZEROULP_OK ||
      of_depth >= 8192) {
    hold("zeroulp_cuda_attention_work_of_depth(", ZEROULP_OK,
         ZEROULP_CUDA_ERROR, "-");
  }
  REFUSES(zeroulp_cuda_attention_work(&s, 64, 2, NULL), "bytes is NULL");
  REFUSES(zeroulp_cuda_attention_work(&s, 64, INT64_MAX, &bytes),
          "exceed the memory");
  wrong.length = INT64_MAX / 2;
  REFUSES(zeroulp_cuda_attention_work(&wrong, 64, 1, &bytes),
          "exceed the memory");
#define FORWARD(SHAPE, Q, V, O, WORK, BYTES)                                \
  zeroulp_cuda_attention_forward(SHAPE, Q, &in, V, O, &each_out, &each_out, \
                                 WORK, BYTES, NULL)
  FAILS(FORWARD(&s, &in, &v, &o, work, bytes / 2));
  REFUSES(FORWARD(NULL, &in, &v, &o, work, bytes), "shape is NULL");
  REFUSES(FORWARD(&s, NULL, &v, &o, work, bytes), "q is NULL");
  REFUSES(FORWARD(&s, &none, &v, &o, work, bytes), "q: data is NULL");
  REFUSES(FORWARD(&s, &narrow, &v, &o, work, bytes), "q: a stride of 255");
  REFUSES(FORWARD(&s, &near, &v, &o, work, bytes), "q: rows do not start");
  REFUSES(FORWARD(&s, &apart, &v, &o, work, bytes), "q: rows do not start");
  REFUSES(FORWARD(&s, &in, &v, &out, work, bytes), "o: 64 x 256, but 64 x 128");
  REFUSES(FORWARD(&s, &in, &v, &o, work, bytes / 2 - 1), "holds no sequence");
  REFUSES(FORWARD(&s, &in, &v, &o, work, -1), "work: -1 bytes");
  REFUSES(FORWARD(&s, &in, &v, &o, odd_work, bytes), "work: not aligned");
  wrong.length = 48;
  REFUSES(FORWARD(&wrong, &in, &v, &o, work, bytes), "sequences of 48");
  wrong.length = m;
  wrong.heads = 64;
  REFUSES(FORWARD(&wrong, &in, &v, &o, work, bytes), "largest: 64 x 2");
  wrong.heads = 2;
  wrong.scale = 0;
  REFUSES(FORWARD(&wrong, &in, &v, &o, work, bytes), "shape.scale");
#undef FORWARD
#define BACKWARD(O, D_O, DV)                                              \
  zeroulp_cuda_attention_backward(&s, &in, &in, &v, O, &each, &each, D_O, \
                                  &out, &out, DV, work, bytes, NULL)
  FAILS(BACKWARD(&v, &v, &o));
  REFUSES(BACKWARD(NULL, &v, &o), "o is NULL");
  REFUSES(BACKWARD(&v, &in, &o), "d_o: 64 x 256, but 64 x 128");
  REFUSES(BACKWARD(&v, &v, &out), "dv: 64 x 256");
#undef BACKWARD
}

static void test_positions(void) {
  const zeroulp_cuda_const_matrix table = {memory, 8, 64, 64};
  const zeroulp_cuda_const_matrix other = {memory, 8, 32, 32};
  FAILS(zeroulp_cuda_rope(0, 0, 2, &in, &table, &table, &out, NULL));
  REFUSES(zeroulp_cuda_rope(2, 0, 2, &in, &table, &table, &out, NULL), "pairs");
  REFUSES(zeroulp_cuda_rope(0, 2, 2, &in, &table, &table, &out, NULL),
          "backward");
  REFUSES(zeroulp_cuda_rope(0, 0, 1, &in, &table, &table, &out, NULL),
          "x: 256 columns, but 1 heads of 64 pairs");
  REFUSES(zeroulp_cuda_rope(0, 0, 2, &in, &table, &other, &out, NULL), "sines");
  REFUSES(zeroulp_cuda_rope(0, 0, 2, &odd, &table, &table, &out, NULL),
          "x: data is not aligned");
  REFUSES(zeroulp_cuda_rope(0, 0, 2, &in, &table, &table, NULL, NULL),
          "y is NULL");

  // Two heads of 32 + 16, values 32 wide, a latent of 16.
  const zeroulp_cuda_mla s = {2, 32, 16, 32, 16};
  zeroulp_cuda_mla wrong = s;
  const zeroulp_cuda_const_matrix angles = {memory, 8, 8, 8};
  const zeroulp_cuda_const_matrix first = MATRIX(128), second = MATRIX(128);
  const zeroulp_cuda_const_matrix dq = MATRIX(96), dv = MATRIX(64);
  const zeroulp_cuda_matrix q = MATRIX(96), v = MATRIX(64);
  const zeroulp_cuda_matrix dfirst = MATRIX(128);
  FAILS(zeroulp_cuda_mla_assemble(&s, &angles, &angles, &first, &second, &q, &q,
                                  &v, NULL));
  FAILS(zeroulp_cuda_mla_assemble_backward(&s, &angles, &angles, &dq, &dq, &dv,
                                           &dfirst, &dfirst, NULL));
  REFUSES(zeroulp_cuda_mla_assemble(NULL, &angles, &angles, &first, &second, &q,
                                    &q, &v, NULL),
          "shape is NULL");
  REFUSES(zeroulp_cuda_mla_assemble(&s, &table, &table, &first, &second, &q, &q,
                                    &v, NULL),
          "tables are");
  REFUSES(zeroulp_cuda_mla_assemble(&s, &angles, &angles, &dv, &second, &q, &q,
                                    &v, NULL),
          "first has another shape");
  REFUSES(zeroulp_cuda_mla_assemble_backward(&s, &angles, &angles, &dq, NULL,
                                             &dv, &dfirst, &dfirst, NULL),
          "dk is NULL");
  wrong.rank = (1 << 24) + 1;
  REFUSES(zeroulp_cuda_mla_assemble(&wrong, &angles, &angles, &first, &second,
                                    &q, &q, &v, NULL),
          "shape.rank is 16777217");
  wrong = s;
  wrong.plain = 31;
  REFUSES(zeroulp_cuda_mla_assemble(&wrong, &angles, &angles, &first, &second,
                                    &q, &q, &v, NULL),
          "widths even");
}

static void test_norms(void) {
#define RMS_NORM(W, DW, WORK, BYTES)                                         \
  zeroulp_cuda_rms_norm_backward(&in, &in, W, &column, NULL, &out, DW, WORK, \
                                 BYTES, NULL)
  FAILS(RMS_NORM(&row, &row_out, work, 4 * n));
  FAILS(RMS_NORM(&row, NULL, NULL, 0));
  REFUSES(RMS_NORM(&in, NULL, NULL, 0), "w: 64 x 256, but 1 x 256");
  REFUSES(RMS_NORM(&row, &out, work, room), "dw: 64 x 256");
  REFUSES(RMS_NORM(&row, &row_out, work, 4 * n - 1), "but 1024 are needed");
#undef RMS_NORM
  FAILS(
      zeroulp_cuda_swiglu_backward_bf16(&in, &in, &in, &out, &out, &out, NULL));
  FAILS(zeroulp_cuda_swiglu_backward_bf16(&in, &in, NULL, &out, NULL, NULL,
                                          NULL));
  REFUSES(
      zeroulp_cuda_swiglu_backward_bf16(&in, &in, NULL, &out, &out, NULL, NULL),
      "dh is NULL");
  REFUSES(zeroulp_cuda_swiglu_backward_bf16(&in, &row, NULL, &out, NULL, NULL,
                                            NULL),
          "u: 1 x 256, but 64 x 256");
}

static void test_experts(void) {
  const zeroulp_router r = {0, 4, 8, 4, 0, 1, one};
  zeroulp_router wrong = r;
#define ROUTE(ROUTER, BIAS, EXPERTS, BYTES)                              \
  zeroulp_cuda_route(ROUTER, &in, BIAS, &out, EXPERTS, &slots_out, work, \
                     BYTES, NULL)
  const int64_t bytes = 4 * m * (n + 8);
  FAILS(ROUTE(&r, &row, &slots_out, bytes));
  FAILS(ROUTE(&r, NULL, &slots_out, bytes));
  REFUSES(ROUTE(NULL, NULL, &slots_out, bytes), "router is NULL");
  REFUSES(ROUTE(&r, &in, &slots_out, bytes), "bias: 64 x 256");
  REFUSES(ROUTE(&r, NULL, &out, bytes), "experts: 64 x 256, but 64 x 4");
  REFUSES(ROUTE(&r, NULL, &slots_out, bytes - 1), "work: ");
  wrong.kept = 9;
  REFUSES(ROUTE(&wrong, NULL, &slots_out, bytes), "of which 9 are kept");
#undef ROUTE
  FAILS(zeroulp_cuda_route_backward(&r, &in, &slots, &slots, &out, NULL));
  REFUSES(zeroulp_cuda_route_backward(&r, &in, &slots, &in, &out, NULL),
          "dweights: 64 x 256");
  FAILS(zeroulp_cuda_update_bias(&slots, one, &row_out, NULL));
  REFUSES(zeroulp_cuda_update_bias(&slots, one, &out, NULL), "biases");
  REFUSES(zeroulp_cuda_update_bias(NULL, one, &row_out, NULL),
          "experts is NULL");

  const zeroulp_cuda_matrix rows = {memory, 256 + 8 * 15, 1, 1};
  const zeroulp_cuda_matrix few = {memory, 256, 1, 1};
  const zeroulp_cuda_matrix ends = {memory, 9, 1, 1};
  const zeroulp_cuda_matrix many = {memory, 1026, 1, 1};
#define PLAN(ALIGN, ROWS, ENDS, BYTES)                                       \
  zeroulp_cuda_make_plan(&slots, ALIGN, ROWS, &slots_out, ENDS, work, BYTES, \
                         NULL)
  FAILS(PLAN(16, &rows, &ends, 32));
  REFUSES(PLAN(16, &rows, &ends, 31), "work: 31 bytes, but 32 are needed");
  REFUSES(PLAN(16, &few, &ends, 32), "rows: 256 x 1, but 376 x 1");
  REFUSES(PLAN(0, &rows, &ends, 32), "align is 0");
  REFUSES(PLAN(INT64_MAX, &rows, &ends, 32), "more than 2^31 - 1");
  REFUSES(PLAN(1, &rows, &many, room), "1 to 1024 experts");
#undef PLAN

  FAILS(zeroulp_cuda_gather(&in, &column, &out, NULL));
  REFUSES(zeroulp_cuda_gather(&in, &slots, &out, NULL), "rows: 64 x 4");
  REFUSES(zeroulp_cuda_gather(&in, &column, &row_out, NULL), "y: 1 x 256");
  FAILS(zeroulp_cuda_slot_backward(&in, &slots, &slots, &in, &out, &slots_out,
                                   NULL));
  REFUSES(zeroulp_cuda_slot_backward(&in, &slots, NULL, NULL, &out, NULL, NULL),
          "weights is NULL");
  REFUSES(zeroulp_cuda_slot_backward(&in, &slots, &slots, &in, &row_out, NULL,
                                     NULL),
          "y: 64 x 256, but 1 x 256");
  const zeroulp_cuda_matrix five = MATRIX(5);
  FAILS(zeroulp_cuda_append_slot(&slots, &slots, 7, &five, &five, NULL));
  FAILS(zeroulp_cuda_append_slot(&slots, NULL, 7, &five, NULL, NULL));
  REFUSES(zeroulp_cuda_append_slot(&slots, NULL, 7, &five, &five, NULL),
          "weights is NULL");
  REFUSES(zeroulp_cuda_append_slot(&slots, NULL, -1, &five, NULL, NULL),
          "first is -1");
  REFUSES(zeroulp_cuda_append_slot(&slots, NULL, 7, &slots_out, NULL, NULL),
          "all: 64 x 4, but 64 x 5");
}

static void test_losses(void) {
  double* const sum = (double*)(void*)memory;
  double* const odd_sum = (double*)(void*)((char*)memory + 4);
  FAILS(zeroulp_cuda_embed(&in, &column, &out, NULL));
  REFUSES(zeroulp_cuda_embed(&in, &slots, &out, NULL), "ids: 64 x 4");
  const zeroulp_cuda_matrix square = MATRIX(m);
  FAILS(zeroulp_cuda_one_hot(&column, &square, NULL));
  REFUSES(zeroulp_cuda_one_hot(&column, &out, NULL), "ids: 64 x 1, but 256");
  FAILS(zeroulp_cuda_log(&in, &out, NULL));
  REFUSES(zeroulp_cuda_log(&in, &row_out, NULL), "out: 1 x 256");
#define LOSSES(TARGETS, DLOGITS, BYTES)                                     \
  zeroulp_cuda_cross_entropy(&in, TARGETS, one, &column_out, DLOGITS, work, \
                             BYTES, NULL)
  FAILS(LOSSES(&column, &out, room));
  FAILS(LOSSES(&column, NULL, room));
  REFUSES(LOSSES(&column, &out, room - 1), "work: 65535 bytes");
  REFUSES(LOSSES(&slots, &out, room), "targets: 64 x 4, but 64 x 1");
  REFUSES(LOSSES(&column, &row_out, room), "dlogits: 1 x 256");
#undef LOSSES
  FAILS(zeroulp_cuda_sum_of_losses(&column, sum, work, 8, NULL));
  REFUSES(zeroulp_cuda_sum_of_losses(&column, NULL, work, 8, NULL),
          "sum is NULL");
  REFUSES(zeroulp_cuda_sum_of_losses(&column, odd_sum, work, 8, NULL),
          "sum: not aligned");
  REFUSES(zeroulp_cuda_sum_of_losses(&column, sum, work, 7, NULL),
          "work: 7 bytes, but 8 are needed");
  const zeroulp_cuda_const_matrix gaps = {memory, m, n, n + 8};
  FAILS(zeroulp_cuda_sum_of_squares(&in, sum, work, 8, NULL));
  REFUSES(zeroulp_cuda_sum_of_squares(&gaps, sum, work, 8, NULL),
          "g: rows are 264 apart, but 256 columns");
  const zeroulp_cuda_const_matrix shards[] = {in, in, in, row};
  FAILS(zeroulp_cuda_add_shards(shards, 2, &out, NULL));
  REFUSES(zeroulp_cuda_add_shards(shards, 3, &out, NULL), "count is 3");
  REFUSES(zeroulp_cuda_add_shards(shards, 4, &out, NULL),
          "shards[3]: 1 x 256, but 64 x 256");
  REFUSES(zeroulp_cuda_add_shards(NULL, 1, &out, NULL), "shards is NULL");
  FAILS(zeroulp_cuda_scale(&out, one, NULL));
  REFUSES(zeroulp_cuda_scale(&gaps_out, one, NULL), "x: rows are 264 apart");
}

static void test_elements(void) {
  const zeroulp_format bf16 = format_of("bf16"), fp32 = format_of("fp32");
  const zeroulp_format fp16 = format_of("fp16");
  FAILS(zeroulp_cuda_add(&bf16, &in, &in, &out, NULL));
  FAILS(zeroulp_cuda_add(&fp32, &in, &in, &out, NULL));
  REFUSES(zeroulp_cuda_add(&fp16, &in, &in, &out, NULL), "from: use bf16");
  REFUSES(zeroulp_cuda_add(&bf16, &in, &row, &out, NULL), "b: 1 x 256");
  FAILS(zeroulp_cuda_widen(&in, &out, NULL));
  REFUSES(zeroulp_cuda_widen(&in, &gaps_out, NULL), "y: rows are 264 apart");
  FAILS(zeroulp_cuda_narrow(&in, &out, NULL));
  REFUSES(zeroulp_cuda_narrow(&in, &row_out, NULL), "y: 1 x 256");
  FAILS(zeroulp_cuda_expand_rows(&row, m, &out, NULL));
  REFUSES(zeroulp_cuda_expand_rows(&row, 32, &out, NULL),
          "blocks: 1 x 256, but 2 x 256");
  REFUSES(zeroulp_cuda_expand_rows(&row, 0, &out, NULL), "each is 0");
}

void test_model(void) {
  test_gemm_bf16();
  test_sequential_gemm();
  test_attention();
  test_positions();
  test_norms();
  test_experts();
  test_losses();
  test_elements();
}
