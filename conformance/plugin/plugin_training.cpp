// A plug-in's training operations: SwiGLU, AdamW and combine. The others are in
// plugin_implementation.cpp.

#include "conformance/plugin/requests.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::plugin {
namespace {

/// Asks the plug-in for h alone: the quantization of h is another operation.
void swiglu_forward(const swiglu_layer& layer, codes_in g, codes_in u,
                    codes_out h, quantized_out h_out, quantized_out g_cache,
                    quantized_out u_cache) {
  core().swiglu_forward(layer, g, u, h, h_out, g_cache, u_cache);
  fuzz::settings s;
  s.from = layer.cache.from, s.value = layer.out.from;
  const claim* const c = active().claim_of(kind::swiglu, s, g.rows, g.cols);
  if (c == nullptr || h.data == nullptr || g.rows == 0 || g.cols == 0) return;
  const auto m = up(g.rows, c->multiple[0]);
  const auto n = up(g.cols, c->multiple[1]);
  const int bytes = storage_bytes(s.from);
  request r{{name_of(s.from), name_of(s.value)},
            {input(*c, g, m, n, bytes), input(*c, u, m, n, bytes),
             output(m, n, storage_bytes(s.value), place_of(*c, h))}};
  if (active().call(*c, r)) store(r.matrices[2], h);
}

/// Returns false if the plug-in does not claim the call, or refuses it.
bool ask_adamw(const adamw_step& step, codes_in g, codes_out m, codes_out v,
               codes_out w, codes_out copy) {
  fuzz::settings s;
  s.from = step.gradient, s.to = step.moment, s.round = {step.mode, 0};
  const claim* const c = active().claim_of(kind::adamw, s, g.rows, g.cols);
  if (c == nullptr || g.rows == 0 || g.cols == 0) return false;
  const auto rows = up(g.rows, c->multiple[0]);
  const auto cols = up(g.cols, c->multiple[1]);
  // Padded columns would change which random bits an element gets.
  if (step.mode == rounding::stochastic && cols != g.cols) return false;
  const auto& f = step.factors;
  const auto word = [](std::uint64_t x) {
    return whole(static_cast<std::int64_t>(x));
  };
  const int bytes = storage_bytes(step.moment);
  request r{{name_of(step.gradient), name_of(step.moment),
             std::string(name_of(step.mode)), word(f.one_minus_beta1),
             word(f.one_minus_beta2), word(f.inverse_sqrt_bias2), word(f.eps),
             word(f.decay), word(f.step), word(step.seed), word(step.first)},
            {input(*c, g, rows, cols, storage_bytes(step.gradient)),
             input(*c, m, rows, cols, bytes), input(*c, v, rows, cols, bytes),
             input(*c, w, rows, cols, 4),
             copy.data == nullptr ? argument{}
                                  : output(rows, cols, 2, place_of(*c, copy))}};
  if (!active().call(*c, r)) return false;
  store(r.matrices[1], m);
  store(r.matrices[2], v);
  store(r.matrices[3], w);
  if (copy.data != nullptr) store(r.matrices[4], copy);
  return true;
}

void adamw(const adamw_step& step, codes_in g, codes_out m, codes_out v,
           codes_out w, codes_out copy) {
  if (!ask_adamw(step, g, m, v, w, copy)) {
    core().adamw(step, g, m, v, w, copy);
  }
}

const char* name_of(combine_rule rule) {
  for (const auto& named : named_combine_rules) {
    if (named.value == rule) return named.name;
  }
  return "?";
}

/// Returns false if the plug-in does not claim the call, or refuses it.
bool ask_combine(combine_rule rule, codes_in x, slots_in slots,
                 codes_in weights, codes_out out) {
  fuzz::settings s;
  s.sum = rule;
  const claim* const c =
      active().claim_of(kind::combine, s, out.rows, out.cols);
  if (c == nullptr || out.rows == 0 || out.cols == 0 || slots.cols == 0 ||
      x.rows == 0) {
    return false;
  }
  const auto m = up(out.rows, c->multiple[0]);
  const auto n = up(out.cols, c->multiple[1]);
  constexpr std::uint32_t nobody = 0xffffffff;
  argument named{oracle::grid(m, slots.cols, nobody), 4,
                 c->place.value_or(placement::dense)};
  for (std::ptrdiff_t i = 0; i < slots.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < slots.cols; ++j) {
      named.words(i, j) = static_cast<std::uint32_t>(slots(i, j));
    }
  }
  request r{{name_of(rule)},
            {input(*c, x, x.rows, n, 2), std::move(named),
             weights.data == nullptr ? argument{}
                                     : input(*c, weights, m, slots.cols, 4),
             output(m, n, 2, place_of(*c, out))}};
  if (!active().call(*c, r)) return false;
  store(r.matrices[3], out);
  return true;
}

void combine(combine_rule rule, codes_in x, slots_in slots, codes_in weights,
             codes_out out) {
  if (!ask_combine(rule, x, slots, weights, out)) {
    core().combine(rule, x, slots, weights, out);
  }
}

}  // namespace

void take_training(implementation& i) {
  i.swiglu_forward = swiglu_forward;
  i.adamw = adamw;
  i.combine = combine;
}

}  // namespace zeroulp::conformance::plugin
