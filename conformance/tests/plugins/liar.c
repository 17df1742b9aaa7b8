// A plug-in for tests: an honest quantizer, BF16 to E4M3 in tiles of 1x128 as
// vLLM does, which $ZEROULP_LIE turns into one that is wrong, or worse.

#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zeroulp/plugin.h>

static int lies(const char* how) {
  const char* const lie = getenv("ZEROULP_LIE");
  return lie != NULL && strcmp(lie, how) == 0;
}

static float to_float(uint16_t bf16) {
  const uint32_t bits = (uint32_t)bf16 << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/// Saturates; the least quantum is 2^-9.
static uint8_t to_e4m3(float x) {
  const uint8_t sign = signbit(x) ? 0x80 : 0;
  if (isnan(x)) return 0x7f;  // as NVIDIA's conversion
  const float magnitude = fminf(fabsf(x), 448.0f);
  int exponent;
  frexpf(magnitude, &exponent);
  const int quantum = magnitude < 0x1p-6f ? -9 : exponent - 4;
  const int steps = (int)rintf(ldexpf(magnitude, -quantum));
  // A carry goes into the exponent by itself.
  return (uint8_t)(sign | (magnitude < 0x1p-6f ? steps
                                               : ((quantum + 9) << 3) + steps));
}

static int32_t quantize(const zeroulp_plugin_quantize* r) {
  static int calls;
  ++calls;
  const uint16_t* const x = r->x.data;
  uint8_t* const codes = r->codes.data;
  float* const scales = r->scales.data;
  if (lies("crash") && r->x.cols > 2) raise(SIGSEGV);
  if (lies("abort")) abort();
  if (lies("exit") && r->x.rows > 1) exit(3);
  if (lies("fail")) return 7;
  if (lies("refuse")) return ZEROULP_PLUGIN_REFUSED;
  for (int64_t i = 0; i < r->x.rows; ++i) {
    for (int64_t g = 0; g < r->scales.cols; ++g) {
      const int64_t begin = 128 * g;
      const int64_t end = begin + 128 < r->x.cols ? begin + 128 : r->x.cols;
      float amax = 1e-10f;
      for (int64_t j = begin; j < end; ++j) {
        const float v = fabsf(to_float(x[i * r->x.row_stride + j]));
        if (v > amax) amax = v;
      }
      const float s = amax / 448.0f;
      scales[i * r->scales.row_stride + g] = s;
      for (int64_t j = begin; j < end; ++j) {
        const float v = to_float(x[i * r->x.row_stride + j]);
        while (lies("hang") && v == 0) (void)time(NULL);
        if (lies("unwritten") && i == 1 && j == end - 1) continue;
        const float q = lies("wrong") ? v * (1.0f / s) : v / s;
        codes[i * r->codes.row_stride + j] = to_e4m3(q);
      }
    }
  }
  if (lies("behind")) codes[r->codes.rows * r->codes.row_stride + 9] = 1;
  if (lies("before")) codes[-3] = 1;
  if (lies("between") && r->scales.rows > 1) scales[r->scales.cols] = 1;
  if (lies("input")) ((uint16_t*)r->x.data)[0] ^= 1;
  if (lies("unsteady") && r->x.cols > 5) codes[5] = (uint8_t)calls;
  return ZEROULP_PLUGIN_DONE;
}

const zeroulp_plugin* zeroulp_plugin_table(void) {
  static zeroulp_plugin_claim claim = {
      ZEROULP_PLUGIN_QUANTIZE,
      "vllm",
      "from=bf16,to=e4m3,scale=fp32,group=1x128,place=padded",
      {0, 0, 0}};
  static zeroulp_plugin mine;
  mine = (zeroulp_plugin){ZEROULP_PLUGIN_VERSION,
                          sizeof mine,
                          "liar",
                          ZEROULP_PLUGIN_ON_HOST,
                          1,
                          &claim,
                          quantize,
                          NULL,
                          NULL,
                          NULL,
                          NULL,
                          NULL,
                          NULL};
  if (lies("version")) mine.version = 99;
  if (lies("size")) mine.size = 8;
  if (lies("nameless")) mine.name = NULL;
  if (lies("memory")) mine.memory = 5;
  if (lies("claims")) mine.claims = NULL;
  if (lies("operation")) claim.operation = 77;
  if (lies("function")) claim.operation = ZEROULP_PLUGIN_GEMM;
  if (lies("convention")) claim.as = "nobodys";
  if (lies("setting")) claim.settings = "fro=bf16";
  if (lies("multiple")) claim.multiple[0] = -1;
  if (lies("nothing")) claim.as = NULL;
  if (lies("device")) mine.memory = ZEROULP_PLUGIN_ON_DEVICE;
  if (lies("load")) raise(SIGSEGV);
  return lies("null") ? NULL : &mine;
}
