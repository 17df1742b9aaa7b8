// A plug-in in C that is wrong, and shows what zeroulp says then:
//
//   flags=$(pkg-config --cflags --libs zeroulp)
//   gcc -std=c11 -shared -fPIC -o plugin_wrong.so plugin_wrong.c $flags
//   zeroulp fuzz quantize --against ./plugin_wrong.so
//
// It claims vLLM's convention, which divides each element by the scale, and
// multiplies by the reciprocal of the scale instead. It is as short as a
// plug-in can be: zeroulp's own quantizer, asked for another convention.

#include <zeroulp/plugin.h>
#include <zeroulp/zeroulp.h>

static int32_t quantize(const zeroulp_plugin_quantize* r) {
  const zeroulp_const_matrix x = {r->x.data,       r->x.rows, r->x.cols,
                                  r->x.row_stride, 1,         2};
  const zeroulp_matrix codes = {r->codes.data,       r->codes.rows,
                                r->codes.cols,       r->codes.row_stride,
                                r->codes.col_stride, 1};
  const zeroulp_matrix scales = {r->scales.data,       r->scales.rows,
                                 r->scales.cols,       r->scales.row_stride,
                                 r->scales.col_stride, 4};
  zeroulp_quantizer q;
  if (zeroulp_quantizer_from_names("bf16", "e4m3", "vllm", "fp32", "1x128",
                                   &q) != ZEROULP_OK) {
    return 2;
  }
  q.how.element = ZEROULP_ELEMENT_SCALE_RECIPROCAL;
  return zeroulp_quantize(&q, &x, &codes, &scales) == ZEROULP_OK ? 0 : 2;
}

static const zeroulp_plugin_claim claims[] = {
    {ZEROULP_PLUGIN_QUANTIZE,
     "vllm",
     "from=bf16,to=e4m3,scale=fp32,group=1x128,place=dense",
     {0, 0, 0}}};

static const zeroulp_plugin mine = {ZEROULP_PLUGIN_VERSION,
                                    sizeof mine,
                                    "wrong",
                                    ZEROULP_PLUGIN_ON_HOST,
                                    1,
                                    claims,
                                    quantize,
                                    NULL,
                                    NULL,
                                    NULL,
                                    NULL,
                                    NULL,
                                    NULL,
                                    NULL,
                                    NULL,
                                    NULL,
                                    NULL,
                                    NULL};

const zeroulp_plugin* zeroulp_plugin_table(void) { return &mine; }
