// The C ABI: the training path.

#include "zeroulp/training.hpp"

#include "src/c_abi/c_abi.hpp"

namespace zeroulp::c_abi {

swiglu_layer layer_of(const zeroulp_swiglu* layer) {
  needed(layer, "layer");
  return {quantizer_of(&layer->cache), quantizer_of(&layer->out)};
}

adamw_factors factors_of(const zeroulp_adamw_factors& f) {
  return {f.one_minus_beta1,
          f.one_minus_beta2,
          f.inverse_sqrt_bias2,
          f.eps,
          f.decay,
          f.step};
}

namespace {

static_assert(ZEROULP_EXP == static_cast<int>(engine::elementary::exp) &&
              ZEROULP_SIGMOID ==
                  static_cast<int>(engine::elementary::sigmoid) &&
              ZEROULP_RSQRT == static_cast<int>(engine::elementary::rsqrt));
static_assert(
    ZEROULP_COMBINE_FP32_SLOTS == static_cast<int>(combine_rule::fp32_slots) &&
    ZEROULP_COMBINE_BF16_HOPS == static_cast<int>(combine_rule::bf16_hops) &&
    ZEROULP_COMBINE_BF16_PAIR == static_cast<int>(combine_rule::bf16_pair));

format value_format_of(const zeroulp_format* f, const char* what) {
  const format result = format_of(f, what);
  if (result == fp32 || result == bf16 || result == fp16) return result;
  refuse("{}: fp32, bf16 or fp16 is taken", what);
}

/// A matrix of codes of `f`, m x n.
template <class Matrix>
auto codes_of(format f, const Matrix* m, const char* what, std::ptrdiff_t rows,
              std::ptrdiff_t cols) {
  const auto v = view_of(m, what);
  need_bytes(v, 1, 4, what);
  need_room(f, v, what);
  need_shape(v, what, rows, cols, "are needed");
  return v;
}

code_view optional_codes_of(format f, const zeroulp_matrix* m, const char* what,
                            std::ptrdiff_t rows, std::ptrdiff_t cols) {
  return m == nullptr ? code_view{} : codes_of(f, m, what, rows, cols);
}

template <class Quantized>
auto scales_of(const quantizer& q, const Quantized& x, const char* what,
               std::ptrdiff_t rows, std::ptrdiff_t cols) {
  const auto v = view_of(&x.scales, what);
  need_bytes(v, 4, 4, what);
  need_shape(v, what, ceil_div(rows, q.group.height(rows)),
             ceil_div(cols, q.group.width(cols)), "groups");
  return words_of(v, what);
}

engine::quantized_view optional_quantized_of(const quantizer& q,
                                             const zeroulp_quantized* x,
                                             const char* what,
                                             std::ptrdiff_t rows,
                                             std::ptrdiff_t cols) {
  if (x == nullptr) return {};
  return {codes_of(q.to, &x->codes, what, rows, cols),
          scales_of(q, *x, what, rows, cols)};
}

engine::const_quantized_view quantized_of(const quantizer& q,
                                          const zeroulp_const_quantized* x,
                                          const char* what, std::ptrdiff_t rows,
                                          std::ptrdiff_t cols) {
  needed(x, what);
  return {codes_of(q.to, &x->codes, what, rows, cols),
          scales_of(q, *x, what, rows, cols)};
}

matrix_view<std::uint32_t> weights_of(const zeroulp_matrix* m, const char* what,
                                      std::ptrdiff_t rows,
                                      std::ptrdiff_t cols) {
  const auto v = view_of(m, what);
  need_bytes(v, 4, 4, what);
  need_shape(v, what, rows, cols, "are needed");
  return words_of(v, what);
}

/// Rows of a matrix, or -1.
matrix_view<const std::int32_t> indices_of(const zeroulp_const_matrix* m,
                                           const char* what) {
  const auto v = view_of(m, what);
  need_bytes(v, 4, 4, what);
  return {static_cast<const std::int32_t*>(v.data), v.rows, v.cols,
          v.row_stride, v.col_stride};
}

void run_swiglu_forward(const zeroulp_swiglu* given,
                        const zeroulp_const_matrix* g,
                        const zeroulp_const_matrix* u, const zeroulp_matrix* h,
                        const zeroulp_quantized* h_out,
                        const zeroulp_quantized* g_cache,
                        const zeroulp_quantized* u_cache) {
  const swiglu_layer layer = layer_of(given);
  const format from = layer.cache.from;
  const auto shape = view_of(g, "g");
  const auto m = shape.rows;
  const auto n = shape.cols;
  engine::swiglu_forward(
      layer, codes_of(from, g, "g", m, n), codes_of(from, u, "u", m, n),
      optional_codes_of(layer.out.from, h, "h", m, n),
      optional_quantized_of(layer.out, h_out, "h_out", m, n),
      optional_quantized_of(layer.cache, g_cache, "g_cache", m, n),
      optional_quantized_of(layer.cache, u_cache, "u_cache", m, n));
}

void run_swiglu_backward(
    const zeroulp_swiglu* given, const zeroulp_format* from_format,
    const zeroulp_const_matrix* dh, const zeroulp_const_quantized* g_cache,
    const zeroulp_const_quantized* u_cache, const zeroulp_matrix* h,
    const zeroulp_matrix* dg, const zeroulp_matrix* du,
    const zeroulp_quantized* dg_out, const zeroulp_quantized* du_out) {
  const swiglu_layer layer = layer_of(given);
  const format from = value_format_of(from_format, "from");
  const format to = layer.out.from;
  const auto shape = view_of(dh, "dh");
  const auto m = shape.rows;
  const auto n = shape.cols;
  engine::swiglu_backward(
      layer, from, codes_of(from, dh, "dh", m, n),
      quantized_of(layer.cache, g_cache, "g_cache", m, n),
      quantized_of(layer.cache, u_cache, "u_cache", m, n),
      optional_codes_of(to, h, "h", m, n),
      optional_codes_of(to, dg, "dg", m, n),
      optional_codes_of(to, du, "du", m, n),
      optional_quantized_of(layer.out, dg_out, "dg_out", m, n),
      optional_quantized_of(layer.out, du_out, "du_out", m, n));
}

void run_rms_norm(const zeroulp_rms_layer* given, const zeroulp_const_matrix* x,
                  const zeroulp_const_matrix* w, const zeroulp_matrix* y,
                  const zeroulp_matrix* rstd, const zeroulp_quantized* out) {
  needed(given, "layer");
  const rms_layer layer{value_format_of(&given->from, "layer.from"),
                        value_format_of(&given->weight, "layer.weight"),
                        given->eps, quantizer_of(&given->out)};
  const auto shape = view_of(x, "x");
  const auto m = shape.rows;
  const auto n = shape.cols;
  const auto in = codes_of(layer.from, x, "x", m, n);
  engine::rms_norm(layer, in, codes_of(layer.weight, w, "w", 1, n),
                   optional_codes_of(layer.out.from, y, "y", m, n),
                   rstd == nullptr ? matrix_view<std::uint32_t>{}
                                   : weights_of(rstd, "rstd", m, 1),
                   optional_quantized_of(layer.out, out, "out", m, n));
}

void run_adamw(const zeroulp_adamw_step* given, std::uint64_t seed,
               std::uint64_t first, const zeroulp_const_matrix* g,
               const zeroulp_matrix* m, const zeroulp_matrix* v,
               const zeroulp_matrix* w, const zeroulp_matrix* copy) {
  needed(given, "step");
  const adamw_step step{factors_of(given->factors),
                        operand_of(&given->gradient, "step.gradient"),
                        operand_of(&given->moment, "step.moment"),
                        rounding_of(given->rounding),
                        seed,
                        first};
  const auto shape = view_of(g, "g");
  const auto rows = shape.rows;
  const auto cols = shape.cols;
  engine::adamw(step, codes_of(step.gradient, g, "g", rows, cols),
                codes_of(step.moment, m, "m", rows, cols),
                codes_of(step.moment, v, "v", rows, cols),
                weights_of(w, "w", rows, cols),
                optional_codes_of(bf16, copy, "copy", rows, cols));
}

void run_combine(std::int32_t rule, const zeroulp_const_matrix* x,
                 const zeroulp_const_matrix* slots,
                 const zeroulp_const_matrix* weights,
                 const zeroulp_matrix* out) {
  const auto how = enum_of(rule, combine_rule::bf16_pair, "rule");
  const auto shape = view_of(x, "x");
  const auto from = codes_of(bf16, x, "x", shape.rows, shape.cols);
  const auto rows = indices_of(slots, "slots");
  const auto by = optional_words_of(weights, "weights");
  if (weights != nullptr) {
    need_shape(view_of(weights, "weights"), "weights", rows.rows, rows.cols,
               "slots");
  }
  engine::combine(how, from, rows, by,
                  codes_of(bf16, out, "out", rows.rows, shape.cols));
}

void run_dispatch(const zeroulp_quantizer* given, const zeroulp_const_matrix* x,
                  const zeroulp_const_matrix* rows, const zeroulp_matrix* codes,
                  const zeroulp_matrix* scales) {
  const quantizer q = quantizer_of(given);
  const auto shape = view_of(x, "x");
  const auto from = codes_of(q.from, x, "x", shape.rows, shape.cols);
  const auto taken = indices_of(rows, "rows");
  const auto to = codes_of(q.to, codes, "codes", taken.rows, shape.cols);
  const auto groups =
      weights_of(scales, "scales", taken.rows,
                 ceil_div(shape.cols, q.group.width(shape.cols)));
  engine::dispatch(q, from, taken, to, groups);
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;
namespace engine = zeroulp::engine;

zeroulp_status zeroulp_apply(std::int32_t function,
                             const zeroulp_const_matrix* x,
                             const zeroulp_matrix* out) {
  return guarded(__func__, [&] {
    const auto f = enum_of(function, engine::elementary::rsqrt, "function");
    const auto from = words_of(view_of(x, "x"), "x");
    engine::apply(f, from, weights_of(out, "out", from.rows, from.cols));
  });
}

zeroulp_status zeroulp_swiglu_forward(const zeroulp_swiglu* layer,
                                      const zeroulp_const_matrix* g,
                                      const zeroulp_const_matrix* u,
                                      const zeroulp_matrix* h,
                                      const zeroulp_quantized* h_out,
                                      const zeroulp_quantized* g_cache,
                                      const zeroulp_quantized* u_cache) {
  return guarded(__func__, [&] {
    run_swiglu_forward(layer, g, u, h, h_out, g_cache, u_cache);
  });
}

zeroulp_status zeroulp_swiglu_backward(
    const zeroulp_swiglu* layer, const zeroulp_format* from,
    const zeroulp_const_matrix* dh, const zeroulp_const_quantized* g_cache,
    const zeroulp_const_quantized* u_cache, const zeroulp_matrix* h,
    const zeroulp_matrix* dg, const zeroulp_matrix* du,
    const zeroulp_quantized* dg_out, const zeroulp_quantized* du_out) {
  return guarded(__func__, [&] {
    run_swiglu_backward(layer, from, dh, g_cache, u_cache, h, dg, du, dg_out,
                        du_out);
  });
}

zeroulp_status zeroulp_rms_norm(const zeroulp_rms_layer* layer,
                                const zeroulp_const_matrix* x,
                                const zeroulp_const_matrix* w,
                                const zeroulp_matrix* y,
                                const zeroulp_matrix* rstd,
                                const zeroulp_quantized* out) {
  return guarded(__func__, [&] { run_rms_norm(layer, x, w, y, rstd, out); });
}

zeroulp_status zeroulp_make_adamw_factors(
    const zeroulp_adamw_settings* settings, zeroulp_adamw_factors* factors) {
  return guarded(__func__, [&] {
    const auto& s = needed(settings, "settings");
    if (s.step < 1) refuse("settings.step is {}: use 1 and up", s.step);
    const auto need = [](double value, double below, const char* name) {
      if (value >= 0 && value < below) return;
      refuse("settings.{} is {}: use 0 to less than {}", name, value, below);
    };
    need(s.beta1, 1, "beta1");
    need(s.beta2, 1, "beta2");
    constexpr double most = 0x1p128;
    need(s.rate, most, "rate");
    need(s.eps, most, "eps");
    need(s.weight_decay, most, "weight_decay");
    needed(factors, "factors");
    const auto f = zeroulp::make_adamw_factors(
        {s.rate, s.beta1, s.beta2, s.eps, s.weight_decay, s.step});
    *factors = {f.one_minus_beta1,
                f.one_minus_beta2,
                f.inverse_sqrt_bias2,
                f.eps,
                f.decay,
                f.step};
  });
}

zeroulp_status zeroulp_adamw(const zeroulp_adamw_step* step, std::uint64_t seed,
                             std::uint64_t first, const zeroulp_const_matrix* g,
                             const zeroulp_matrix* m, const zeroulp_matrix* v,
                             const zeroulp_matrix* w,
                             const zeroulp_matrix* copy) {
  return guarded(__func__,
                 [&] { run_adamw(step, seed, first, g, m, v, w, copy); });
}

zeroulp_status zeroulp_combine(std::int32_t rule, const zeroulp_const_matrix* x,
                               const zeroulp_const_matrix* slots,
                               const zeroulp_const_matrix* weights,
                               const zeroulp_matrix* out) {
  return guarded(__func__, [&] { run_combine(rule, x, slots, weights, out); });
}

zeroulp_status zeroulp_dispatch(const zeroulp_quantizer* quantizer,
                                const zeroulp_const_matrix* x,
                                const zeroulp_const_matrix* rows,
                                const zeroulp_matrix* codes,
                                const zeroulp_matrix* scales) {
  return guarded(__func__,
                 [&] { run_dispatch(quantizer, x, rows, codes, scales); });
}
