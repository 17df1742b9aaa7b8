#include "conformance/checks/training_functions.hpp"

namespace zeroulp::conformance {
namespace {

engine::quantized_view to_engine(const quantized_out& q) {
  return {q.codes, q.scales};
}
engine::const_quantized_view to_engine(const quantized_in& q) {
  return {q.codes, q.scales};
}

}  // namespace

training_functions core_training() {
  training_functions f;
  f.name = "core";
  f.apply = [](elementary which, codes_in x, codes_out out) {
    for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
        const core_fp32::number in{x(i, j)};
        out(i, j) = (which == elementary::exp       ? exp<core_fp32>(in)
                     : which == elementary::sigmoid ? sigmoid<core_fp32>(in)
                                                    : rsqrt<core_fp32>(in))
                        .value;
      }
    }
  };
  f.swiglu_forward = [](const swiglu_layer& layer, codes_in g, codes_in u,
                        codes_out h, quantized_out h_out, quantized_out g_cache,
                        quantized_out u_cache) {
    swiglu_forward(layer, g, u, h, h_out, g_cache, u_cache);
  };
  f.swiglu_backward = [](const swiglu_layer& layer, format from, codes_in dh,
                         quantized_in g, quantized_in u, codes_out h,
                         codes_out dg, codes_out du, quantized_out dg_out,
                         quantized_out du_out) {
    swiglu_backward(layer, from, dh, g, u, h, dg, du, dg_out, du_out);
  };
  f.rms_norm = [](const rms_layer& layer, codes_in x, codes_in w, codes_out y,
                  codes_out rstd,
                  quantized_out out) { rms_norm(layer, x, w, y, rstd, out); };
  f.adamw = [](const adamw_step& step, codes_in g, codes_out m, codes_out v,
               codes_out w, codes_out copy) { adamw(step, g, m, v, w, copy); };
  f.factors = [](const adamw_settings& s) { return make_adamw_factors(s); };
  f.combine = [](combine_rule rule, codes_in x, slots_in slots,
                 codes_in weights,
                 codes_out out) { combine(rule, x, slots, weights, out); };
  f.dispatch = [](const quantizer& q, codes_in x, slots_in rows,
                  codes_out codes,
                  codes_out scales) { dispatch(q, x, rows, codes, scales); };
  return f;
}

training_functions engine_training() {
  training_functions f = core_training();
  f.name = "engine";
  f.apply = [](elementary which, codes_in x, codes_out out) {
    engine::apply(which, x, out);
  };
  f.swiglu_forward = [](const swiglu_layer& layer, codes_in g, codes_in u,
                        codes_out h, quantized_out h_out, quantized_out g_cache,
                        quantized_out u_cache) {
    engine::swiglu_forward(layer, g, u, h, to_engine(h_out), to_engine(g_cache),
                           to_engine(u_cache));
  };
  f.swiglu_backward = [](const swiglu_layer& layer, format from, codes_in dh,
                         quantized_in g, quantized_in u, codes_out h,
                         codes_out dg, codes_out du, quantized_out dg_out,
                         quantized_out du_out) {
    engine::swiglu_backward(layer, from, dh, to_engine(g), to_engine(u), h, dg,
                            du, to_engine(dg_out), to_engine(du_out));
  };
  f.rms_norm = [](const rms_layer& layer, codes_in x, codes_in w, codes_out y,
                  codes_out rstd, quantized_out out) {
    engine::rms_norm(layer, x, w, y, rstd, to_engine(out));
  };
  f.adamw = [](const adamw_step& step, codes_in g, codes_out m, codes_out v,
               codes_out w,
               codes_out copy) { engine::adamw(step, g, m, v, w, copy); };
  f.combine = [](combine_rule rule, codes_in x, slots_in slots,
                 codes_in weights, codes_out out) {
    engine::combine(rule, x, slots, weights, out);
  };
  f.dispatch = [](const quantizer& q, codes_in x, slots_in rows,
                  codes_out codes, codes_out scales) {
    engine::dispatch(q, x, rows, codes, scales);
  };
  return f;
}

}  // namespace zeroulp::conformance
