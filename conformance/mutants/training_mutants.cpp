// Wrong training paths: an operation more or less, an order changed, a special
// case forgotten.

#include <vector>

#include "conformance/mutants/mutant.hpp"

namespace zeroulp::conformance {
namespace {

using A = core_fp32;
using number = A::number;

number number_of(format f, std::uint32_t code) { return {as_fp32(f, code)}; }

std::uint32_t code_of(format f, number x) {
  return static_cast<std::uint32_t>(recode(fp32, x.value, f, {}, cuda_nosat));
}

number one() { return {fp32_one}; }

template <class Use>
void for_each(codes_in x, Use use) {
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) use(i, j);
  }
}

void quantize_if_asked(const quantizer& q, codes_in values,
                       const quantized_out& to) {
  if (to.codes.data != nullptr) quantize(q, values, to.codes, to.scales);
}

/// SwiGLU's values by another expression of g and u.
template <number (*value)(number g, number u)>
void forward_by(const swiglu_layer& layer, codes_in g, codes_in u, codes_out h,
                quantized_out h_out, quantized_out g_cache,
                quantized_out u_cache) {
  swiglu_forward(layer, g, u, h, {}, g_cache, u_cache);
  for_each(g, [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    const format from = layer.cache.from;
    h(i, j) = code_of(layer.out.from, value(number_of(from, g(i, j)),
                                            number_of(from, u(i, j))));
  });
  quantize_if_asked(layer.out, h, h_out);
}

number gate_last(number g, number u) {
  return A::multiply(g, A::multiply(sigmoid<A>(g), u));
}
number simple_sigmoid(number g, number u) {
  const number e = exp<A>(A::negate(g));
  const number s = A::divide(one(), A::add(one(), e));
  return A::multiply(A::multiply(g, s), u);
}

/// dg by another expression of g, u and dh.
template <number (*value)(number g, number u, number dh)>
void backward_by(const swiglu_layer& layer, format from, codes_in dh,
                 quantized_in g, quantized_in u, codes_out h, codes_out dg,
                 codes_out du, quantized_out dg_out, quantized_out du_out) {
  swiglu_backward(layer, from, dh, g, u, h, dg, du, {}, du_out);
  const quantizer& q = layer.cache;
  const auto cached = [&](const quantized_in& x, std::ptrdiff_t i,
                          std::ptrdiff_t j) {
    return number{dequantize_element(
        q.to, x.codes(i, j),
        x.scales(i / q.group.height(dh.rows), j / q.group.width(dh.cols)))};
  };
  for_each(dh, [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    const auto x =
        value(cached(g, i, j), cached(u, i, j), number_of(from, dh(i, j)));
    dg(i, j) = code_of(layer.out.from, x);
  });
  quantize_if_asked(layer.out, dg, dg_out);
}

number slope_last(number g, number u, number dh) {
  const number s = sigmoid<A>(g);
  const number slope = A::multiply(s, A::fma(g, A::subtract(one(), s), one()));
  return A::multiply(dh, A::multiply(u, slope));
}
number slope_by_silu(number g, number u, number dh) {
  const number s = sigmoid<A>(g);
  const number slope = A::fma(A::multiply(g, s), A::subtract(one(), s), s);
  return A::multiply(A::multiply(dh, u), slope);
}

/// RMSNorm by another sum of the squares of a row.
template <number (*sum)(const std::vector<number>&)>
void norm_by(const rms_layer& layer, codes_in x, codes_in w, codes_out y,
             codes_out rstd, quantized_out out) {
  const number count{count_as_fp32(x.cols)};
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    std::vector<number> row;
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      row.push_back(number_of(layer.from, x(i, j)));
    }
    const number factor = rms_rstd<A>(sum(row), count, {layer.eps});
    if (rstd.data != nullptr) rstd(i, 0) = factor.value;
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      const number value =
          rms_value<A>(row[static_cast<std::size_t>(j)], factor,
                       number_of(layer.weight, w(0, j)));
      y(i, j) = code_of(layer.out.from, value);
    }
  }
  quantize_if_asked(layer.out, y, out);
}

