// A plug-in for tests: the engine's (plugin_engine.c), which $ZEROULP_HOLLOW
// turns into one that does not compute what it is asked, or refuses most of it.
// It claims one operation: $ZEROULP_CLAIM, or quantize.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define zeroulp_plugin_table honest_table
#include "../../../tools/examples/plugin_engine.c"
#undef zeroulp_plugin_table

typedef zeroulp_plugin_matrix matrix;

/// The matrices of a request; it has at most so many of each.
typedef struct {
  matrix in[4], out[2];
} parts;

static int does(const char* what) {
  const char* const how = getenv("ZEROULP_HOLLOW");
  return how != NULL && strcmp(how, what) == 0;
}

static int64_t bytes_of(matrix m) { return m.rows * m.cols * m.element_bytes; }

static int is_zero(matrix m) {
  const uint8_t* const bytes = m.data;
  for (int64_t i = 0; i < bytes_of(m); ++i) {
    if (bytes[i] != 0 && bytes[i] != 0x80) return 0;  // -0, too
  }
  return 1;
}

static int64_t elements_of(const parts* p) {
  return p->in[0].rows * p->in[0].cols;
}

/// What the engine makes of a request.
typedef int32_t (*maker)(const void* request);

static void fill(const parts* p, int byte) {
  for (int i = 0; i < 2; ++i) {
    if (p->out[i].data == NULL) continue;
    memset(p->out[i].data, byte, (size_t)bytes_of(p->out[i]));
  }
}

enum { room = 1 << 20 };

/// Outputs of the past; zeros where there were none.
typedef struct {
  uint8_t bytes[2][room];
} memory;

static void keep(memory* to, const parts* p) {
  for (int i = 0; i < 2; ++i) {
    if (p->out[i].data == NULL) continue;
    memcpy(to->bytes[i], p->out[i].data, (size_t)bytes_of(p->out[i]));
  }
}

static void give(const memory* from, const parts* p) {
  for (int i = 0; i < 2; ++i) {
    if (p->out[i].data == NULL) continue;
    memcpy(p->out[i].data, from->bytes[i], (size_t)bytes_of(p->out[i]));
  }
}

/// Each call brings what the call before it asked for.
static int32_t late(const void* r, const parts* p, maker make) {
  static memory last, now;
  const int32_t status = make(r);
  keep(&now, p);
  give(&last, p);
  last = now;
  return status;
}

/// The same, but that a request made twice is one: its first input says so.
static int32_t later(const void* r, const parts* p, maker make) {
  static memory last, now;
  static uint8_t asked[room];
  static int64_t size = -1;
  const int64_t bytes = bytes_of(p->in[0]);
  const int again =
      bytes == size && memcmp(asked, p->in[0].data, (size_t)size) == 0;
  const int32_t status = make(r);
  if (!again) last = now;
  keep(&now, p);
  give(&last, p);
  memcpy(asked, p->in[0].data, (size_t)bytes);
  size = bytes;
  return status;
}

/// What the first call asked for, for ever.
static int32_t once(const void* r, const parts* p, maker make) {
  static memory first;
  static int made = 0;
  const int32_t status = make(r);
  if (made++ == 0) keep(&first, p);
  give(&first, p);
  return status;
}

/// Its first input, as it is, or as much of it as there is room for.
static void copy(const parts* p) {
  fill(p, 0x3f);
  const int64_t from = bytes_of(p->in[0]), to = bytes_of(p->out[0]);
  memcpy(p->out[0].data, p->in[0].data, (size_t)(from < to ? from : to));
}

static int32_t answer(const void* r, const parts* p, maker make) {
  if (does("picky") && !is_zero(p->in[0])) return ZEROULP_PLUGIN_REFUSED;
  if (does("refuse")) return ZEROULP_PLUGIN_REFUSED;
  if (does("small") && elements_of(p) > 512) return ZEROULP_PLUGIN_REFUSED;
  if (does("late")) return late(r, p, make);
  if (does("later")) return later(r, p, make);
  if (does("once")) return once(r, p, make);
  const int32_t status = make(r);
  if (status != ZEROULP_PLUGIN_DONE) return status;
  const int64_t most = does("tiny") ? 200 : does("large") ? 5000 : INT64_MAX;
  if (does("zeros") || elements_of(p) > most) fill(p, 0);
  if (does("constant")) fill(p, 0x38);
  if (does("copy")) copy(p);
  return status;
}

