// The engine of zeroulp as a plug-in, in C11: what an honest one looks like
// that serves every setting.
//
//   flags=$(pkg-config --cflags --libs zeroulp)
//   gcc -std=c11 -shared -fPIC -o plugin_engine.so plugin_engine.c $flags
//   zeroulp conform --plugin ./plugin_engine.so
//
// It claims each convention, recipe and rule by its name, and follows the name
// that a request brings.

#include <string.h>
#include <zeroulp/plugin.h>
#include <zeroulp/zeroulp.h>
#include <zeroulp/zeroulp_model.h>

static zeroulp_const_matrix in(zeroulp_plugin_matrix m) {
  return (zeroulp_const_matrix){m.data,       m.rows,       m.cols,
                                m.row_stride, m.col_stride, m.element_bytes};
}

static zeroulp_matrix out(zeroulp_plugin_matrix m) {
  return (zeroulp_matrix){m.data,       m.rows,       m.cols,
                          m.row_stride, m.col_stride, m.element_bytes};
}

static zeroulp_format format(const char* name) {
  zeroulp_format f = {0, 0, 0, 0};
  zeroulp_format_from_name(name, &f);  // a bad one is refused by what takes it
  return f;
}

static zeroulp_group group(int64_t rows, int64_t cols) {
  return (zeroulp_group){(int32_t)rows, (int32_t)cols};
}

static int32_t value(int32_t table, const char* name) {
  int32_t v = -1;
  zeroulp_value_from_name(table, name, &v);
  return v;
}

/// What the library does not take, such as codes without a sign, is refused.
static int32_t status_of(zeroulp_status s) {
  return s == ZEROULP_OK                 ? ZEROULP_PLUGIN_DONE
         : s == ZEROULP_INVALID_ARGUMENT ? ZEROULP_PLUGIN_REFUSED
                                         : 2;
}

static int32_t quantize(const zeroulp_plugin_quantize* r) {
  zeroulp_quantizer q;
  const zeroulp_status s = zeroulp_quantizer_from_names(
      r->from, r->to, r->convention, r->scale, "1x1", &q);
  if (s != ZEROULP_OK) return status_of(s);
  q.group = group(r->group_rows, r->group_cols);
  const zeroulp_const_matrix x = in(r->x);
  const zeroulp_matrix codes = out(r->codes), scales = out(r->scales);
  return status_of(zeroulp_quantize(&q, &x, &codes, &scales));
}

static int32_t dequantize(const zeroulp_plugin_dequantize* r) {
  const zeroulp_format from = format(r->from);
  const zeroulp_group by = group(r->group_rows, r->group_cols);
  const zeroulp_const_matrix codes = in(r->codes), scales = in(r->scales);
  const zeroulp_matrix x = out(r->x);
  return status_of(zeroulp_dequantize(&from, &by, &codes, &scales, &x));
}

static int32_t retile(const zeroulp_plugin_retile* r) {
  const zeroulp_retiling t = {format(r->from),
                              format(r->to),
                              value(ZEROULP_SCALE_KINDS, r->scale),
                              (int32_t)r->tile,
                              value(ZEROULP_RETILE_RULES, r->rule),
                              {0}};
  const zeroulp_const_matrix codes = in(r->codes), scales = in(r->scales);
  const zeroulp_matrix to = out(r->out_codes), by = out(r->out_scales);
  return status_of(zeroulp_retile(&t, &codes, &scales, &to, &by));
}

static int32_t gemm(const zeroulp_plugin_gemm* r) {
  zeroulp_recipe how;
  const zeroulp_status s = zeroulp_recipe_from_name(r->recipe, &how);
  if (s != ZEROULP_OK) return status_of(s);
  const zeroulp_operand a = {format(r->a_format), in(r->a), in(r->a_scales)};
  const zeroulp_operand b = {format(r->b_format), in(r->b), in(r->b_scales)};
  const zeroulp_const_matrix c = in(r->c);
  const zeroulp_matrix d = out(r->d);
  return status_of(zeroulp_gemm(&how, &a, &b, r->accumulate ? &c : NULL, &d));
}