number squares_in_order(const std::vector<number>& row) {
  number sum{0};
  for (const number x : row) sum = A::fma(x, x, sum);
  return sum;
}
/// Lanes of `run` elements, added as a tree whose halves are `far` apart, or
/// neighbours.
template <std::size_t run, bool far>
number squares_in_lanes(const std::vector<number>& row) {
  number p[rms_lanes]{};
  for (std::size_t j = 0; j < row.size(); ++j) {
    number& lane = p[j / run % rms_lanes];
    lane = A::fma(row[j], row[j], lane);
  }
  for (std::size_t count = rms_lanes / 2; count > 0; count /= 2) {
    for (std::size_t t = 0; t < count; ++t) {
      p[t] = far ? A::add(p[t], p[t + count]) : A::add(p[2 * t], p[2 * t + 1]);
    }
  }
  return p[0];
}

/// y by x w rstd.
void norm_rstd_last(const rms_layer& layer, codes_in x, codes_in w, codes_out y,
                    codes_out rstd, quantized_out out) {
  rms_norm(layer, x, w, y, rstd, quantized_out{});
  for_each(x, [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    const number weighted = A::multiply(number_of(layer.from, x(i, j)),
                                        number_of(layer.weight, w(0, j)));
    y(i, j) = code_of(layer.out.from, A::multiply(weighted, {rstd(i, 0)}));
  });
  quantize_if_asked(layer.out, y, out);
}

/// The weights by another expression.
template <number (*update)(const adamw_factors&, const adamw_state<A>&,
                           number g)>
void weights_by(const adamw_step& step, codes_in g, codes_out m, codes_out v,
                codes_out w, codes_out copy) {
  std::vector<std::uint32_t> weights;
  for_each(g, [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    const adamw_state<A> old{number_of(step.moment, m(i, j)),
                             number_of(step.moment, v(i, j)),
                             {w(i, j)}};
    weights.push_back(
        update(step.factors, old, number_of(step.gradient, g(i, j))).value);
  });
  adamw(step, g, m, v, w, copy);
  std::size_t at = 0;
  for_each(g, [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    w(i, j) = weights[at++];
    if (copy.data != nullptr) copy(i, j) = code_of(bf16, {w(i, j)});
  });
}

number eps_under_fma(const adamw_factors& f, const adamw_state<A>& old,
                     number g) {
  const auto next = adamw_update<A>(f, old, g);
  const number denominator =
      A::fma(A::square_root(next.v), {f.inverse_sqrt_bias2}, {f.eps});
  const number decayed = A::fma(A::negate({f.decay}), old.w, old.w);
  return A::fma(A::negate({f.step}), A::divide(next.m, denominator), decayed);
}
number decay_last(const adamw_factors& f, const adamw_state<A>& old, number g) {
  adamw_factors without = f;
  without.decay = 0;
  const number w = adamw_update<A>(without, old, g).w;
  return A::fma(A::negate({f.decay}), old.w, w);
}

void next_bits(const adamw_step& step, codes_in g, codes_out m, codes_out v,
               codes_out w, codes_out copy) {
  adamw_step other = step;
  other.seed += golden;  // of the next element
  adamw(other, g, m, v, w, copy);
}

/// Sums without weights, by another order or rounding of the terms.
template <number (*sum)(combine_rule, const std::vector<number>&)>
void combine_by(combine_rule rule, codes_in x, slots_in slots, codes_in weights,
                codes_out out) {
  combine(rule, x, slots, weights, out);
  if (weights.data != nullptr) return;
  for_each(out, [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    std::vector<number> terms;
    for (std::ptrdiff_t s = 0; s < slots.cols; ++s) {
      if (slots(i, s) >= 0) terms.push_back(number_of(bf16, x(slots(i, s), j)));
    }
    if (!terms.empty()) out(i, j) = code_of(bf16, sum(rule, terms));
  });
}

