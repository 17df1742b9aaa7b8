// Holds a quantizer against the oracle, in C11:
//
//   gcc -std=c11 hold_my_quantizer.c $(pkg-config --cflags --libs zeroulp)
//
// The kernel under test stands in for yours: it rounds to FP16 on the way from
// FP32 to E4M3.
// Exit status: 0 the same bits, 1 others, 2 an error.

#include <stdio.h>
#include <stdlib.h>
#include <zeroulp/zeroulp.h>

enum { rows = 64, cols = 512, tile = 128 };

static float x[rows][cols];
static float scales[rows][cols / tile];
static uint8_t expected[rows][cols];
static uint8_t mine[rows][cols];

static void check(zeroulp_status status) {
  if (status == ZEROULP_OK) return;
  fprintf(stderr, "%s\n", zeroulp_last_error());
  exit(2);
}

/// x * fl(1 / scale), rounded twice where once was meant.
static void my_kernel(const zeroulp_format* fp32, const zeroulp_format* e4m3) {
  static float scaled[rows][cols];
  static uint16_t half[rows][cols];
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) {
      const float inverse = 1.0f / scales[i][j / tile];
      scaled[i][j] = x[i][j] * inverse;
    }
  }
  zeroulp_format fp16;
  check(zeroulp_format_from_name("fp16", &fp16));
  const zeroulp_const_matrix from = {scaled, rows, cols, cols, 1, 4};
  const zeroulp_matrix to_half = {half, rows, cols, cols, 1, 2};
  check(zeroulp_recode(fp32, &from, &fp16, &to_half, ZEROULP_NEAREST_EVEN, NULL,
                       NULL));
  const zeroulp_const_matrix from_half = {half, rows, cols, cols, 1, 2};
  const zeroulp_matrix to = {mine, rows, cols, cols, 1, 1};
  check(zeroulp_recode(&fp16, &from_half, e4m3, &to, ZEROULP_NEAREST_EVEN, NULL,
                       NULL));
}

int main(void) {
  if (zeroulp_abi_version() != ZEROULP_ABI_VERSION) {
    fprintf(stderr, "libzeroulp has ABI %d, its header %d\n",
            (int)zeroulp_abi_version(), ZEROULP_ABI_VERSION);
    return 2;
  }
  uint32_t state = 1;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) {
      state = state * 1664525u + 1013904223u;
      x[i][j] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
  }

  zeroulp_quantizer q;
  check(
      zeroulp_quantizer_from_names("fp32", "e4m3", "vllm", NULL, "1x128", &q));
  const zeroulp_const_matrix in = {x, rows, cols, cols, 1, 4};
  const zeroulp_matrix codes = {expected, rows, cols, cols, 1, 1};
  const zeroulp_matrix s = {scales, rows, cols / tile, cols / tile, 1, 4};
  check(zeroulp_quantize(&q, &in, &codes, &s));

  my_kernel(&q.from, &q.to);
  zeroulp_comparison c;
  const zeroulp_const_matrix a = {mine, rows, cols, cols, 1, 1};
  const zeroulp_const_matrix b = {expected, rows, cols, cols, 1, 1};
  check(zeroulp_compare(&q.to, &a, &b, &c));
  if (c.different == 0) {
    puts("the same bits");
    return 0;
  }
  printf(
      "%d of %d elements differ; first at (%d, %d): mine %02x, oracle %02x, "
      "%d ulps\n",
      (int)c.different, (int)c.count, (int)c.first_row, (int)c.first_col,
      (unsigned)c.first_a, (unsigned)c.first_b, (int)c.first_ulps);
  return 1;
}