static int32_t swiglu(const zeroulp_plugin_swiglu* r) {
  zeroulp_swiglu layer;
  zeroulp_quantizer_from_names(r->from, "e4m3", "zeroulp", NULL, "1x128",
                               &layer.cache);
  zeroulp_quantizer_from_names(r->to, "e4m3", "zeroulp", NULL, "1x128",
                               &layer.out);
  const zeroulp_const_matrix g = in(r->g), u = in(r->u);
  const zeroulp_matrix h = out(r->h);
  return status_of(
      zeroulp_swiglu_forward(&layer, &g, &u, &h, NULL, NULL, NULL));
}

static int32_t adamw(const zeroulp_plugin_adamw* r) {
  const zeroulp_adamw_step step = {
      {(uint32_t)r->one_minus_beta1, (uint32_t)r->one_minus_beta2,
       (uint32_t)r->inverse_sqrt_bias2, (uint32_t)r->eps, (uint32_t)r->decay,
       (uint32_t)r->step},
      format(r->gradient),
      format(r->moment),
      value(ZEROULP_ROUNDINGS, r->rounding)};
  const zeroulp_const_matrix g = in(r->g);
  const zeroulp_matrix m = out(r->m), v = out(r->v), w = out(r->w);
  const zeroulp_matrix copy = out(r->copy);
  return status_of(zeroulp_adamw(&step, (uint64_t)r->seed, (uint64_t)r->first,
                                 &g, &m, &v, &w, &copy));
}

static const char* const rules[] = {"fp32_slots", "bf16_hops", "bf16_pair"};
enum { rule_count = sizeof rules / sizeof *rules };

static int32_t combine(const zeroulp_plugin_combine* r) {
  int32_t rule = 0;  // in the order of zeroulp_combine_rule
  while (rule < rule_count - 1 && strcmp(rules[rule], r->rule) != 0) ++rule;
  const zeroulp_const_matrix x = in(r->x), slots = in(r->slots);
  const zeroulp_const_matrix weights = in(r->weights);
  const zeroulp_matrix sum = out(r->out);
  return status_of(zeroulp_combine(
      rule, &x, &slots, weights.data == NULL ? NULL : &weights, &sum));
}

static int32_t rms_norm_backward(const zeroulp_plugin_rms_norm_backward* r) {
  const zeroulp_const_matrix dy = in(r->dy), x = in(r->x), w = in(r->w);
  const zeroulp_const_matrix rstd = in(r->rstd), residual = in(r->residual);
  const zeroulp_matrix dx = out(r->dx), dw = out(r->dw);
  return status_of(zeroulp_rms_norm_backward(
      &dy, &x, &w, &rstd, residual.data == NULL ? NULL : &residual, &dx, &dw));
}

static zeroulp_router router(const char* score, const char* group_score,
                             int64_t top, int64_t groups, int64_t kept,
                             int64_t normalized, int64_t scale) {
  return (zeroulp_router){
      strcmp(score, "softmax") == 0 ? ZEROULP_ROUTER_SOFTMAX
                                    : ZEROULP_ROUTER_SIGMOID,
      (int32_t)top,
      (int32_t)groups,
      (int32_t)kept,
      strcmp(group_score, "max") == 0 ? ZEROULP_GROUP_MAX
                                      : ZEROULP_GROUP_TOP2_SUM,
      (int32_t)normalized,
      (uint32_t)scale};
}

static int32_t route(const zeroulp_plugin_route* r) {
  const zeroulp_router by = router(r->score, r->group_score, r->top, r->groups,
                                   r->kept, r->normalized, r->scale);
  const zeroulp_const_matrix logits = in(r->logits), bias = in(r->bias);
  const zeroulp_matrix scores = out(r->scores), experts = out(r->experts);
  const zeroulp_matrix weights = out(r->weights);
  return status_of(zeroulp_route(&by, &logits, bias.data == NULL ? NULL : &bias,
                                 &scores, &experts, &weights));
}

