// A plug-in for tests: the engine's (plugin_engine.c), which $ZEROULP_LIE turns
// into one that is wrong, or worse. It claims one operation: $ZEROULP_CLAIM, or
// quantize.

#define _GNU_SOURCE
#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define zeroulp_plugin_table honest_table
#include "../../../tools/examples/plugin_engine.c"
#undef zeroulp_plugin_table

static int lies(const char* how) {
  const char* const lie = getenv("ZEROULP_LIE");
  return lie != NULL && strcmp(lie, how) == 0;
}

typedef zeroulp_plugin_matrix matrix;

static uint8_t* at(matrix m, int64_t i, int64_t j) {
  const int64_t n = i * m.row_stride + j * m.col_stride;
  return (uint8_t*)m.data + n * m.element_bytes;
}

static void* spin(void* nothing) {
  while (getenv("ZEROULP_LIE") != NULL) continue;
  return nothing;
}
static void* doze(void* nothing) {
  for (;;) pause();
  return nothing;
}
static void* write_on(void* byte) {
  for (;;) {
    usleep(1000);
    *(volatile uint8_t*)byte = 1;
  }
  return NULL;
}

/// A thread that nobody waits for.
static void leave(void* (*thread)(void*), void* with) {
  pthread_t id;
  if (pthread_create(&id, NULL, thread, with) == 0) pthread_detach(id);
}

static sigjmp_buf behind_the_write;
static void skip(int number) { siglongjmp(behind_the_write, number); }

static void write_and_skip(uint8_t* byte) {
  struct sigaction mine;
  memset(&mine, 0, sizeof mine);
  mine.sa_handler = skip;
  sigaction(SIGSEGV, &mine, NULL);
  if (sigsetjmp(behind_the_write, 1) == 0) *(volatile uint8_t*)byte = 1;
}

static void change_modes(void) {
#if defined(__x86_64__)
  if (lies("mxcsr")) _mm_setcsr(_mm_getcsr() | 0x8040);
  if (lies("x87")) {
    const uint16_t word = 0x027f;
    __asm__ volatile("fldcw %0" : : "m"(word));
  }
#endif
  if (lies("rounding")) fesetround(FE_UPWARD);
}

/// What it leaves in its process.
static void litter(void) {
  change_modes();
  if (lies("thread")) leave(spin, NULL);
  if (lies("threads")) leave(doze, NULL);
  if (lies("fork") && fork() == 0) doze(NULL);
  if (lies("stop")) raise(SIGSTOP);
  for (int file = 3; lies("truncate") && file <= 9; ++file) {
    if (ftruncate(file, 0) != 0) continue;
  }
}

/// What it was like before the call.
static uint8_t forgotten;

static int32_t before(matrix in, matrix out) {
  if (lies("crash") && in.cols > 2) raise(SIGSEGV);
  if (lies("abort")) abort();
  if (lies("exit") && in.rows > 1) exit(3);
  while (lies("hang") && in.cols > 3) (void)getenv("ZEROULP_LIE");
  if (lies("hang_always")) doze(NULL);
  litter();
  if (lies("fail")) return 7;
  if (lies("refuse")) return ZEROULP_PLUGIN_REFUSED;
  if (out.rows > 1) forgotten = *at(out, 1, out.cols - 1);
  return ZEROULP_PLUGIN_DONE;
}

static int32_t after(int32_t status, matrix in, matrix out) {
  static uint8_t calls;
  static volatile uint8_t sink;
  const int64_t far = (int64_t)8 << 20;
  ++calls;
  if (lies("unwritten") && out.rows > 1) {
    *at(out, 1, out.cols - 1) = forgotten;
  }
  if (lies("behind")) at(out, out.rows, 0)[9] = 1;
  if (lies("before")) at(out, 0, 0)[-3] = 1;
  if (lies("between") && out.rows > 1) *at(out, 0, out.cols) = 1;
  if (lies("far")) at(out, 0, 0)[far] = 1;
  if (lies("far_before")) at(in, 0, 0)[-4 * far] = 1;
  if (lies("near")) memset(at(out, 0, 0), 1, 1 << 16);
  if (lies("handler")) write_and_skip(at(out, 0, 0) + far);
  if (lies("late")) leave(write_on, at(out, 0, 0));
  if (lies("far_read")) sink = at(in, 0, 0)[far];
  if (lies("input")) *at(in, 0, 0) ^= 1;
  if (lies("unsteady") && out.cols > 5) *at(out, 0, 5) = calls;
  return status;
}

static int32_t lie_of_quantize(const zeroulp_plugin_quantize* r) {
  zeroulp_plugin_quantize q = *r;
  q.convention = "vllm";
  const int32_t early = before(r->x, r->codes);
  return early != 0 ? early : after(quantize(&q), r->x, r->codes);
}

static int32_t lie_of_swiglu(const zeroulp_plugin_swiglu* r) {
  const int32_t early = before(r->g, r->h);
  if (early != 0) return early;
  const int32_t status = swiglu(r);
  // As if sigmoid were 1 a little too soon.
  const uint16_t g = *(const uint16_t*)r->g.data;
  if (lies("wrong") && g > 0x4170 && g < 0x41a0) *at(r->h, 0, 0) ^= 1;
  return after(status, r->g, r->h);
}