number in_reverse(combine_rule rule, const std::vector<number>& terms) {
  auto c = no_contribution<A>();
  for (auto i = terms.rbegin(); i != terms.rend(); ++i) {
    c = contribute<A>(rule, c, *i);
  }
  return c.sum;
}
number in_fp32(combine_rule, const std::vector<number>& terms) {
  auto c = no_contribution<A>();
  for (const number x : terms) {
    c = contribute<A>(combine_rule::fp32_slots, c, x);
  }
  return c.sum;
}
number from_zero(combine_rule rule, const std::vector<number>& terms) {
  combined<A> c{{0}, true};
  for (const number x : terms) c = contribute<A>(rule, c, x);
  return c.sum;
}

void empty_scale_zero(const quantizer& q, codes_in x, slots_in rows,
                      codes_out codes, codes_out scales) {
  dispatch(q, x, rows, codes, scales);
  for_each(scales, [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    if (rows(i, 0) < 0) scales(i, j) = 0;
  });
}
void empty_is_row_0(const quantizer& q, codes_in x, slots_in rows,
                    codes_out codes, codes_out scales) {
  std::vector<std::int32_t> from;
  for (std::ptrdiff_t i = 0; i < rows.rows; ++i) {
    from.push_back(x.rows > 0 && rows(i, 0) < 0 ? 0 : rows(i, 0));
  }
  dispatch(q, x, slots_in(from.data(), rows.rows, 1), codes, scales);
}

}  // namespace

mutant_list training_mutants() {
  using i = implementation;
  return {
      core_but("swiglu_gate_last", "as if h were g (sigmoid(g) u)",
               &i::swiglu_forward, forward_by<gate_last>),
      core_but("swiglu_simple_sigmoid",
               "as if sigmoid(g) were 1 / (1 + exp(-g))", &i::swiglu_forward,
               forward_by<simple_sigmoid>),
      core_but("swiglu_slope_last", "as if dg were dh (u slope)",
               &i::swiglu_backward, backward_by<slope_last>),
      core_but("swiglu_slope_by_silu",
               "as if the slope were s + silu(g) (1 - s)", &i::swiglu_backward,
               backward_by<slope_by_silu>),
      core_but("rms_norm_in_order", "as if squares were summed in order",
               &i::rms_norm, norm_by<squares_in_order>),
      core_but("rms_norm_lanes_of_four", "as if lanes had four elements",
               &i::rms_norm, norm_by<squares_in_lanes<4, false>>),
      core_but("rms_norm_tree_of_halves",
               "as if lanes were added to those 128, 64, ... away",
               &i::rms_norm, norm_by<squares_in_lanes<rms_run, true>>),
      core_but("rms_norm_rstd_last", "as if y were (x w) rstd", &i::rms_norm,
               norm_rstd_last),
      core_but("adamw_eps_under_fma",
               "as if eps were added before the denominator is rounded",
               &i::adamw, weights_by<eps_under_fma>),
      core_but("adamw_decay_last", "as if the weights decayed after the step",
               &i::adamw, weights_by<decay_last>),
      core_but("adamw_next_bits",
               "as if each element took the random bits of the next", &i::adamw,
               next_bits),
      core_but("combine_in_reverse",
               "as if contributions were added from the last slot", &i::combine,
               combine_by<in_reverse>),
      core_but("combine_in_fp32", "as if hops were not rounded", &i::combine,
               combine_by<in_fp32>),
      core_but("combine_from_zero",
               "as if the first contribution were added to +0", &i::combine,
               combine_by<from_zero>),
      core_but("dispatch_empty_scale_zero",
               "as if an empty row had scales of 0", &i::dispatch,
               empty_scale_zero),
      core_but("dispatch_empty_is_row_0", "as if an empty row were row 0",
               &i::dispatch, empty_is_row_0),
  };
}

}  // namespace zeroulp::conformance
