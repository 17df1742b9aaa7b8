// A plug-in for tests that keeps threads between calls, as kernels may:
// OpenMP's and one of its own that waits for work. What it computes is the
// engine's (plugin_engine.c).

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define zeroulp_plugin_table honest_table
#include "../../../tools/examples/plugin_engine.c"
#undef zeroulp_plugin_table

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int todo;
static volatile double sum;

static void* serve(void* nothing) {
  for (;;) {
    pthread_mutex_lock(&lock);
    while (todo == 0) pthread_cond_wait(&changed, &lock);
    todo = 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
  }
  return nothing;
}

static void work(void) {
  double all = 0;
#pragma omp parallel for reduction(+ : all)
  for (int i = 0; i < 100000; ++i) all += i;
  sum = all;
  static pthread_t helper;
  static int is_there;
  if (!is_there) is_there = pthread_create(&helper, NULL, serve, NULL) == 0;
  pthread_mutex_lock(&lock);
  todo = 1;
  pthread_cond_broadcast(&changed);
  while (todo != 0) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

static int32_t threaded_swiglu(const zeroulp_plugin_swiglu* r) {
  work();
  return swiglu(r);
}

static const zeroulp_plugin_claim mine[] = {
    {ZEROULP_PLUGIN_SWIGLU, NULL, NULL, {0, 0, 0}}};

ZEROULP_PLUGIN_VISIBLE const zeroulp_plugin* zeroulp_plugin_table(void) {
  static zeroulp_plugin table;
  table = *honest_table();
  table.name = "pool";
  table.claims = mine;
  table.claim_count = 1;
  table.swiglu = threaded_swiglu;
  return &table;
}