static int32_t route_backward(const zeroulp_plugin_route_backward* r) {
  const zeroulp_router by = router(r->score, r->group_score, r->top, r->groups,
                                   r->kept, r->normalized, r->scale);
  const zeroulp_const_matrix scores = in(r->scores), experts = in(r->experts);
  const zeroulp_const_matrix dweights = in(r->dweights);
  const zeroulp_matrix dlogits = out(r->dlogits);
  return status_of(
      zeroulp_route_backward(&by, &scores, &experts, &dweights, &dlogits));
}

static int32_t attention_forward(const zeroulp_plugin_attention_forward* r) {
  const zeroulp_attention shape = {r->length, (int32_t)r->heads,
                                   (uint32_t)r->scale};
  const zeroulp_const_matrix q = in(r->q), k = in(r->k), v = in(r->v);
  const zeroulp_matrix o = out(r->o), largest = out(r->largest);
  const zeroulp_matrix inverse = out(r->inverse);
  return status_of(
      zeroulp_attention_forward(&shape, &q, &k, &v, &o, &largest, &inverse));
}

static int32_t attention_backward(const zeroulp_plugin_attention_backward* r) {
  const zeroulp_attention shape = {r->length, (int32_t)r->heads,
                                   (uint32_t)r->scale};
  const zeroulp_const_matrix q = in(r->q), k = in(r->k), v = in(r->v);
  const zeroulp_const_matrix o = in(r->o), largest = in(r->largest);
  const zeroulp_const_matrix inverse = in(r->inverse), d_o = in(r->d_o);
  const zeroulp_matrix dq = out(r->dq), dk = out(r->dk), dv = out(r->dv);
  return status_of(zeroulp_attention_backward(&shape, &q, &k, &v, &o, &largest,
                                              &inverse, &d_o, &dq, &dk, &dv));
}

static zeroulp_plugin_claim claims[64];
static int32_t claim_count;

static void claim(int32_t operation, const char* as) {
  const zeroulp_plugin_claim c = {operation, as, NULL, {0, 0, 0}};
  claims[claim_count++] = c;
}

static void claim_table(int32_t operation, int32_t table) {
  for (int64_t i = 0; zeroulp_name(table, i) != NULL; ++i) {
    claim(operation, zeroulp_name(table, i));
  }
}

const zeroulp_plugin* zeroulp_plugin_table(void) {
  claim_table(ZEROULP_PLUGIN_QUANTIZE, ZEROULP_CONVENTIONS);
  claim(ZEROULP_PLUGIN_DEQUANTIZE, NULL);
  claim(ZEROULP_PLUGIN_RETILE, NULL);
  claim_table(ZEROULP_PLUGIN_GEMM, ZEROULP_RECIPES);
  claim(ZEROULP_PLUGIN_SWIGLU, NULL);
  claim(ZEROULP_PLUGIN_ADAMW, NULL);
  for (int i = 0; i < rule_count; ++i) claim(ZEROULP_PLUGIN_COMBINE, rules[i]);
  for (int i = ZEROULP_PLUGIN_RMS_NORM_BACKWARD;
       i <= ZEROULP_PLUGIN_ATTENTION_BACKWARD; ++i) {
    claim(i, NULL);
  }
  static zeroulp_plugin mine = {ZEROULP_PLUGIN_VERSION,
                                sizeof mine,
                                "engine",
                                ZEROULP_PLUGIN_ON_HOST,
                                0,
                                claims,
                                quantize,
                                dequantize,
                                retile,
                                gemm,
                                swiglu,
                                adamw,
                                combine,
                                rms_norm_backward,
                                route,
                                route_backward,
                                attention_forward,
                                attention_backward};
  mine.claim_count = claim_count;
  return &mine;
}
