// The training path by its oracle, over matrices: S1 to S6, S8 to S11.

#include "conformance/contract/oracle_parts.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"
#include "conformance/oracles/training_oracle.hpp"

namespace zeroulp::conformance {
namespace {

using oracle::grid;

void quantize_to(const quantizer& q, const grid& x, const quantized_out& to) {
  if (to.codes.data == nullptr) return;
  const auto right = oracle::quantize(q, x);
  from_grid(right.codes, to.codes);
  from_grid(right.scales, to.scales);
}

/// Writes the values, if they are asked for, and what is quantized of them.
void write_values(const quantizer& q, const grid& values, codes_out to,
                  const quantized_out& codes) {
  if (to.data != nullptr) from_grid(values, to);
  quantize_to(q, values, codes);
}

void swiglu_forward_by_oracle(const swiglu_layer& layer, codes_in g, codes_in u,
                              codes_out h, quantized_out h_out,
                              quantized_out g_cache, quantized_out u_cache) {
  const format from = layer.cache.from;
  grid values(g.rows, g.cols);
  for (std::ptrdiff_t i = 0; i < g.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < g.cols; ++j) {
      values(i, j) = oracle::code_of(
          layer.out.from, oracle::swiglu(oracle::number_of(from, g(i, j)),
                                         oracle::number_of(from, u(i, j))));
    }
  }
  write_values(layer.out, values, h, h_out);
  quantize_to(layer.cache, to_grid(g), g_cache);
  quantize_to(layer.cache, to_grid(u), u_cache);
}

void swiglu_backward_by_oracle(const swiglu_layer& layer, format from,
                               codes_in dh, quantized_in g_cache,
                               quantized_in u_cache, codes_out h, codes_out dg,
                               codes_out du, quantized_out dg_out,
                               quantized_out du_out) {
  const auto numbers = [&](const quantized_in& x) {
    return oracle::dequantize(layer.cache.to, layer.cache.group,
                              to_grid(x.codes), to_grid(x.scales));
  };
  const grid g = numbers(g_cache);
  const grid u = numbers(u_cache);
  const format to = layer.out.from;
  grid values(dh.rows, dh.cols), of_g = values, of_u = values;
  for (std::ptrdiff_t i = 0; i < dh.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < dh.cols; ++j) {
      const auto x = oracle::swiglu_gradients(
          oracle::to_float(g(i, j)), oracle::to_float(u(i, j)),
          oracle::number_of(from, dh(i, j)));
      values(i, j) = oracle::code_of(to, x.h);
      of_g(i, j) = oracle::code_of(to, x.dg);
      of_u(i, j) = oracle::code_of(to, x.du);
    }
  }
  write_values(layer.out, values, h, {});
  write_values(layer.out, of_g, dg, dg_out);
  write_values(layer.out, of_u, du, du_out);
}

void rms_norm_by_oracle(const rms_layer& layer, codes_in x, codes_in w,
                        codes_out y, codes_out rstd, quantized_out out) {
  grid values(x.rows, x.cols);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    std::vector<float> row;
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      row.push_back(oracle::number_of(layer.from, x(i, j)));
    }
    const float factor = oracle::rms_factor(row, oracle::to_float(layer.eps));
    if (rstd.data != nullptr) rstd(i, 0) = oracle::to_bits(factor);
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      const float scaled = row[static_cast<std::size_t>(j)] * factor;
      values(i, j) = oracle::code_of(
          layer.out.from, scaled * oracle::number_of(layer.weight, w(0, j)));
    }
  }
  write_values(layer.out, values, y, out);
}

void adamw_by_oracle(const adamw_step& step, codes_in g, codes_out m,
                     codes_out v, codes_out w, codes_out copy) {
  std::uint64_t index = step.first;
  for (std::ptrdiff_t i = 0; i < g.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < g.cols; ++j, ++index) {
      const auto next = oracle::adamw(
          step.factors,
          {oracle::number_of(step.moment, m(i, j)),
           oracle::number_of(step.moment, v(i, j)), oracle::to_float(w(i, j))},
          oracle::number_of(step.gradient, g(i, j)));
      const auto code = [&](float x, bool second) {
        return oracle::code_of(
            step.moment, x,
            {step.mode, oracle::random_bits(step.seed, index, second)});
      };
      m(i, j) = code(next.m, false);
      v(i, j) = code(next.v, true);
      w(i, j) = oracle::to_bits(next.w);
      if (copy.data != nullptr) copy(i, j) = oracle::code_of(bf16, next.w);
    }
  }
}

void combine_by_oracle(combine_rule rule, codes_in x, slots_in slots,
                       codes_in weights, codes_out out) {
  for (std::ptrdiff_t t = 0; t < out.rows; ++t) {
    for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
      std::vector<std::uint32_t> contributions;
      std::vector<float> by;
      for (std::ptrdiff_t s = 0; s < slots.cols; ++s) {
        if (slots(t, s) < 0) continue;
        contributions.push_back(x(slots(t, s), j));
        if (weights.data != nullptr) {
          by.push_back(oracle::to_float(weights(t, s)));
        }
      }
      out(t, j) = oracle::combine(rule, contributions, by);
    }
  }
}

void dispatch_by_oracle(const quantizer& q, codes_in x, slots_in rows,
                        codes_out codes, codes_out scales) {
  const auto all = oracle::quantize(q, to_grid(x));
  for (std::ptrdiff_t r = 0; r < rows.rows; ++r) {
    const std::ptrdiff_t from = rows(r, 0);
    for (std::ptrdiff_t j = 0; j < codes.cols; ++j) {
      codes(r, j) = from < 0 ? 0 : all.codes(from, j);
    }
    for (std::ptrdiff_t j = 0; j < scales.cols; ++j) {
      scales(r, j) = from < 0 ? 0x3f800000 : all.scales(from, j);
    }
  }
}

}  // namespace

void set_oracle_training(implementation& i) {
  i.swiglu_forward = swiglu_forward_by_oracle;
  i.swiglu_backward = swiglu_backward_by_oracle;
  i.rms_norm = rms_norm_by_oracle;
  i.adamw = adamw_by_oracle;
  i.combine = combine_by_oracle;
  i.dispatch = dispatch_by_oracle;
}

}  // namespace zeroulp::conformance
