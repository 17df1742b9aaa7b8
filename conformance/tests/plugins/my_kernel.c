// What conformance/plugin/README.md calls your kernel: BF16 to E4M3 in tiles of
// 1x128 as vLLM does, by nothing but C.

#include <math.h>
#include <stdint.h>
#include <string.h>

static float to_float(uint16_t bf16) {
  const uint32_t bits = (uint32_t)bf16 << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/// Saturates; the least quantum is 2^-9.
static uint8_t to_e4m3(float x) {
  const uint8_t sign = signbit(x) ? 0x80 : 0;
  if (isnan(x)) return 0xfe;  // as fminf(fmaxf(x, -448), 448)
  const float magnitude = fminf(fabsf(x), 448.0f);
  int exponent;
  frexpf(magnitude, &exponent);
  const int quantum = magnitude < 0x1p-6f ? -9 : exponent - 4;
  const int steps = (int)rintf(ldexpf(magnitude, -quantum));
  // A carry goes into the exponent by itself.
  return (uint8_t)(sign | (magnitude < 0x1p-6f ? steps
                                               : ((quantum + 9) << 3) + steps));
}

void my_kernel(const uint16_t* x, uint8_t* codes, float* scales, int64_t rows,
               int64_t cols);

void my_kernel(const uint16_t* x, uint8_t* codes, float* scales, int64_t rows,
               int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t begin = 0; begin < cols; begin += 128) {
      const int64_t end = begin + 128 < cols ? begin + 128 : cols;
      float amax = 1e-10f;
      for (int64_t j = begin; j < end; ++j) {
        const float v = fabsf(to_float(x[i * cols + j]));
        if (v > amax) amax = v;  // no NaN, quiet or not: fmaxf knows one alone
      }
      const float scale = amax / 448.0f;
      *scales++ = scale;
      for (int64_t j = begin; j < end; ++j) {
        codes[i * cols + j] = to_e4m3(to_float(x[i * cols + j]) / scale);
      }
    }
  }
}