static int32_t lie_of_adamw(const zeroulp_plugin_adamw* r) {
  zeroulp_plugin_adamw q = *r;
  if (lies("wrong")) q.first += 1;
  const int32_t early = before(r->g, r->copy);
  return early != 0 ? early : after(adamw(&q), r->g, r->copy);
}

static int32_t lie_of_combine(const zeroulp_plugin_combine* r) {
  zeroulp_plugin_combine q = *r;
  if (lies("wrong")) q.rule = "bf16_hops";
  const int32_t early = before(r->x, r->out);
  return early != 0 ? early : after(combine(&q), r->x, r->out);
}

static int32_t lie_of_norm(const zeroulp_plugin_rms_norm_backward* r) {
  zeroulp_plugin_rms_norm_backward q = *r;
  // As if the gradient that arrives beside the norm were forgotten.
  if (lies("wrong")) q.residual.data = NULL;
  const int32_t early = before(r->x, r->dx);
  return early != 0 ? early : after(rms_norm_backward(&q), r->x, r->dx);
}

static int32_t lie_of_route(const zeroulp_plugin_route* r) {
  zeroulp_plugin_route q = *r;
  const int32_t early = before(r->logits, r->scores);
  if (early != 0) return early;
  const int32_t status = route(&q);
  // As if the last slot went to the next expert.
  int32_t* const last =
      (int32_t*)r->experts.data + (r->experts.cols - 1) * r->experts.col_stride;
  if (lies("wrong") && *last + 1 < r->scores.cols) *last += 1;
  return after(status, r->logits, r->scores);
}

static int32_t lie_of_attention(const zeroulp_plugin_attention_forward* r) {
  zeroulp_plugin_attention_forward q = *r;
  // As if each token of a sequence of two had a sequence of its own.
  if (lies("wrong") && q.length == 2) q.length = 1;
  const int32_t early = before(r->q, r->o);
  return early != 0 ? early : after(attention_forward(&q), r->q, r->o);
}

static const zeroulp_plugin_claim each[] = {
    {ZEROULP_PLUGIN_QUANTIZE,
     "vllm",
     "from=bf16,to=e4m3,scale=fp32,group=1x128,place=padded",
     {0, 0, 0}},
    {ZEROULP_PLUGIN_SWIGLU, NULL, "from=bf16,to=bf16,place=padded", {0, 0, 0}},
    {ZEROULP_PLUGIN_ADAMW,
     NULL,
     "gradient=bf16,moment=bf16,rounding=stochastic,place=padded",
     {0, 0, 0}},
    {ZEROULP_PLUGIN_COMBINE, "fp32_slots", "place=padded", {0, 0, 0}},
    {ZEROULP_PLUGIN_RMS_NORM_BACKWARD, NULL, "place=padded", {0, 0, 0}},
    {ZEROULP_PLUGIN_ROUTE, NULL, "score=sigmoid,place=padded", {0, 0, 0}},
    {ZEROULP_PLUGIN_ATTENTION_FORWARD,
     NULL,
     "heads=1,place=padded",
     {0, 0, 0}}};
static const char* const names[] = {
    "quantize",          "swiglu", "adamw",    "combine",
    "rms_norm_backward", "route",  "attention"};
enum { name_count = sizeof names / sizeof *names };

ZEROULP_PLUGIN_VISIBLE const zeroulp_plugin* zeroulp_plugin_table(void) {
  static zeroulp_plugin_claim mine;
  static zeroulp_plugin table;
  const char* const name = getenv("ZEROULP_CLAIM");
  int which = name_count - 1;
  while (which > 0 && (name == NULL || strcmp(name, names[which]) != 0)) {
    --which;
  }
  mine = each[which];
  table = (zeroulp_plugin){ZEROULP_PLUGIN_VERSION,
                           sizeof table,
                           "liar",
                           ZEROULP_PLUGIN_ON_HOST,
                           1,
                           &mine,
                           lie_of_quantize,
                           NULL,
                           NULL,
                           NULL,
                           lie_of_swiglu,
                           lie_of_adamw,
                           lie_of_combine,
                           lie_of_norm,
                           lie_of_route,
                           NULL,
                           lie_of_attention,
                           NULL};
  if (lies("version")) table.version = 99;
  if (lies("size")) table.size = 8;
  if (lies("odd")) table.size = 36;
  if (lies("long")) table.size += 8;
  if (lies("short")) {  // as a library of the first version, of one function
    table.version = 1;
    table.size = offsetof(zeroulp_plugin, dequantize);
  }
  if (lies("nameless")) table.name = NULL;
  if (lies("memory")) table.memory = 5;
  if (lies("claims")) table.claims = NULL;
  if (lies("operation")) mine.operation = 77;
  if (lies("function")) mine.operation = ZEROULP_PLUGIN_GEMM;
  if (lies("convention")) mine.as = "nobodys";
  if (lies("setting")) mine.settings = "fro=bf16";
  if (lies("multiple")) mine.multiple[0] = -1;
  if (lies("nothing")) mine.as = NULL;
  if (lies("device")) table.memory = ZEROULP_PLUGIN_ON_DEVICE;
  if (lies("load")) raise(SIGSEGV);
  if (lies("load_forever")) doze(NULL);
  if (lies("load_rounding")) fesetround(FE_UPWARD);
  return lies("null") ? NULL : &table;
}