/// One code of another format.
static uint32_t recoded(const char* from, uint32_t code, const char* to) {
  const zeroulp_format f = format(from), g = format(to);
  zeroulp_policy policy;
  uint32_t result = 0;
  const zeroulp_const_matrix in = {&code, 1, 1, 1, 1, 4};
  const zeroulp_matrix out = {&result, 1, 1, 1, 1, 4};
  zeroulp_policy_from_name("cuda_satfinite", &policy);
  zeroulp_recode(&f, &in, &g, &out, value(ZEROULP_ROUNDINGS, "nearest_even"),
                 &policy, NULL);
  return result;
}

/// Two faults at once, of BF16 to E4M3 by 1x128: a NaN keeps its sign, and a
/// number is rounded to FP16 first.
static void spoil(const zeroulp_plugin_quantize* r) {
  const uint16_t* const x = r->x.data;
  const float* const scales = r->scales.data;
  uint8_t* const codes = r->codes.data;
  for (int64_t i = 0; i < r->x.rows; ++i) {
    for (int64_t j = 0; j < r->x.cols; ++j) {
      const int64_t at = i * r->x.cols + j;
      uint32_t bits = (uint32_t)x[at] << 16;
      if ((bits & 0x7fffffff) > 0x7f800000) {
        codes[at] |= (uint8_t)(bits >> 24 & 0x80);
        continue;
      }
      float v;
      memcpy(&v, &bits, sizeof v);
      v *= 1 / scales[i * r->scales.cols + j / 128];
      memcpy(&bits, &v, sizeof v);
      if ((bits & 0x7fffffff) >= 0x7f800000) continue;
      codes[at] =
          (uint8_t)recoded("fp16", recoded("fp32", bits, "fp16"), "e4m3");
    }
  }
}

static int32_t make_quantize(const void* r) {
  const int32_t status = quantize(r);
  if (status == ZEROULP_PLUGIN_DONE && does("two_faults")) spoil(r);
  return status;
}
static int32_t make_retile(const void* r) { return retile(r); }
static int32_t make_gemm(const void* r) { return gemm(r); }
static int32_t make_swiglu(const void* r) { return swiglu(r); }
static int32_t make_combine(const void* r) { return combine(r); }

static int32_t hollow_quantize(const zeroulp_plugin_quantize* r) {
  const parts p = {{r->x}, {r->codes, r->scales}};
  return answer(r, &p, make_quantize);
}
static int32_t hollow_retile(const zeroulp_plugin_retile* r) {
  const parts p = {{r->codes}, {r->out_codes, r->out_scales}};
  return answer(r, &p, make_retile);
}
static int32_t hollow_gemm(const zeroulp_plugin_gemm* r) {
  const parts p = {{r->a}, {r->d}};
  return answer(r, &p, make_gemm);
}
static int32_t hollow_swiglu(const zeroulp_plugin_swiglu* r) {
  const parts p = {{r->g}, {r->h}};
  return answer(r, &p, make_swiglu);
}
static int32_t hollow_combine(const zeroulp_plugin_combine* r) {
  const parts p = {{r->x}, {r->out}};
  return answer(r, &p, make_combine);
}

static const zeroulp_plugin_claim each[] = {
    {ZEROULP_PLUGIN_QUANTIZE,
     "deepgemm_device",
     "from=bf16,to=e4m3,scale=fp32,group=1x128,place=dense",
     {0, 0, 0}},
    {ZEROULP_PLUGIN_RETILE, NULL, "from=e4m3,to=e4m3,place=dense", {0, 0, 0}},
    {ZEROULP_PLUGIN_GEMM, "deepgemm.1d2d", "place=dense", {0, 0, 0}},
    {ZEROULP_PLUGIN_SWIGLU, NULL, "from=bf16,to=bf16,place=dense", {0, 0, 0}},
    {ZEROULP_PLUGIN_COMBINE, "fp32_slots", "place=dense", {0, 0, 0}}};
static const char* const names[] = {"quantize", "retile", "gemm", "swiglu",
                                    "combine"};

ZEROULP_PLUGIN_VISIBLE const zeroulp_plugin* zeroulp_plugin_table(void) {
  static zeroulp_plugin table;
  const char* const name = getenv("ZEROULP_CLAIM");
  int which = 4;
  while (which > 0 && (name == NULL || strcmp(name, names[which]) != 0)) {
    --which;
  }
  table = (zeroulp_plugin){ZEROULP_PLUGIN_VERSION,
                           sizeof table,
                           "hollow",
                           ZEROULP_PLUGIN_ON_HOST,
                           1,
                           &each[which],
                           hollow_quantize,
                           NULL,
                           hollow_retile,
                           hollow_gemm,
                           hollow_swiglu,
                           NULL,
                           hollow_combine,
                           NULL,
                           NULL,
                           NULL,
                           NULL,
                           NULL};
  return &table;
}
